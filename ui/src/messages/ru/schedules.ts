import type { Russian } from '../define';
import type { schedules as en } from '../en/schedules';

export const schedules: Russian<typeof en> = {};
