import { AgainDialog } from './AgainDialog';
import { useRunSearch } from './context';
import { ForkDialog } from './ForkDialog';
import { RetryDialog } from './RetryDialog';

/** Dialogs with an address of their own. */
export function Dialogs() {
  const [search, set] = useRunSearch();
  if (search.fork !== undefined)
    return <ForkDialog seq={search.fork} onClose={() => set({ fork: undefined, debug: false }, { replace: true })} debug={search.debug} />;
  if (search.retry) return <RetryDialog onClose={() => set({ retry: false }, { replace: true })} />;
  if (search.start) return <AgainDialog onClose={() => set({ start: false }, { replace: true })} />;
  return null;
}
