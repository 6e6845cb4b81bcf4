import { messages } from '../define';

export const schemas = messages({});
