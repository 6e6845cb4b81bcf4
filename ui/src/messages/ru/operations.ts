import type { Russian } from '../define';
import type { operations as en } from '../en/operations';

export const operations: Russian<typeof en> = {};
