import type { Russian } from '../define';
import type { login as en } from '../en/login';

export const login: Russian<typeof en> = {};
