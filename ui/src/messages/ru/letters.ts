import type { Russian } from '../define';
import type { letters as en } from '../en/letters';

export const letters: Russian<typeof en> = {};
