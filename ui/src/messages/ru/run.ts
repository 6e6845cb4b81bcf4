import type { Russian } from '../define';
import type { run as en } from '../en/run';

export const run: Russian<typeof en> = {};
