import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronRight } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import type { Json } from '../api/json';
import { useT } from '../messages';
import { cx } from './cx';
import css from './JsonTree.module.css';
import { jsonLines, type Line, SLICE } from './json-lines';

export interface JsonTreeProps {
  value: Json;
  label: string;
  /** By pointer: `added`, `removed`, `changed`, `inside`. */
  marks?: ReadonlyMap<string, 'added' | 'removed' | 'changed' | 'inside'>;
  /** A click on a value: copy its path, insert it, edit it. */
  onPick?: (pointer: string, value: Json) => void;
  /** At the end of a line: "Load the whole value", an edit button. */
  extra?: (pointer: string, value: Json) => ReactNode;
  /** Grows with its content up to so many pixels; without it, it fills its place. */
  maxHeight?: number;
}

const ROW = 22;
const LONG = 400;

/** A JSON value as a tree. Only lines in sight are in the page. Arrows move, open and close. */
export function JsonTree({ value, label, marks, onPick, extra, maxHeight }: JsonTreeProps) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [slices, setSlices] = useState<ReadonlyMap<string, number>>(new Map());
  const [current, setCurrent] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => jsonLines(value, toggled, slices), [value, toggled, slices]);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 12 });
  const toggle = (line: Line, open: boolean) => setToggled((before) => new Map(before).set(line.pointer, open));
  const more = (line: Line) => {
    const parent = line.pointer.slice(0, -2);
    setSlices((before) => new Map(before).set(parent, (before.get(parent) ?? SLICE) + SLICE));
  };
  const goTo = (at: number) => {
    const next = Math.max(0, Math.min(lines.length - 1, at));
    setCurrent(next);
    virtual.scrollToIndex(next, { align: 'auto' });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[current];
    if (!line) return;
    const acts: Record<string, () => void> = {
      ArrowDown: () => goTo(current + 1),
      ArrowUp: () => goTo(current - 1),
      Home: () => goTo(0),
      End: () => goTo(lines.length - 1),
      ArrowRight: () => (line.count !== null && !line.open ? toggle(line, true) : goTo(current + 1)),
      ArrowLeft: () => (line.open ? toggle(line, false) : goTo(parentOf(lines, current))),
      Enter: () => (line.more ? more(line) : onPick ? onPick(line.pointer, line.value) : line.count && toggle(line, !line.open)),
    };
    const act = acts[event.key];
    if (!act || event.target !== event.currentTarget) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const style = maxHeight === undefined ? undefined : { height: Math.min(maxHeight, lines.length * ROW + 8) };
  return (
    <div ref={scroller} className={css.tree} style={style} role="tree" aria-label={label} tabIndex={0} onKeyDown={onKeyDown}>
      <div className={css.body} style={{ height: virtual.getTotalSize() }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (!line) return null;
          return (
            <TreeLine
              key={line.pointer}
              line={line}
              top={item.start}
              current={item.index === current}
              mark={marks?.get(line.pointer)}
              onToggle={() => toggle(line, !line.open)}
              onMore={() => more(line)}
              onClick={() => setCurrent(item.index)}
              onPick={onPick}
              extra={extra?.(line.pointer, line.value)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The line of the container that a line stands in. */
function parentOf(lines: readonly Line[], at: number): number {
  const depth = lines[at]?.depth ?? 0;
  for (let above = at; above >= 0; above -= 1) if ((lines[above]?.depth ?? 0) < depth) return above;
  return at;
}

interface TreeLineProps {
  line: Line;
  top: number;
  current: boolean;
  mark: string | undefined;
  onToggle: () => void;
  onMore: () => void;
  onClick: () => void;
  onPick: JsonTreeProps['onPick'];
  extra: ReactNode;
}

function TreeLine({ line, top, current, mark, onToggle, onMore, onClick, onPick, extra }: TreeLineProps) {
  const t = useT();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    <div
      role="treeitem"
      tabIndex={-1}
      aria-level={line.depth + 1}
      aria-expanded={line.count ? line.open : undefined}
      aria-selected={current}
      className={cx(css.line, current && css.current, mark && css[mark])}
      style={{ transform: `translateY(${top}px)`, paddingInlineStart: 4 + line.depth * 14 }}
      onClick={onClick}
    >
      {line.count ? (
        <button
          type="button"
          tabIndex={-1}
          className={css.arrow}
          data-open={line.open || undefined}
          onClick={onToggle}
          aria-label={t(line.open ? 'common.collapse' : 'common.expand')}
        >
          <ChevronRight />
        </button>
      ) : (
        <span className={css.arrow} />
      )}
      {line.more !== undefined ? (
        <button type="button" tabIndex={-1} className={css.more} onClick={onMore}>
          {t('common.more_items', { n: line.more })}
        </button>
      ) : (
        <LineText line={line} onPick={onPick} />
      )}
      {mark && mark !== 'inside' && <span className="sr">{t.name('common', '', mark)}</span>}
      {extra}
    </div>
  );
}

function LineText({ line, onPick }: { line: Line; onPick: JsonTreeProps['onPick'] }) {
  const value = <ValueText line={line} />;
  return (
    <>
      {line.name !== null && (
        <>
          <span className={css.name}>{line.name}</span>
          <span className={css.colon}>:</span>
        </>
      )}
      {onPick ? (
        <button type="button" tabIndex={-1} className={css.pick} onClick={() => onPick(line.pointer, line.value)}>
          {value}
        </button>
      ) : (
        value
      )}
    </>
  );
}

function ValueText({ line }: { line: Line }) {
  const t = useT();
  const { value, count } = line;
  if (count !== null) {
    const text = Array.isArray(value) ? t('common.items', { n: count }) : t('common.fields', { n: count });
    return <span className={css.count}>{count === 0 ? (Array.isArray(value) ? '[ ]' : '{ }') : text}</span>;
  }
  if (typeof value === 'string')
    return <span className={css.string}>{JSON.stringify(value.length > LONG ? `${value.slice(0, LONG)}…` : value)}</span>;
  return <span className={css[value === null ? 'null' : typeof value === 'boolean' ? 'boolean' : 'number']}>{String(value)}</span>;
}
