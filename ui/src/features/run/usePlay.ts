/** Playing a run: so many steps a second, or in real time with each gap cut to a second. */
import { useCallback, useEffect, useState } from 'react';
import { useRun } from './context';
import { useMoment } from './moment';

const SPEEDS = [1, 4, 16, -1];
const LONGEST_GAP = 1000;
let chosen = 4;

export function usePlay() {
  const { moment, scrub, goTo } = useRun();
  const speed = useMoment(moment, (state) => state.speed);
  const [, shown] = useState(chosen);
  useEffect(() => {
    if (speed === 0) return;
    let timer: ReturnType<typeof setTimeout>;
    const next = () => {
      const { seq } = moment.getState();
      if (seq >= scrub.last) return moment.setState({ speed: 0 });
      goTo(seq + 1);
      timer = setTimeout(next, wait(seq + 1));
    };
    const wait = (seq: number) => {
      if (speed > 0) return 1000 / speed;
      const step = scrub.step(seq + 1);
      return Math.min(LONGEST_GAP, Math.max(16, (step?.duration ?? 0) / 1000));
    };
    timer = setTimeout(next, wait(moment.getState().seq));
    return () => clearTimeout(timer);
  }, [speed, moment, scrub, goTo]);
  const toggle = useCallback(() => {
    const { speed: now, seq } = moment.getState();
    if (now === 0 && seq >= scrub.last) goTo(scrub.first - 1);
    moment.setState({ speed: now === 0 ? chosen : 0 });
  }, [moment, scrub, goTo]);
  const faster = useCallback(() => {
    chosen = SPEEDS[(SPEEDS.indexOf(chosen) + 1) % SPEEDS.length] ?? 4;
    shown(chosen);
    if (moment.getState().speed !== 0) moment.setState({ speed: chosen });
  }, [moment]);
  return { speed: speed === 0 ? chosen : speed, playing: speed !== 0, toggle, faster };
}
