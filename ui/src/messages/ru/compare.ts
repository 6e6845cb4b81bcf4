import type { Russian } from '../define';
import type { compare as en } from '../en/compare';

export const compare: Russian<typeof en> = {};
