import type { Russian } from '../define';
import type { editor as en } from '../en/editor';

export const editor: Russian<typeof en> = {};
