/** What a clock in a time zone shows at a moment, and how far it is from UTC. Firings come from the engine; here they are only said. */
import { useTexts } from '../../messages';

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, kind: 'clock' | 'offset'): Intl.DateTimeFormat | null {
  const language = useTexts.getState().language;
  const key = `${kind} ${language} ${zone}`;
  const known = formats.get(key);
  if (known) return known;
  try {
    const made =
      kind === 'offset'
        ? new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
        : new Intl.DateTimeFormat(language, {
            timeZone: zone,
            weekday: 'short',
            day: 'numeric',
            month: 'short',
            year: 'numeric',
            hour: '2-digit',
            minute: '2-digit',
            second: '2-digit',
            hourCycle: 'h23',
          });
    formats.set(key, made);
    return made;
  } catch {
    // The engine may know a zone that this browser does not.
    return null;
  }
}

/** Null: this browser does not know the zone. */
export function inZone(at: string, zone: string): string | null {
  return format(zone, 'clock')?.format(new Date(at)) ?? null;
}

/** `+01:00`; empty if the browser does not know the zone. */
export function offsetAt(at: string, zone: string): string {
  const parts = format(zone, 'offset')?.formatToParts(new Date(at));
  const name = parts?.find((part) => part.type === 'timeZoneName')?.value ?? '';
  return name === 'GMT' ? '+00:00' : name.replace('GMT', '');
}

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function zones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone')];
}
