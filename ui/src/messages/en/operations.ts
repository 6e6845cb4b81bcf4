import { messages } from '../define';

export const operations = messages({});
