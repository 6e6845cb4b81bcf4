import type { Russian } from '../define';
import type { keys as en } from '../en/keys';

export const keys: Russian<typeof en> = {};
