import type { ReactNode } from 'react';
import type { Pages } from '../api/pages';
import { Problem } from './Problem';
import { Skeleton } from './Skeleton';

/** The states of a list: not yet, failed, empty (never before an answer), rows. Old rows stay when a later reading fails. */
export function Listing<T>({ pages, empty, children }: { pages: Pages<T>; empty: ReactNode; children: (rows: T[]) => ReactNode }) {
  const { rows, error, again } = pages;
  const problem = error ? <Problem error={error} onRetry={again} /> : null;
  if (rows === undefined) return problem ?? <Skeleton />;
  return (
    <>
      {problem}
      {rows.length === 0 && !error ? empty : children(rows)}
    </>
  );
}
