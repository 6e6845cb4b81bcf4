/**
 * Whether the services behind the server are there. The stream stays open without them, and a page at rest asks nothing: so the server is
 * asked now and then, and more often while something is missing.
 */
import { api } from './client';
import { useOnline } from './online';
import { queryClient } from './queries';

const WELL_MS = 8_000;
const ILL_MS = 2_000;

/** A server that takes the call and says nothing must not end the watch. */
const PATIENCE_MS = 5_000;

async function look(): Promise<void> {
  try {
    if (document.visibilityState === 'visible') {
      const report = await api.get<{ status: 'ok' | 'degraded' }>('/health/ready', undefined, AbortSignal.timeout(PATIENCE_MS));
      useOnline.setState({ degraded: report.status === 'degraded' });
    }
  } catch {
    // What cannot be reached is told by the call itself.
  } finally {
    const { failingSince, degraded } = useOnline.getState();
    setTimeout(look, failingSince === null && !degraded ? WELL_MS : ILL_MS);
  }
}

export function watchHealth(): void {
  useOnline.subscribe((now, before) => {
    // What could not be read meanwhile.
    if (before.failingSince !== null && now.failingSince === null)
      void queryClient.invalidateQueries({ predicate: ({ state }) => state.status === 'error' });
  });
  void look();
}
