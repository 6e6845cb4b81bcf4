import type { Russian } from '../define';
import type { nodes as en } from '../en/nodes';

export const nodes: Russian<typeof en> = {};
