import type { Russian } from '../define';
import type { versions as en } from '../en/versions';

export const versions: Russian<typeof en> = {};
