import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type Ref,
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useInsertionEffect,
  useRef,
} from 'react';
import { cx } from './cx';
import css from './Table.module.css';

export interface Column<T> {
  id: string;
  head: ReactNode;
  /** A CSS grid track: `120px`, `minmax(80px, 1fr)`. */
  width: string;
  cell: (row: T, at: number) => ReactNode;
  align?: 'start' | 'end';
}

export interface TableHandle {
  scrollTo: (at: number) => void;
  focus: () => void;
}

export interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string | number;
  /** The row that the keyboard is on. */
  current?: number;
  onCurrent?: (at: number) => void;
  /** Enter, or a click on a row outside of its controls. */
  onOpen?: (row: T, event: MouseEvent | KeyboardEvent) => void;
  onKey?: (event: KeyboardEvent, at: number) => void;
  selected?: (row: T) => boolean;
  rowClass?: (row: T) => string | undefined | false;
  rowHeight?: number;
  /** Called when the end comes near. */
  onEnd?: () => void;
  foot?: ReactNode;
  handle?: Ref<TableHandle>;
}

/** A table that has only the rows in sight in the page. Rows have one fixed height; arrows, `j` and `k` move, Enter opens. */
export function Table<T>(props: TableProps<T>) {
  const { columns, rows, current = -1, onEnd, handle } = props;
  const latest = useLatest(props);
  const scroller = useRef<HTMLDivElement>(null);
  const rowHeight = props.rowHeight ?? 32;
  // Another function for the keys makes the virtualizer go through all rows again.
  const getItemKey = useCallback(
    (at: number) => {
      const row = rows[at];
      return row === undefined ? at : latest.current.rowKey(row);
    },
    [rows, latest],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (onEnd && rows.length > 0 && last >= rows.length - 10) onEnd();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: 'auto' });
  }, [current, virtual]);
  useImperativeHandle(handle, () => ({
    scrollTo: (at) => virtual.scrollToIndex(at, { align: 'center' }),
    focus: () => scroller.current?.focus(),
  }));
  const tracks = columns.map((column) => column.width).join(' ');
  const minWidth = columns.reduce((sum, column) => sum + leastWidth(column.width), PADDING);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the scroll area takes the keys of the grid
    <div
      ref={scroller}
      className={css.scroller}
      tabIndex={0}
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      onKeyDown={(event) => onKeys(event, props)}
    >
      <div className={css.head} role="row" tabIndex={-1} style={{ gridTemplateColumns: tracks, minWidth }}>
        {columns.map((column) => (
          <div key={column.id} role="columnheader" tabIndex={-1} className={cx(css.cell, column.align === 'end' && css.end)}>
            {column.head}
          </div>
        ))}
      </div>
      <div className={css.body} role="rowgroup" style={{ height: virtual.getTotalSize(), minWidth }}>
        {items.map((item) => {
          const row = rows[item.index];
          return row === undefined ? null : (
            <Row
              key={item.key}
              table={latest}
              columns={columns}
              row={row}
              at={item.index}
              top={item.start}
              height={rowHeight}
              tracks={tracks}
              selected={props.selected?.(row)}
              look={cx(current === item.index && css.current, props.onOpen && css.opens, props.rowClass?.(row))}
            />
          );
        })}
      </div>
      {props.foot && <div className={css.foot}>{props.foot}</div>}
    </div>
  );
}

const PADDING = 16;

/** Of `120px` or `minmax(80px, 1fr)`: narrower than all of them together, the table scrolls. */
function leastWidth(track: string): number {
  return Number(/(\d+)px/.exec(track)?.[1] ?? 60);
}

/** The props of the last render, for what happens between renders. */
function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useInsertionEffect(() => {
    latest.current = value;
  });
  return latest;
}

interface RowProps<T> {
  table: RefObject<TableProps<T>>;
  columns: readonly Column<T>[];
  row: T;
  at: number;
  top: number;
  height: number;
  tracks: string;
  selected: boolean | undefined;
  look: string | undefined;
}

function PlainRow<T>({ table, columns, row, at, top, height, tracks, selected, look }: RowProps<T>) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter is handled by the grid
    <div
      role="row"
      tabIndex={-1}
      aria-rowindex={at + 2}
      aria-selected={selected}
      className={cx(css.row, selected && css.selected, look)}
      style={{ transform: `translateY(${top}px)`, height, gridTemplateColumns: tracks }}
      onClick={(event) => {
        table.current.onCurrent?.(at);
        if (!isControl(event.target) && !hasText()) table.current.onOpen?.(row, event);
      }}
    >
      {columns.map((column) => (
        <div key={column.id} role="gridcell" tabIndex={-1} className={cx(css.cell, column.align === 'end' && css.end)}>
          {column.cell(row, at)}
        </div>
      ))}
    </div>
  );
}

/** Scrolling draws the rows that come into sight, not those that stay. */
const Row = memo(PlainRow) as typeof PlainRow;

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a,button,input,select,label') !== null;
}

/** Marking text in a row is not a click on it. */
function hasText(): boolean {
  return getSelection()?.type === 'Range';
}

function onKeys<T>(event: KeyboardEvent, props: TableProps<T>): void {
  const { rows, current = -1, onCurrent, onOpen, onKey } = props;
  if (event.target instanceof Element && event.target.closest('input,select,textarea')) return;
  const move = MOVES[event.key];
  if (move && onCurrent && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    onCurrent(Math.max(0, Math.min(rows.length - 1, move(current, rows.length))));
    return;
  }
  const row = rows[current];
  if (event.key === 'Enter' && row !== undefined && onOpen && event.target === event.currentTarget) {
    event.preventDefault();
    onOpen(row, event);
    return;
  }
  onKey?.(event, current);
}

const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at) => at + 1,
  j: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  k: (at) => at - 1,
  PageDown: (at) => at + 15,
  PageUp: (at) => at - 15,
  Home: () => 0,
  End: (_at, count) => count - 1,
};
