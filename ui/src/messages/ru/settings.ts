import type { Russian } from '../define';
import type { settings as en } from '../en/settings';

export const settings: Russian<typeof en> = {};
