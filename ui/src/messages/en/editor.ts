import { messages } from '../define';

export const editor = messages({});
