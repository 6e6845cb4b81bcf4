import { type ReactNode, useEffect, useState } from 'react';
import { useT } from '../messages';
import css from './Skeleton.module.css';

/** Nothing for 150 ms, then its children: a fast answer shows no flicker. */
export function Delayed({ children, ms = 150 }: { children: ReactNode; ms?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return shown ? children : null;
}

const WIDTHS = [62, 84, 47, 71, 55, 90, 38, 66];

/** Grey rows in the shape of a list. */
export function Skeleton({ rows = 8, height = 32 }: { rows?: number; height?: number }) {
  const t = useT();
  return (
    <Delayed>
      <div className={css.skeleton} role="status" aria-label={t('common.loading')}>
        {Array.from({ length: rows }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: grey rows have no identity
          <div key={at} className={css.row} style={{ height }}>
            <span className={css.bar} style={{ width: `${WIDTHS[at % WIDTHS.length]}%` }} />
          </div>
        ))}
      </div>
    </Delayed>
  );
}
