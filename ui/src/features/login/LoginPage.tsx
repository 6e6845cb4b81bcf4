import { useQuery } from '@tanstack/react-query';
import { Eye, EyeOff } from 'lucide-react';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type ApiError, asApiError } from '../../api/error';
import { online, useOnline } from '../../api/online';
import { queries, queryClient } from '../../api/queries';
import { parseTime, serverNow } from '../../api/time';
import { Logo } from '../../frame/Logo';
import { go, useSearch } from '../../frame/navigate';
import { login, safeNext } from '../../frame/session';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Field, Input } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Countdown, useNow } from '../../ui/Time';
import { toast } from '../../ui/toasts';
import css from './Login.module.css';
import { loginSearch } from './search';

/** Only where a login is needed: who is known already goes on to where the login was asked for. */
export default function LoginPage() {
  const t = useT();
  const [{ next }] = useSearch(loginSearch);
  const me = useQuery({ ...queries.me(), refetchOnMount: 'always' });
  const loggedOut = useOnline((state) => state.loggedOut);
  // What was known before the session ended says nothing: only an answer of now does.
  const known = me.data !== undefined && !me.isError && (me.isFetchedAfterMount || !loggedOut);
  useEffect(() => {
    document.title = `${t('login.title')} · Pawl`;
  }, [t]);
  useEffect(() => {
    if (!known) return;
    online.loggedIn();
    go(safeNext(next), { replace: true });
  }, [known, next]);
  const strange = me.error && asApiError(me.error).status !== 401 ? me.error : null;
  return (
    <main className={css.page}>
      <div className={css.card}>
        <div className={css.brand}>
          <Logo />
          <span>Pawl</span>
        </div>
        <h1>{t('login.title')}</h1>
        {strange && <Problem compact error={strange} title={t('login.no_server')} onRetry={() => void me.refetch()} />}
        <KeyForm next={next} />
        <p className={css.note}>{t('login.stays')}</p>
      </div>
    </main>
  );
}

function KeyForm({ next }: { next: string }) {
  const t = useT();
  const [key, setKey] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [until, setUntil] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const now = useNow(until ? 1000 : null);
  const locked = until !== null && parseTime(until).ms > now;
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || locked || key.trim() === '') return;
    setBusy(true);
    setError(null);
    try {
      await login(key.trim());
      const me = await queryClient.fetchQuery({ ...queries.me(), staleTime: 0 });
      toast({ tone: 'good', text: t('login.done', { name: me.created_by, role: t.name('common', 'role', me.role) }) });
      go(safeNext(next), { replace: true });
    } catch (thrown) {
      const failed = asApiError(thrown);
      setError(failed);
      if (failed.status === 429) setUntil(new Date(serverNow() + (failed.retryAfter ?? 60) * 1000).toISOString());
      input.current?.select();
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className={css.form} onSubmit={submit}>
      <Field label={t('login.key')} hint={t('login.key_hint')}>
        {(ids) => (
          <div className={css.key}>
            <Input
              {...ids}
              ref={input}
              mono
              name="key"
              type={shown ? 'text' : 'password'}
              autoComplete="current-password"
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
            <IconButton
              name={t(shown ? 'login.hide' : 'login.show')}
              icon={shown ? <EyeOff /> : <Eye />}
              onClick={() => setShown(!shown)}
            />
          </div>
        )}
      </Field>
      {error && (
        <Problem compact error={error} title={t(titleOf(error))}>
          {locked && until && <p>{t.rich('login.wait', { left: <Countdown until={until} /> })}</p>}
        </Problem>
      )}
      <Button
        type="submit"
        kind="primary"
        busy={busy}
        disabledReason={locked ? t('login.too_many') : key.trim() === '' && t('login.empty')}
      >
        {t('login.enter')}
      </Button>
    </form>
  );
}

function titleOf(error: ApiError) {
  if (error.status === 401) return 'login.unknown';
  if (error.status === 403) return 'login.plain_http';
  if (error.status === 429) return 'login.too_many';
  return error.offline ? 'errors.NETWORK' : 'common.page_failed';
}
