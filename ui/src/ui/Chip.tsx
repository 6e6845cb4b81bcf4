import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useT } from '../messages';
import css from './Chip.module.css';
import { cx } from './cx';

export type Tone = 'idle' | 'accent' | 'good' | 'bad' | 'warn' | 'info' | 'debug';

/** A small word with a ground; with `onRemove` it can be taken away, with `onToggle` it is a switch. */
export function Chip({
  tone = 'idle',
  children,
  onRemove,
  onToggle,
  on,
  faint,
  title,
}: {
  tone?: Tone;
  children: ReactNode;
  onRemove?: () => void;
  onToggle?: () => void;
  on?: boolean;
  /** A switch that would show nothing. */
  faint?: boolean;
  title?: string;
}) {
  const t = useT();
  if (onToggle) {
    return (
      <button
        type="button"
        title={title}
        aria-pressed={on}
        className={cx(css.chip, css.toggle, css[tone], on && css.on, faint && css.faint)}
        onClick={onToggle}
      >
        {children}
      </button>
    );
  }
  return (
    <span className={cx(css.chip, css[tone])} title={title}>
      {children}
      {onRemove && (
        <button type="button" className={css.remove} aria-label={t('common.remove')} onClick={onRemove}>
          <X />
        </button>
      )}
    </span>
  );
}
