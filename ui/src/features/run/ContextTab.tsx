import { useQuery } from '@tanstack/react-query';
import { Copy, Download } from 'lucide-react';
import { useMemo, useState } from 'react';
import { asApiError } from '../../api/error';
import { isObject, type Json, write } from '../../api/json';
import type { Change } from '../../api/model';
import { useT } from '../../messages';
import { refusalSaid } from '../../messages/said';
import { Button, IconButton } from '../../ui/Button';
import { copyText, download } from '../../ui/copy';
import { Diff } from '../../ui/Diff';
import { formatBytes } from '../../ui/format';
import { JsonTree } from '../../ui/JsonTree';
import { expressionPath } from '../../ui/json-lines';
import { Problem } from '../../ui/Problem';
import { fileName, payloadText } from '../../ui/payload';
import { Skeleton } from '../../ui/Skeleton';
import { toast } from '../../ui/toasts';
import { type ContextView, runQueries, wholeContext } from './api';
import { useFile, useRestingSeq, useRun } from './context';
import css from './Inspector.module.css';

type View = ContextView['view'];

/** What expressions see after the moment (or before its step), with the changes of the step marked. */
export function ContextTab() {
  const t = useT();
  const { run } = useRun();
  const seq = useRestingSeq();
  const [view, setView] = useState<View>('after');
  const [bytes, setBytes] = useState(65_536);
  const asked = seq === 0 ? 'after' : view;
  const context = useQuery({ ...runQueries.context(run.id, seq, asked, '', bytes), placeholderData: (before) => before });
  const { data } = context;
  return (
    <div className={css.context}>
      <div className={css.switch}>
        <div role="radiogroup" aria-label={t('run.context_view')}>
          {(['before', 'after', 'difference'] as const).map((one) => (
            <button
              key={one}
              type="button"
              role="radio"
              aria-checked={asked === one}
              disabled={seq === 0 && one !== 'after'}
              onClick={() => setView(one)}
            >
              {t(`run.context_${one}`)}
            </button>
          ))}
        </div>
        {data !== undefined && <WholeContext seq={seq} view={asked} bytes={data.bytes} />}
      </div>
      {context.error ? (
        <Problem error={context.error} onRetry={() => void context.refetch()} compact />
      ) : data === undefined ? (
        <Skeleton rows={8} height={22} />
      ) : asked === 'difference' ? (
        <div className={css.scroll}>
          <Diff changes={data.difference ?? []} />
        </div>
      ) : (
        <div className={css.tree}>
          <ContextTree data={data} seq={seq} view={asked} />
        </div>
      )}
      {data !== undefined && data.cut.length > 0 && (
        <p className={css.cut}>
          {t('run.context_cut', { n: data.cut.length, all: formatBytes(data.bytes) })}
          {bytes < 4_000_000 && (
            <Button size="small" onClick={() => setBytes(bytes * 8)}>
              {t('run.show_more')}
            </Button>
          )}
        </p>
      )}
    </div>
  );
}

/** The tree; what was cut in it can be had whole, each by itself. */
function ContextTree({ data, seq, view }: { data: ContextView; seq: number; view: View }) {
  const t = useT();
  const { run } = useRun();
  const file = [...useFile(), 'step', seq];
  const { busy, take } = useWhole();
  const difference = useQuery(runQueries.context(run.id, seq, 'difference', '', 65_536));
  const marks = useMemo(() => marksOf(seq === 0 ? [] : (difference.data?.difference ?? []), view), [difference.data, view, seq]);
  const places = useMemo(() => new Set(data.cut), [data]);
  const extra = (pointer: string) =>
    places.has(`/value${pointer}`) && (
      <Button
        size="small"
        kind="quiet"
        icon={<Download />}
        busy={busy}
        onClick={() =>
          take(seq, view, pointer, (value) => download(fileName([...file, expressionPath(pointer)], value), payloadText(value)))
        }
      >
        {t('common.download_whole')}
      </Button>
    );
  return (
    <JsonTree
      value={withCuts(data)}
      label={t('run.tab_context')}
      marks={marks}
      extra={extra}
      file={file}
      onPick={(pointer) => copyText(expressionPath(pointer))}
    />
  );
}

function WholeContext({ seq, view, bytes }: { seq: number; view: View; bytes: number }) {
  const t = useT();
  const file = [...useFile(), 'step', seq, t('run.tab_context')];
  const { busy, take } = useWhole();
  const name = t('run.tab_context');
  return (
    <span className={css.size}>
      {formatBytes(bytes)}
      <IconButton
        size="small"
        name={t('common.copy_named', { name })}
        icon={<Copy />}
        busy={busy}
        onClick={() => take(seq, view, '', (value) => void copyText(payloadText(value)))}
      />
      <IconButton
        size="small"
        name={t('common.download_named', { name })}
        icon={<Download />}
        busy={busy}
        onClick={() => take(seq, view, '', (value) => download(fileName(file, value), payloadText(value)))}
      />
    </span>
  );
}

/** A part of a context with nothing cut, or all of it. It is not kept: it can be as large as contexts become. */
function useWhole() {
  const t = useT();
  const { run } = useRun();
  const [busy, setBusy] = useState(false);
  const take = (seq: number, view: View, pointer: string, then: (value: Json) => void) => {
    setBusy(true);
    wholeContext(run.id, seq, view, pointer)
      .then(then, (thrown) => toast({ text: refusalSaid(asApiError(thrown), t), tone: 'bad' }))
      .finally(() => setBusy(false));
  };
  return { busy, take };
}

function marksOf(changes: readonly Change[], view: View): Map<string, 'added' | 'removed' | 'changed' | 'inside'> {
  const marks = new Map<string, 'added' | 'removed' | 'changed' | 'inside'>();
  for (const { op, path } of changes) {
    if ((op === 'added' && view === 'before') || (op === 'removed' && view === 'after')) continue;
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = path.slice(0, at);
      if (!marks.has(above)) marks.set(above, 'inside');
    }
    marks.set(path, op);
  }
  return marks;
}

/** What was cut says so in its place, instead of the server's own way of saying it. */
function withCuts({ value, cut }: ContextView): Json {
  const places = new Set(cut);
  const walk = (one: Json, at: string): Json => {
    if (places.has(at)) return sizeOf(one);
    if (Array.isArray(one)) return one.map((item, index) => walk(item, `${at}/${index}`));
    if (!isObject(one)) return one;
    return Object.fromEntries(
      Object.entries(one).map(([name, item]) => [name, walk(item, `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)]),
    );
  };
  return value === undefined ? null : places.size === 0 ? value : walk(value, '/value');
}

function sizeOf(cut: Json): string {
  if (!isObject(cut)) return write(cut);
  return `${typeof cut.start === 'string' ? cut.start.slice(0, 60) : ''}… (${String(cut.type)}, ${formatBytes(Number(cut.$cut))})`;
}
