import { messages } from '../define';

export const keys = messages({});
