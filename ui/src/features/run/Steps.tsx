import { useMemo, useState } from 'react';
import { usePreferences } from '../../frame/preferences';
import type { StepLine } from '../../graph/scrub';
import { useT } from '../../messages';
import { iconOf } from '../../nodes';
import { Input, Select } from '../../ui/Field';
import { formatDuration, formatNumber, formatTime } from '../../ui/format';
import { StepStatusMark } from '../../ui/Status';
import { type Column, Table } from '../../ui/Table';
import { useRun } from './context';
import css from './Drawer.module.css';
import { useMoment } from './moment';

const STATES = ['all', 'success', 'failed', 'skipped', 'retried'] as const;

/** Every step as a row; a click goes to its moment. */
export function Steps() {
  const t = useT();
  const { scrub, version, moment, goTo, select, gone } = useRun();
  const [text, setText] = useState('');
  const [state, setState] = useState<string>('all');
  const seq = useMoment(moment, (now) => now.seq);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  const rows = useMemo(() => scrub.steps.filter((step) => fits(step, text.trim().toLowerCase(), state)), [scrub, version, text, state]);
  const columns = useColumns();
  const current = useMemo(() => placeIn(rows, seq), [rows, seq]);
  return (
    <div className={css.column}>
      <div className={css.filters}>
        <Input
          aria-label={t('run.filter_steps')}
          placeholder={t('run.filter_steps')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Select
          aria-label={t('run.state')}
          value={state}
          onValue={setState}
          choices={STATES.map((one) => ({ value: one, name: t(`run.steps_${one}`) }))}
        />
        {gone && <span className={css.count}>{t('run.gone', { n: gone.up_to })}</span>}
        <span className={css.count}>
          {rows.length < scrub.steps.length &&
            t('run.rows_of', { shown: formatNumber(rows.length), all: formatNumber(scrub.steps.length) })}
        </span>
      </div>
      <div className={css.fill}>
        <Table
          label={t('run.low_steps')}
          columns={columns}
          rows={rows}
          rowKey={(step) => step.seq}
          rowHeight={26}
          current={current}
          onCurrent={(at) => rows[at] !== undefined && goTo(rows[at].seq)}
          onOpen={(step) => select(step.node < 0 ? null : step.nodeId)}
          rowClass={(step) => (step.inherited ? css.inherited : undefined)}
        />
      </div>
    </div>
  );
}

function fits(step: StepLine, text: string, state: string): boolean {
  if (text !== '' && !step.nodeId.toLowerCase().includes(text) && !step.nodeType.includes(text) && String(step.seq) !== text) return false;
  if (state === 'all') return true;
  return state === 'retried' ? step.tries > 1 : step.status === state;
}

/** The row of a moment: rows are in the order of their numbers. */
function placeIn(rows: readonly StepLine[], seq: number): number {
  let low = -1;
  let high = rows.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((rows[middle]?.seq ?? 0) <= seq) low = middle;
    else high = middle - 1;
  }
  return rows[low]?.seq === seq ? low : -1;
}

function useColumns(): Column<StepLine>[] {
  const t = useT();
  const utc = usePreferences((state) => state.utc);
  return useMemo(
    () => [
      { id: 'seq', head: '#', width: '64px', align: 'end', cell: (step) => formatNumber(step.seq) },
      { id: 'status', head: '', width: '44px', cell: (step) => <StepStatusMark status={step.status} word={false} /> },
      { id: 'node', head: t('run.node'), width: 'minmax(140px, 2fr)', cell: (step) => <NodeCell step={step} /> },
      {
        id: 'type',
        head: t('run.type'),
        width: 'minmax(90px, 1fr)',
        cell: (step) => <span className={css.soft}>{step.nodeType}</span>,
      },
      { id: 'exit', head: t('run.exit'), width: '110px', cell: (step) => <span className={css.soft}>{step.exit ?? ''}</span> },
      {
        id: 'start',
        head: t('run.started'),
        width: '120px',
        align: 'end',
        cell: (step) => <span className={css.soft}>{shownTime(step.start, utc)}</span>,
      },
      { id: 'duration', head: t('run.duration'), width: '96px', align: 'end', cell: (step) => formatDuration(step.duration / 1000) },
      { id: 'tries', head: t('run.tries_head'), width: '72px', align: 'end', cell: (step) => (step.tries > 1 ? `↻ ${step.tries}` : '') },
    ],
    [t, utc],
  );
}

const shownTime = (micros: number, utc: boolean) =>
  `${formatTime(new Date(micros / 1000).toISOString(), 'time', utc ? 'UTC' : undefined)}.${String(Math.floor(micros / 1000) % 1000).padStart(3, '0')}`;

function NodeCell({ step }: { step: StepLine }) {
  const Icon = iconOf(step.nodeType);
  return (
    <span className={css.node}>
      <Icon aria-hidden /> {step.nodeId}
    </span>
  );
}
