import { messages } from '../define';

export const compare = messages({});
