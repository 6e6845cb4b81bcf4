import type { Role } from '../../api/model';
import { parseTime, serverNow } from '../../api/time';

export interface ApiKey {
  id: string;
  name: string;
  role: Role;
  email: string | null;
  starts_with: string;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
}

export interface CreatedKey extends ApiKey {
  key: string;
}

export type KeyState = 'active' | 'revoked' | 'expired';

export function stateOf(key: ApiKey): KeyState {
  if (key.revoked_at) return 'revoked';
  return key.expires_at && parseTime(key.expires_at).ms <= serverNow() ? 'expired' : 'active';
}

export const KEY_NAME = /^[A-Za-z0-9._@-]{1,64}$/;
