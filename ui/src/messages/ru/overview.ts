import type { Russian } from '../define';
import type { overview as en } from '../en/overview';

export const overview: Russian<typeof en> = {};
