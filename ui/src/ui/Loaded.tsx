import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import css from './Loaded.module.css';
import { Problem } from './Problem';
import { Skeleton } from './Skeleton';

/** The three states of a reading: data (also old ones, while new are read), error, not yet. */
export function Loaded<T>({
  query,
  children,
  skeleton,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  skeleton?: ReactNode;
}) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error && <Problem error={query.error} onRetry={() => void query.refetch()} />}
        <div className={css.data} data-stale={query.isFetching && query.isStale && query.isPlaceholderData ? '' : undefined}>
          {children(query.data)}
        </div>
      </>
    );
  }
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return skeleton ?? <Skeleton />;
}
