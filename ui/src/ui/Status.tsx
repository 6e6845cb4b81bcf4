import type { ReactElement } from 'react';
import type { Status as RunStatus, StepStatus } from '../api/model';
import { useT } from '../messages';
import { cx } from './cx';
import css from './Status.module.css';

/** One set: 16 by 16, drawn with `currentColor`. Shape says the same as the colour. */
const SHAPES: Record<string, ReactElement> = {
  pending: <circle cx="8" cy="8" r="5.6" strokeDasharray="2.2 2.2" />,
  queued: <path d="M3 5h10M3 8h10M3 11h10" />,
  running: (
    <>
      <path className={css.ring} d="M8 2.2a5.8 5.8 0 1 1-5.8 5.8" />
      <path d="M6.7 5.6v4.8L10.4 8z" fill="currentColor" stroke="none" />
    </>
  ),
  sleeping: <path d="M12.6 9.6A5.4 5.4 0 0 1 6.4 3.4a5.4 5.4 0 1 0 6.2 6.2z" />,
  waiting: <path d="M4.5 2.5h7M4.5 13.5h7M5.3 2.5v2.2L8 8l2.7-3.3V2.5M5.3 13.5v-2.2L8 8l2.7 3.3v2.2" />,
  paused: <path d="M5.8 4v8M10.2 4v8" strokeWidth="2.2" />,
  waiting_debug: (
    <path d="M5.2 7.2a2.8 2.8 0 0 1 5.6 0v2.6a2.8 2.8 0 0 1-5.6 0zM6 4.6 5 3M10 4.6 11 3M5.2 8.6H2.4M13.6 8.6h-2.8M5.4 11l-2 1.6M10.6 11l2 1.6" />
  ),
  completed: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <path d="m5.4 8.2 1.8 1.8 3.4-3.8" />
    </>
  ),
  failed: (
    <>
      <path d="M5.6 2.2h4.8l3.4 3.4v4.8l-3.4 3.4H5.6l-3.4-3.4V5.6z" />
      <path d="m6 6 4 4M10 6l-4 4" />
    </>
  ),
  stopped: <rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" stroke="none" />,
  failed_stuck: (
    <>
      <path d="M8 2.2 14.4 13.4H1.6z" />
      <path d="M8 6.6v3M8 11.4v.1" />
    </>
  ),
  success: <path d="m3.6 8.4 3 3 5.8-6.6" />,
  skipped: <path d="M2.4 11.4c0-6 8.8-6 8.8-.6M13.4 8.6l-2.2 2.4L9 8.6" strokeDasharray="2.4 1.8" />,
};

const TONES: Record<string, string> = {
  pending: 'idle',
  queued: 'idle',
  running: 'accent',
  sleeping: 'info',
  waiting: 'info',
  paused: 'warn',
  waiting_debug: 'debug',
  completed: 'good',
  failed: 'bad',
  stopped: 'idle',
  failed_stuck: 'bad',
  success: 'good',
  skipped: 'idle',
};

/** The token of a status: `good`, `bad`, …; as `var(--good)`, `var(--good-ground)`. */
export function toneOf(status: RunStatus | StepStatus): string {
  return TONES[status] ?? 'idle';
}

export function StatusIcon({ status, size = 16 }: { status: RunStatus | StepStatus; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      className={cx(css.icon, css[toneOf(status)])}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {SHAPES[status] ?? SHAPES.pending}
    </svg>
  );
}

/** Icon and word of a run's status. */
export function Status({ status, chip }: { status: RunStatus; chip?: boolean }) {
  const t = useT();
  return (
    <span className={cx(css.status, css[toneOf(status)], chip && css.chip)}>
      <StatusIcon status={status} />
      <span>{t.name('common', 'status', status)}</span>
    </span>
  );
}

/** The same of a step. */
export function StepStatusMark({ status, word = true }: { status: StepStatus; word?: boolean }) {
  const t = useT();
  const name = t.name('common', 'step', status);
  return (
    <span className={cx(css.status, css[toneOf(status)])}>
      <StatusIcon status={status} />
      {word ? <span>{name}</span> : <span className="sr">{name}</span>}
    </span>
  );
}
