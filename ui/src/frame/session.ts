/** Who is here, and what that role may do. */
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client';
import { asApiError } from '../api/error';
import { type Me, ROLES, type Role } from '../api/model';
import { online } from '../api/online';
import { queries, queryClient } from '../api/queries';
import { useT } from '../messages';
import { closeDrafts } from './drafts';

/** The most careful role until the server has answered. */
export function useMe(): Me | undefined {
  return useQuery(queries.me()).data;
}

export function allows(own: Role | undefined, needed: Role): boolean {
  return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(needed);
}

/** `reason('editor')`: undefined if it is allowed, else the sentence for the disabled button. */
export function useRole(): { role: Role | undefined; can: (needed: Role) => boolean; reason: (needed: Role) => string | undefined } {
  const t = useT();
  const role = useMe()?.role;
  return {
    role,
    can: (needed) => allows(role, needed),
    reason: (needed) =>
      role === undefined || allows(role, needed)
        ? undefined
        : t('common.needs_role', { role: t.name('common', 'role', needed), own: t.name('common', 'role', role) }),
  };
}

export async function login(key: string): Promise<void> {
  await api.post('/api/session', { key });
  closeDrafts(false);
  online.loggedIn();
  await queryClient.invalidateQueries();
}

export async function logout(): Promise<void> {
  await api.delete('/api/session');
  queryClient.clear();
  online.loggedOut();
}

/** Own paths only: begins with one slash, and a browser reads it as this origin. */
export function safeNext(next: string): string {
  if (!/^\/(?![/\\])/.test(next)) return '/';
  const target = new URL(next, window.location.origin);
  return target.origin === window.location.origin ? target.pathname + target.search : '/';
}

export function isForbidden(thrown: unknown): boolean {
  return asApiError(thrown).status === 403;
}
