/** A list of the API, page after page. */
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Query } from './client';
import type { Page } from './model';

export interface Pages<T> {
  /** Undefined before the first answer. */
  rows: T[] | undefined;
  error: unknown;
  /** Whether there are more rows on the server. */
  more: boolean;
  /** Reads the next page; nothing if it is being read already. */
  onEnd: () => void;
  again: () => void;
}

/** `every`: read again after so many milliseconds, for what no event tells of. */
export function usePages<T>(queryKey: QueryKey, where: string, query: Query = {}, every: number | false = false): Pages<T> {
  const found = useInfiniteQuery({
    queryKey: [...queryKey, query],
    queryFn: ({ pageParam, signal }) => api.get<Page<T>>(where, { ...query, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchInterval: every,
  });
  const rows = useMemo(() => found.data?.pages.flatMap((page) => page.items), [found.data]);
  return {
    rows,
    error: found.error,
    more: found.hasNextPage,
    onEnd: () => {
      if (found.hasNextPage && !found.isFetching) void found.fetchNextPage();
    },
    again: () => void found.refetch(),
  };
}
