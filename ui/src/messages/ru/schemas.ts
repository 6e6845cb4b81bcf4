import type { Russian } from '../define';
import type { schemas as en } from '../en/schemas';

export const schemas: Russian<typeof en> = {};
