import { useSyncExternalStore } from 'react';

/** From here on there is room for a canvas that is worked on. */
const NARROW = '(max-width: 899px)';

function listen(changed: () => void) {
  const query = matchMedia(NARROW);
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}

export const useNarrow = () => useSyncExternalStore(listen, () => matchMedia(NARROW).matches);
