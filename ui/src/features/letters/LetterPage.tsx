import { useQuery } from '@tanstack/react-query';
import { Download, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import { hasEnded, queries, queryClient, useLiveQueries } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { Link, useParam } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { download } from '../../ui/copy';
import { formatBytes } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Loaded } from '../../ui/Loaded';
import { Page, Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Status } from '../../ui/Status';
import { Ago, Time } from '../../ui/Time';
import { type Requeued, requeue, type WholeLetter } from './calls';
import css from './Letters.module.css';

/** So much of a message is shown; the whole is a download. */
const SHOWN = 64_000;

export default function LetterPage() {
  const t = useT();
  const id = useParam('id');
  const { reason: missing } = useRole();
  const letter = useQuery({
    queryKey: ['letters', 'one', id],
    queryFn: ({ signal }) => api.get<WholeLetter>(path('/api/dead-letters', id), undefined, signal),
  });
  useLiveQueries(['letters'], [['letters']]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState<Requeued | null>(null);
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      setDone(await requeue(Number(id)));
      void queryClient.invalidateQueries({ queryKey: ['letters'] });
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  const why = missing('operator') ?? (letter.data ? undefined : t('common.loading'));
  useCommands([
    { id: 'requeue', name: t('letters.requeue'), group: 'page', icon: <RotateCw />, disabledReason: why, act: () => void act() },
  ]);
  return (
    <Page
      scroll
      crumbs={<Link href="/dead-letters">{t('frame.nav_dead-letters')}</Link>}
      title={t('letters.letter', { id })}
      actions={
        <>
          <CopyAs of={{ command: () => pawl('dlq requeue', [id]), curl: () => curl('POST', path('/api/dead-letters', id, 'requeue')) }} />
          <Button kind="primary" icon={<RotateCw />} busy={busy} disabledReason={why} onClick={act}>
            {t('letters.requeue')}
          </Button>
        </>
      }
    >
      {error !== null && <Problem error={error} />}
      {done && <Done done={done} />}
      <Loaded query={letter}>{(one) => <Details letter={one} />}</Loaded>
    </Page>
  );
}

function Done({ done }: { done: Requeued }) {
  const t = useT();
  return (
    <p className={css.done} role="status">
      {t(`letters.done_${done.action}`)} <Link href={`/runs/${done.execution.id}`}>{t('letters.open_run')}</Link>
    </p>
  );
}

function Details({ letter }: { letter: WholeLetter }) {
  const t = useT();
  return (
    <div className={css.details}>
      <Panel title={t('letters.facts')}>
        <dl className={css.facts}>
          <dt>{t('letters.reason')}</dt>
          <dd className={css.whole}>{letter.reason}</dd>
          <dt>{t('letters.state')}</dt>
          <dd>
            <Chip tone={letter.requeued_at ? 'good' : 'warn'}>
              {t(letter.requeued_at ? 'letters.state_requeued' : 'letters.state_open')}
            </Chip>{' '}
            {letter.requeued_at && <Ago at={letter.requeued_at} />}
          </dd>
          {letter.requeued_as && (
            <>
              <dt>{t('letters.as')}</dt>
              <dd>
                <Link href={`/runs/${letter.requeued_as}`}>
                  <Id id={letter.requeued_as} />
                </Link>
              </dd>
            </>
          )}
          <dt>{t('letters.created')}</dt>
          <dd>
            <Time at={letter.created_at} /> · <Ago at={letter.created_at} />
          </dd>
          <dt>{t('letters.size')}</dt>
          <dd>{letter.message_bytes === null ? t('letters.not_kept') : formatBytes(letter.message_bytes)}</dd>
        </dl>
      </Panel>
      <Panel title={t('letters.what_happens')}>
        <Outlook letter={letter} />
      </Panel>
      <Message letter={letter} />
    </div>
  );
}

/** What stands in the table of the API about requeues, for the state that the run has now. */
function Outlook({ letter }: { letter: WholeLetter }) {
  const t = useT();
  const id = letter.execution_id;
  const run = useQuery({ ...queries.run(id ?? ''), enabled: id !== null });
  if (id === null) return <p>{t('letters.would_unreadable')}</p>;
  if (run.error) {
    if (asApiError(run.error).status === 404) return <p>{t('letters.would_missing')}</p>;
    return <Problem compact error={run.error} onRetry={() => void run.refetch()} />;
  }
  if (!run.data) return <p>{t('common.loading')}</p>;
  const { status } = run.data;
  const would = !hasEnded(run.data) ? 'look' : status === 'completed' ? 'none' : status === 'stopped' ? 'stopped' : 'retry';
  return (
    <div className={css.outlook}>
      <p className={css.run}>
        <Link href={`/runs/${id}`}>
          {run.data.schema} <Id id={id} />
        </Link>
        <Status status={status} chip />
      </p>
      <p>{t(`letters.would_${would}`)}</p>
      {letter.requeued_at && <p className={css.faint}>{t('letters.again_note')}</p>}
    </div>
  );
}

function Message({ letter }: { letter: WholeLetter }) {
  const t = useT();
  const message = letter.message;
  const whole = message !== null && (
    <Button size="small" icon={<Download />} onClick={() => download(`dead-letter-${letter.id}.txt`, message)}>
      {t('common.download_whole')}
    </Button>
  );
  return (
    <Panel className={css.wide} title={t('letters.message')} actions={whole}>
      {message === null ? (
        <p className={css.faint}>{t('letters.message_none')}</p>
      ) : (
        <>
          {message.length > SHOWN && (
            <p className={css.faint}>
              {t('common.cut', { size: formatBytes(letter.message_bytes ?? message.length), shown: formatBytes(SHOWN) })}
            </p>
          )}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <pre className={css.message} tabIndex={0} role="region" aria-label={t('letters.message')}>
            {message.slice(0, SHOWN)}
          </pre>
        </>
      )}
    </Panel>
  );
}
