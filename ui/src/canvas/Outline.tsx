import { useVirtualizer } from '@tanstack/react-virtual';
import { CircleX, CornerDownRight, LogIn, Pin, Repeat2, TriangleAlert } from 'lucide-react';
import { type KeyboardEvent, memo, useEffect, useMemo, useRef, useState } from 'react';
import type { Graph } from '../graph/model';
import { type OutlineLine, outlineOf } from '../graph/outline';
import { useT } from '../messages';
import { iconOf, summaryOf } from '../nodes';
import { cx } from '../ui/cx';
import { StatusIcon } from '../ui/Status';
import { Countdown } from '../ui/Time';
import { nodeState } from './a11y';
import { type Looks, useNodeLook } from './looks';
import css from './Outline.module.css';

interface Props {
  graph: Graph;
  looks: Looks;
  label: string;
  selected: string | null;
  onSelect: (id: string) => void;
  onOpen?: (id: string) => void;
}

const ROW = 30;

/** The same graph as the canvas, as a tree list. */
export function Outline({ graph, looks, label, selected, onSelect, onOpen }: Props) {
  const lines = useMemo(() => outlineOf(graph), [graph]);
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 10 });
  useEffect(() => {
    const at = lines.findIndex((line) => line.kind === 'node' && graph.nodes[line.node]?.id === selected);
    if (at >= 0) setCurrent(at);
  }, [lines, graph, selected]);
  const goTo = (at: number) => {
    const next = Math.max(0, Math.min(lines.length - 1, at));
    setCurrent(next);
    virtual.scrollToIndex(next);
    const id = graph.nodes[lines[next]?.node ?? -1]?.id;
    if (id !== undefined) onSelect(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const id = graph.nodes[lines[current]?.node ?? -1]?.id;
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: lines.length - 1 }[event.key];
    const opens = event.key === 'Enter' && id !== undefined;
    if ((to === undefined && !opens) || event.ctrlKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (to !== undefined) goTo(to);
    else if (id !== undefined) onOpen?.(id);
  };
  return (
    <div
      ref={scroller}
      className={css.outline}
      role="tree"
      aria-label={label}
      tabIndex={0}
      onKeyDown={onKeyDown}
      aria-activedescendant={`outline-${current}`}
    >
      <div className={css.body} style={{ height: virtual.getTotalSize() }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index] as OutlineLine;
          const id = graph.nodes[line.node]?.id ?? '';
          return (
            <Line
              key={item.key}
              at={item.index}
              line={line}
              graph={graph}
              looks={looks}
              top={item.start}
              current={item.index === current}
              chosen={id === selected}
              onPick={() => goTo(item.index)}
            />
          );
        })}
      </div>
    </div>
  );
}

interface LineProps {
  at: number;
  line: OutlineLine;
  graph: Graph;
  looks: Looks;
  top: number;
  current: boolean;
  chosen: boolean;
  onPick: () => void;
}

const Line = memo(function Line({ at, line, graph, looks, top, current, chosen, onPick }: LineProps) {
  const t = useT();
  const look = useNodeLook(looks, line.node);
  const node = graph.nodes[line.node];
  if (node === undefined) return null;
  const Icon = iconOf(node.type);
  const exit = line.edge < 0 ? '' : (graph.edges[line.edge]?.exit ?? '');
  const again = line.kind !== 'node';
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    <div
      id={`outline-${at}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={line.depth + 1}
      aria-selected={chosen}
      className={cx(css.line, current && css.current, chosen && css.chosen, look.faint && css.faint, look.ring === 'at' && css.at)}
      style={{ transform: `translateY(${top}px)`, paddingInlineStart: 12 + Math.min(line.depth, 24) * 18 }}
      onClick={onPick}
    >
      {exit !== '' && exit !== 'success' && <span className={css.exit}>{exit}</span>}
      <span className="sr">{exit !== '' && exit !== 'success' ? ': ' : ''}</span>
      {again ? (
        line.kind === 'loop' ? (
          <Repeat2 className={css.icon} />
        ) : (
          <CornerDownRight className={css.icon} />
        )
      ) : (
        <Icon className={css.icon} />
      )}
      <span className={css.title}>{node.title}</span>
      <span className="sr">, {nodeState(graph, looks, line.node, t)}, </span>
      {again ? (
        <span className={css.summary}>{t(line.kind === 'loop' ? 'canvas.loop' : 'canvas.again')}</span>
      ) : (
        <span className={css.summary}>{summaryOf(node.definition)}</span>
      )}
      {!again && (
        <span className={css.marks}>
          {look.problem === 'error' && <CircleX className={css.error} />}
          {look.problem === 'warning' && <TriangleAlert className={css.warning} />}
          {look.entry && <LogIn className={css.mark} />}
          {look.pinned && <Pin className={css.mark} />}
          {look.breakpoint && <span className={css.breakpoint} />}
          {look.badge}
          {look.visits > 1 && <span>×{look.visits}</span>}
          {look.until !== null ? <Countdown until={look.until} /> : <span>{look.detail}</span>}
          {look.state !== null && <StatusIcon status={look.state} size={15} />}
        </span>
      )}
    </div>
  );
});
