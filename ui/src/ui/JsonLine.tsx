import { ChevronRight, Copy } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Json } from '../api/json';
import { useT } from '../messages';
import { cx } from './cx';
import { formatBytes } from './format';
import css from './JsonTree.module.css';
import { type Line, LONG } from './json-lines';
import { bytesOf } from './payload';

export interface TreeLineProps {
  id: string;
  line: Line;
  top: number;
  current: boolean;
  mark: string | undefined;
  onToggle: () => void;
  onMore: () => void;
  onCopy: () => void;
  /** Shows a text that does not fit a line. */
  onText: () => void;
  onClick: () => void;
  onPick: ((pointer: string, value: Json) => void) | undefined;
  extra: ReactNode;
}

export const isLong = ({ value, count }: Line) => count === null && typeof value === 'string' && value.length > LONG;

export function TreeLine({ id, line, top, current, mark, onToggle, onMore, onCopy, onText, onClick, onPick, extra }: TreeLineProps) {
  const t = useT();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    <div
      id={id}
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
      <span className={css.tools}>
        {isLong(line) && (
          <button type="button" tabIndex={-1} className={cx(css.more, css.whole)} onClick={onText}>
            {t('common.text_of', { size: formatBytes(bytesOf(line.value as string)) })}
          </button>
        )}
        {extra}
        {line.more === undefined && (
          <button type="button" tabIndex={-1} className={css.copy} onClick={onCopy} aria-label={t('common.copy')}>
            <Copy size={13} />
          </button>
        )}
      </span>
    </div>
  );
}

function LineText({ line, onPick }: { line: Line; onPick: ((pointer: string, value: Json) => void) | undefined }) {
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
