import { messages } from '../define';

export const run = messages({});
