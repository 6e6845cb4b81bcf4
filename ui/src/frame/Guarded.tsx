import { useRouterState } from '@tanstack/react-router';
import { Lock } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import type { Role } from '../api/model';
import { useOnline } from '../api/online';
import { useT } from '../messages';
import { Empty } from '../ui/Empty';
import { toast } from '../ui/toasts';
import { go, here, ScreenPath } from './navigate';
import { type Codec, parseSearch } from './search';
import { useRole } from './session';

/** Around every screen: its role, the way to the login, and parameters of the address that no screen understands. */
export function Guarded({
  path,
  role,
  search,
  children,
}: {
  /** The addresses of the screen. */
  path: RegExp;
  role: Role | null;
  search: Codec<unknown>;
  children: ReactNode;
}) {
  const { reason } = useRole();
  useLogin(role !== null);
  useCleanSearch(path, search);
  const why = role === null ? undefined : reason(role);
  if (why) return <Empty icon={<Lock />} title={why} />;
  return <ScreenPath.Provider value={path}>{children}</ScreenPath.Provider>;
}

function useLogin(needed: boolean): void {
  const loggedOut = useOnline((state) => state.loggedOut);
  useEffect(() => {
    if (!loggedOut || !needed) return;
    const { pathname, search } = here();
    const next = pathname + search;
    go(`/login${next === '/' ? '' : `?next=${encodeURIComponent(next)}`}`, { replace: true });
  }, [loggedOut, needed]);
}

/** While the next screen loads, this one is still there: parameters of other addresses are not its business. */
function useCleanSearch(path: RegExp, codec: Codec<unknown>): void {
  const t = useT();
  const text = useRouterState({ select: (state) => state.location.searchStr });
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    if (!path.test(pathname)) return;
    const { value, bad } = codec.read(parseSearch(text));
    if (bad.length === 0) return;
    toast({ tone: 'warn', text: t('common.bad_search', { names: bad.join(', ') }) });
    go(`${pathname}${codec.write(value as never)}`, { replace: true });
  }, [path, codec, pathname, text, t]);
}
