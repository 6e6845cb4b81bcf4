import type { Russian } from '../define';
import type { runs as en } from '../en/runs';

export const runs: Russian<typeof en> = {};
