import { messages } from '../define';

export const versions = messages({});
