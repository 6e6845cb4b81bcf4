import { useMemo } from 'react';
import { useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Checkbox } from '../../ui/Field';
import { formatDuration } from '../../ui/format';
import { StepStatusMark } from '../../ui/Status';
import { type Column, Table } from '../../ui/Table';
import type { Comparison, Pair } from './api';
import css from './Compare.module.css';
import { compareSearch } from './search';

const keyOf = (pair: Pair) => `${pair.node_id}:${pair.visit}`;

/** Every visit of every node, side by side. */
export function Pairs({ comparison }: { comparison: Comparison }) {
  const t = useT();
  const [search, set] = useSearch(compareSearch);
  const only = search.only === 'differences';
  const rows = useMemo(() => (only ? comparison.steps.filter((pair) => !pair.same) : comparison.steps), [comparison, only]);
  const differ = useMemo(() => comparison.steps.filter((pair) => !pair.same).length, [comparison]);
  const columns = useMemo(
    (): Column<Pair>[] => [
      {
        id: 'mark',
        head: '',
        width: '40px',
        cell: (pair) => <span className={pair.same ? css.soft : css.differs}>{pair.same ? '=' : '≠'}</span>,
      },
      {
        id: 'node',
        head: t('compare.node'),
        width: 'minmax(160px, 2fr)',
        cell: (pair) => (pair.visit > 1 ? `${pair.node_id} #${pair.visit}` : pair.node_id),
      },
      { id: 'left', head: t('compare.left'), width: 'minmax(150px, 1fr)', cell: (pair) => <Side side={pair.left} /> },
      { id: 'right', head: t('compare.right'), width: 'minmax(150px, 1fr)', cell: (pair) => <Side side={pair.right} /> },
      {
        id: 'more',
        head: t('compare.longer'),
        width: '150px',
        align: 'end',
        cell: (pair) => (pair.left !== null && pair.right !== null ? signed(pair.left.duration_ms - pair.right.duration_ms) : ''),
      },
    ],
    [t],
  );
  const current = rows.findIndex((pair) => keyOf(pair) === search.pair);
  const choose = (pair: Pair | undefined) => pair !== undefined && set({ pair: keyOf(pair) }, { replace: true });
  return (
    <>
      <div className={css.filters}>
        <Checkbox
          label={t('compare.only_differences', { n: differ })}
          checked={only}
          onChange={(event) => set({ only: event.target.checked ? 'differences' : undefined }, { replace: true })}
        />
      </div>
      <div className={css.table}>
        <Table
          label={t('compare.pairs')}
          columns={columns}
          rows={rows}
          rowKey={keyOf}
          rowHeight={26}
          current={current}
          onCurrent={(at) => choose(rows[at])}
          onOpen={choose}
        />
      </div>
    </>
  );
}

const signed = (ms: number) => (Math.abs(ms) < 0.005 ? '' : ms > 0 ? `+${formatDuration(ms)}` : formatDuration(ms));

function Side({ side }: { side: Pair['left'] }) {
  const t = useT();
  if (side === null) return <span className={css.soft}>{t('compare.not_there')}</span>;
  return (
    <span className={css.side}>
      <StepStatusMark status={side.status} word={false} />
      <span>#{side.seq}</span>
      <span className={css.soft}>{formatDuration(side.duration_ms)}</span>
    </span>
  );
}
