import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { isObject, type Json, write } from '../../api/json';
import type { Change } from '../../api/model';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { copyText } from '../../ui/copy';
import { Diff } from '../../ui/Diff';
import { formatBytes } from '../../ui/format';
import { JsonTree } from '../../ui/JsonTree';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type ContextView, runQueries } from './api';
import { useRestingSeq, useRun } from './context';
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
  const difference = useQuery(runQueries.context(run.id, seq, 'difference', '', 65_536));
  const marks = useMemo(() => marksOf(seq === 0 ? [] : (difference.data?.difference ?? []), asked), [difference.data, asked, seq]);
  const { data } = context;
  return (
    <div className={css.context}>
      <div className={css.switch} role="radiogroup" aria-label={t('run.context_view')}>
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
        <span className={css.size}>{data !== undefined && formatBytes(data.bytes)}</span>
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
          <JsonTree
            value={withCuts(data)}
            label={t('run.tab_context')}
            marks={marks}
            onPick={(pointer) => copyText(expressionOf(pointer))}
          />
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

/** `/variables/total` as an expression sees it: `variables.total`. */
function expressionOf(pointer: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts
    .map((part, at) =>
      /^\d+$/.test(part) ? `[${part}]` : /^[A-Za-z_]\w*$/.test(part) ? `${at === 0 ? '' : '.'}${part}` : `[${JSON.stringify(part)}]`,
    )
    .join('');
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
  return `${typeof cut.start === 'string' ? cut.start : ''}… (${String(cut.type)}, ${formatBytes(Number(cut.$cut))})`;
}
