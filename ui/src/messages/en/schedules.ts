import { messages } from '../define';

export const schedules = messages({});
