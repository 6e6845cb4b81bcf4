import { messages } from '../define';

export const letters = messages({});
