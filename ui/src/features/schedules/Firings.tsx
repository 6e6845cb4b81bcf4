import { Clock } from 'lucide-react';
import { parseTime } from '../../api/time';
import { useT } from '../../messages';
import { Ago, Time } from '../../ui/Time';
import css from './Schedules.module.css';
import { inZone, LOCAL_ZONE, offsetAt } from './zone';

/** What the engine plans, in the schedule's zone and in local time; where the offset of the zone changes, it says so. */
export function Firings({ times, zone }: { times: readonly string[]; zone: string }) {
  const t = useT();
  const own = zone === LOCAL_ZONE;
  return (
    <>
      <Strip times={times} zone={zone} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <div className={css.long} role="region" aria-label={t('schedules.firings')} tabIndex={0}>
        <table className={css.firings}>
          <thead>
            <tr>
              <th scope="col">{t('schedules.firings_zone', { zone })}</th>
              {!own && <th scope="col">{t('schedules.firings_local')}</th>}
              <th scope="col">{t('schedules.firings_in')}</th>
            </tr>
          </thead>
          <tbody>
            {times.map((at, index) => {
              const before = times[index - 1];
              const changed = before !== undefined && offsetAt(before, zone) !== offsetAt(at, zone);
              return (
                <tr key={at}>
                  <td>
                    {inZone(at, zone) ?? at} <span className={css.faint}>{offsetAt(at, zone)}</span>
                    {changed && before !== undefined && (
                      <span className={css.offset}>
                        <Clock aria-hidden /> {t('schedules.offset_change', { before: offsetAt(before, zone), after: offsetAt(at, zone) })}
                      </span>
                    )}
                  </td>
                  {!own && (
                    <td>
                      <Time at={at} />
                    </td>
                  )}
                  <td>
                    <Ago at={at} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The same as a picture: one tick per firing, a taller one where the clock has changed. */
function Strip({ times, zone }: { times: readonly string[]; zone: string }) {
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined || times.length < 2) return null;
  const from = parseTime(first).ms;
  const span = parseTime(last).ms - from || 1;
  return (
    <svg className={css.strip} viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">
      <line className={css.axis} x1="0" x2="1000" y1="20" y2="20" />
      {times.map((at, index) => {
        const before = times[index - 1];
        const changed = before !== undefined && offsetAt(before, zone) !== offsetAt(at, zone);
        const x = 4 + ((parseTime(at).ms - from) / span) * 992;
        return <line key={at} className={changed ? css.changedTick : css.tick} x1={x} x2={x} y1={changed ? 2 : 9} y2="20" />;
      })}
    </svg>
  );
}
