import { useVirtualizer } from '@tanstack/react-virtual';
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useId, useMemo, useRef, useState } from 'react';
import type { Json } from '../api/json';
import { translateNow } from '../messages';
import { copyText } from './copy';
import { isLong, TreeLine } from './JsonLine';
import css from './JsonTree.module.css';
import { expressionPath, jsonLines, type Line, SLICE } from './json-lines';
import { LongTextDialog } from './LongText';
import { payloadText } from './payload';
import { toast } from './toasts';

export interface JsonTreeProps {
  value: Json;
  label: string;
  /** By pointer: `added`, `removed`, `changed`, `inside`. */
  marks?: ReadonlyMap<string, 'added' | 'removed' | 'changed' | 'inside'>;
  /** A click on a value: copy its path, insert it, edit it. */
  onPick?: (pointer: string, value: Json) => void;
  /** At the end of a line: "Load the whole value", an edit button. */
  extra?: (pointer: string, value: Json) => ReactNode;
  /** How the file of a part that is downloaded is called. */
  file?: readonly (string | number)[];
  /** Grows with its content up to so many pixels; without it, it fills its place. */
  maxHeight?: number;
}

const ROW = 22;

/** A JSON value as a tree. Only lines in sight are in the page. Arrows move, open and close. */
export function JsonTree({ value, label, marks, onPick, extra, file, maxHeight }: JsonTreeProps) {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [slices, setSlices] = useState<ReadonlyMap<string, number>>(new Map());
  const [current, setCurrent] = useState(0);
  const [read, setRead] = useState<{ pointer: string; text: string } | null>(null);
  const id = useId();
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
  const show = ({ pointer, value: text }: Line) => setRead({ pointer, text: text as string });
  /** Without a selected text it is the current line that is copied. */
  const onCopy = (event: ClipboardEvent) => {
    const line = lines[current];
    if (!line || window.getSelection()?.isCollapsed === false || !event.currentTarget.contains(event.target as Node)) return;
    event.preventDefault();
    event.clipboardData.setData('text/plain', payloadText(line.value));
    toast({ text: translateNow()('common.copied') });
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
      Enter: () =>
        line.more
          ? more(line)
          : onPick
            ? onPick(line.pointer, line.value)
            : isLong(line)
              ? show(line)
              : line.count && toggle(line, !line.open),
    };
    const act = acts[event.key];
    if (!act || event.target !== event.currentTarget) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const items = virtual.getVirtualItems();
  const active = items.some((item) => item.index === current) ? `${id}${current}` : undefined;
  const style = maxHeight === undefined ? undefined : { height: Math.min(maxHeight, lines.length * ROW + 8) };
  return (
    <div
      ref={scroller}
      className={css.tree}
      style={style}
      role="tree"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={active}
      onKeyDown={onKeyDown}
      onCopy={onCopy}
    >
      <div className={css.body} style={{ height: virtual.getTotalSize() }} role="presentation">
        {items.map((item) => {
          const line = lines[item.index];
          if (!line) return null;
          return (
            <TreeLine
              key={line.pointer}
              id={`${id}${item.index}`}
              line={line}
              top={item.start}
              current={item.index === current}
              mark={marks?.get(line.pointer)}
              onToggle={() => toggle(line, !line.open)}
              onMore={() => more(line)}
              onCopy={() => void copyText(payloadText(line.value))}
              onText={() => show(line)}
              onClick={() => setCurrent(item.index)}
              onPick={onPick}
              extra={extra?.(line.pointer, line.value)}
            />
          );
        })}
      </div>
      {read !== null && (
        <LongTextDialog
          text={read.text}
          label={expressionPath(read.pointer) || label}
          file={[...(file ?? [label]), expressionPath(read.pointer)]}
          onClose={() => setRead(null)}
        />
      )}
    </div>
  );
}

/** The line of the container that a line stands in. */
function parentOf(lines: readonly Line[], at: number): number {
  const depth = lines[at]?.depth ?? 0;
  for (let above = at; above >= 0; above -= 1) if ((lines[above]?.depth ?? 0) < depth) return above;
  return at;
}
