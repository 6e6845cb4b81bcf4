import { messages } from '../define';

export const settings = messages({});
