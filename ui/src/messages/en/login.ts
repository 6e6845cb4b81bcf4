import { messages } from '../define';

export const login = messages({});
