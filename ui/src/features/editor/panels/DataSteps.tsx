import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Outline } from '../../../api/outline';
import { queries } from '../../../api/queries';
import type { StepStatus } from '../../../graph/scrub';
import { useT } from '../../../messages';
import { iconOf } from '../../../nodes';
import { Dialog } from '../../../ui/Dialog';
import { Input } from '../../../ui/Field';
import { formatDuration, formatNumber } from '../../../ui/format';
import { Loaded } from '../../../ui/Loaded';
import { StepStatusMark } from '../../../ui/Status';
import { type Column, Table } from '../../../ui/Table';
import { stepsOf } from '../code/data';
import type { DataAt } from '../model/wire';
import css from './DataSteps.module.css';

interface Row {
  seq: number;
  node: string;
  type: string;
  status: StepStatus | null;
  micros: number;
}

/** After which step of the run one looks: what a node sees that would come next. */
export function DataSteps({ data, onChoose, onClose }: { data: DataAt; onChoose: (seq: number) => void; onClose: () => void }) {
  const t = useT();
  const run = useQuery(queries.run(data.execution));
  const steps = useQuery({ ...stepsOf({ id: data.execution, seq: run.data?.seq ?? 0 }), enabled: run.data !== undefined });
  const [text, setText] = useState('');
  const columns = useColumns();
  const all = useMemo((): Row[] => rowsOf(steps.data ?? [], t('editor.data_beginning')), [steps.data, t]);
  const rows = useMemo(() => all.filter((row) => fits(row, text.trim().toLowerCase())), [all, text]);
  const [current, setCurrent] = useState<number | null>(null);
  const place = current ?? rows.findIndex((row) => row.seq === data.seq);
  return (
    <Dialog title={t('editor.data_choose_step')} onClose={onClose}>
      <div className={css.steps}>
        <Input
          autoFocus
          aria-label={t('editor.data_find_step')}
          placeholder={t('editor.data_find_step')}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setCurrent(0);
          }}
          onKeyDown={(event) => {
            const row = rows[Math.max(0, place)];
            if (event.key === 'Enter' && row !== undefined) onChoose(row.seq);
          }}
        />
        <p className={css.about}>{t('editor.data_step_about')}</p>
        <Loaded query={steps}>
          {() => (
            <div className={css.table}>
              <Table
                label={t('editor.data_choose_step')}
                columns={columns}
                rows={rows}
                rowKey={(row) => row.seq}
                rowHeight={28}
                current={place}
                onCurrent={setCurrent}
                onOpen={(row) => onChoose(row.seq)}
              />
            </div>
          )}
        </Loaded>
      </div>
    </Dialog>
  );
}

function rowsOf(pages: Outline[], beginning: string): Row[] {
  const rows: Row[] = [{ seq: 0, node: beginning, type: 'start', status: null, micros: 0 }];
  for (const { from, nodes, node, status, statuses, duration } of pages)
    for (let at = 0; at < node.length; at++) {
      const { id, type } = nodes[node[at] as number] ?? { id: '', type: '' };
      rows.push({ seq: from + at, node: id, type, status: statuses[status[at] as number] as StepStatus, micros: duration[at] ?? 0 });
    }
  return rows;
}

const fits = (row: Row, text: string) => text === '' || String(row.seq) === text || row.node.toLowerCase().includes(text);

function useColumns(): Column<Row>[] {
  const t = useT();
  return useMemo(
    () => [
      { id: 'seq', head: '#', width: '72px', align: 'end', cell: (row) => formatNumber(row.seq) },
      { id: 'status', head: '', width: '44px', cell: (row) => row.status && <StepStatusMark status={row.status} word={false} /> },
      { id: 'node', head: t('editor.data_node'), width: 'minmax(120px, 1fr)', cell: (row) => <Named row={row} /> },
      { id: 'took', head: '', width: '88px', align: 'end', cell: (row) => (row.status === null ? '' : formatDuration(row.micros / 1000)) },
    ],
    [t],
  );
}

function Named({ row }: { row: Row }) {
  const Icon = iconOf(row.type);
  return (
    <span className={css.node}>
      <Icon aria-hidden />
      {row.node}
    </span>
  );
}
