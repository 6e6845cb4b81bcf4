/** Whether the server answers, and whether it knows us. Everything that calls it tells this; the banner and the live dot show it. */
import { create } from 'zustand';

interface Online {
  /** When an answer came last (ms); 0 before the first. */
  answeredAt: number;
  /** Since when calls fail (ms), or null. */
  failingSince: number | null;
  /** It answers, but cannot give work to workers: the broker is missing. */
  degraded: boolean;
  /** It answers, but says that it cannot work now: its store is away, or it has just begun. */
  unready: boolean;
  loggedOut: boolean;
}

export const useOnline = create<Online>(() => ({ answeredAt: 0, failingSince: null, degraded: false, unready: false, loggedOut: false }));

export const online = {
  answered(): void {
    const now = Date.now();
    const { answeredAt, failingSince } = useOnline.getState();
    if (failingSince !== null || now - answeredAt > 1000) useOnline.setState({ answeredAt: now, failingSince: null, unready: false });
  },
  failed(unready = false): void {
    const { failingSince, unready: before } = useOnline.getState();
    if (failingSince === null || unready !== before) useOnline.setState({ failingSince: failingSince ?? Date.now(), unready });
  },
  loggedOut(): void {
    useOnline.setState({ loggedOut: true });
  },
  loggedIn(): void {
    useOnline.setState({ loggedOut: false });
  },
};
