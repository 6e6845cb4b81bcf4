import { messages } from '../define';

export const overview = messages({});
