/** Whether the server answers, and whether it knows us. Everything that calls it tells this; the banner and the live dot show it. */
import { create } from 'zustand';

interface Online {
  /** When an answer came last (ms); 0 before the first. */
  answeredAt: number;
  /** Since when calls fail (ms), or null. */
  failingSince: number | null;
  /** It answers, but cannot give work to workers: the broker is missing. */
  degraded: boolean;
  loggedOut: boolean;
}

export const useOnline = create<Online>(() => ({ answeredAt: 0, failingSince: null, degraded: false, loggedOut: false }));

export const online = {
  answered(): void {
    const now = Date.now();
    const { answeredAt, failingSince } = useOnline.getState();
    if (failingSince !== null || now - answeredAt > 1000) useOnline.setState({ answeredAt: now, failingSince: null });
  },
  failed(): void {
    if (useOnline.getState().failingSince === null) useOnline.setState({ failingSince: Date.now() });
  },
  loggedOut(): void {
    useOnline.setState({ loggedOut: true });
  },
  loggedIn(): void {
    useOnline.setState({ loggedOut: false });
  },
};
