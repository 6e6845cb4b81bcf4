import { useRouterState } from '@tanstack/react-router';
import { Lock } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import type { Role } from '../api/model';
import { useOnline } from '../api/online';
import { useT } from '../messages';
import { Empty } from '../ui/Empty';
import { toast } from '../ui/toasts';
import { go } from './navigate';
import { type Codec, parseSearch } from './search';
import { useRole } from './session';

/** Around every screen: its role, the way to the login, and parameters of the address that nobody understands. */
export function Guarded({ role, search, children }: { role: Role | null; search: Codec<unknown>; children: ReactNode }) {
  const { reason } = useRole();
  useLogin(role !== null);
  useCleanSearch(search);
  const why = role === null ? undefined : reason(role);
  if (why) return <Empty icon={<Lock />} title={why} />;
  return children;
}

function useLogin(needed: boolean): void {
  const loggedOut = useOnline((state) => state.loggedOut);
  useEffect(() => {
    if (!loggedOut || !needed) return;
    const here = window.location.pathname + window.location.search;
    go(`/login${here === '/' ? '' : `?next=${encodeURIComponent(here)}`}`, { replace: true });
  }, [loggedOut, needed]);
}

function useCleanSearch(codec: Codec<unknown>): void {
  const t = useT();
  const text = useRouterState({ select: (state) => state.location.searchStr });
  useEffect(() => {
    const { value, bad } = codec.read(parseSearch(text));
    if (bad.length === 0) return;
    toast({ tone: 'warn', text: t('common.bad_search', { names: bad.join(', ') }) });
    go(`${window.location.pathname}${codec.write(value as never)}`, { replace: true });
  }, [codec, text, t]);
}
