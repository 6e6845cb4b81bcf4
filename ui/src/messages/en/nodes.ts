import { messages } from '../define';

export const nodes = messages({});
