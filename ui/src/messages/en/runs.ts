import { messages } from '../define';

export const runs = messages({});
