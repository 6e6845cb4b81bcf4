import { useEffect, useState } from 'react';
import { between, parseTime, serverNow } from '../api/time';
import { usePreferences } from '../frame/preferences';
import { useT } from '../messages';
import { formatDuration, formatTime, type TimeStyle, timeStyleFor } from './format';
import { Tooltip } from './Tooltip';

/** Rerenders every `ms` milliseconds, on the beat of the clock; not in hidden tabs. */
export function useNow(ms: number | null): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (ms === null) return;
    let timer: ReturnType<typeof setTimeout>;
    const beat = () => {
      if (document.visibilityState === 'visible') setNow(serverNow());
      timer = setTimeout(beat, ms - (serverNow() % ms));
    };
    beat();
    return () => clearTimeout(timer);
  }, [ms]);
  return now;
}

/** A time in the zone of the preferences; the tooltip has both zones and the microseconds. */
export function Time({ at, style }: { at: string; style?: TimeStyle }) {
  const t = useT();
  const utc = usePreferences((state) => state.utc);
  const zone = utc ? 'UTC' : undefined;
  const both = `${t('common.local_time')}  ${formatTime(at, 'exact')}\nUTC  ${formatTime(at, 'exact', 'UTC')}`;
  return (
    <Tooltip text={both}>
      <time dateTime={at}>{formatTime(at, style ?? timeStyleFor(at, serverNow(), zone), zone)}</time>
    </Tooltip>
  );
}

/** How long ago, as it grows: "3 min ago". */
export function Ago({ at }: { at: string }) {
  const t = useT();
  const age = useNow(1000) - parseTime(at).ms;
  const text =
    age < 1000 && age > -1000
      ? t('common.now')
      : age > 0
        ? t('common.ago', { span: formatDuration(coarse(age)) })
        : t('common.in_span', { span: formatDuration(coarse(-age)) });
  return (
    <Tooltip text={`${formatTime(at, 'exact')}\nUTC  ${formatTime(at, 'exact', 'UTC')}`}>
      <time dateTime={at}>{text}</time>
    </Tooltip>
  );
}

function coarse(ms: number): number {
  return ms > 60_000 ? Math.floor(ms / 60_000) * 60_000 : Math.floor(ms / 1000) * 1000;
}

/** What is left until a time: "59:12", "2 h 5 min". */
export function Countdown({ until }: { until: string }) {
  const left = Math.max(0, parseTime(until).ms - useNow(1000));
  return <time dateTime={until}>{formatCountdown(left)}</time>;
}

export function formatCountdown(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds >= 3600) return formatDuration(Math.ceil(ms / 60_000) * 60_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** From one time to another, or to now while it goes on. */
export function Duration({ from, to }: { from: string | null; to: string | null }) {
  const now = useNow(from && !to ? 1000 : null);
  if (!from) return null;
  const ms = to ? between(from, to) : Math.max(0, now - parseTime(from).ms);
  return <span>{formatDuration(to ? ms : Math.floor(ms / 1000) * 1000)}</span>;
}
