import type { Execution, Explanation } from '../api/model';
import { serverNow } from '../api/time';
import type { Translate } from '../messages';
import { filled } from '../messages/said';
import { formatDuration, formatNumber, formatTime, timeStyleFor } from '../ui/format';
import { usePreferences } from './preferences';

/** Why a run is where it is, in a line. */
export function sentenceOf(explanation: Explanation, run: Execution, t: Translate): string {
  if (explanation.reason === 'ended' && run.error !== null) return `${run.error.code}: ${run.error.message}`;
  return explained(explanation, t).replaceAll('`', '');
}

/** The whole of it: in English the engine's own sentence, else the same out of its values, where there is a text for each of them. */
export function explained({ reason, sentence, params = {} }: Explanation, t: Translate): string {
  if (t.language === 'en') return sentence;
  const values = shown(params);
  const say = (key: string) => filled(`engine.explain_${key}`, values, t);
  const main = say(mainOf(reason, params));
  if (main === undefined) return sentence;
  const all = [main, ...besides(reason, params).map(say)].filter((text) => text !== undefined);
  // Messages of errors end as their authors ended them.
  return all.map((text) => (/[.!?…]$/.test(text) ? text : `${text}.`)).join(' ');
}

type Params = NonNullable<Explanation['params']>;

function mainOf(reason: string, params: Params): string {
  if (reason === 'ended') return `ended_${params.status}`;
  if (reason !== 'waiting_for_quota') return reason;
  if (params.in_line === false) return 'quota_lost';
  if (params.quota === undefined) return 'quota_room';
  if (params.opens_at !== undefined) return 'quota_rate';
  return params.holder === undefined ? 'quota_closed' : 'quota_held';
}

/** Counted up to here by the engine. */
const BEFORE_MOST = 10_000;

/** What is said after the main thing. */
function besides(reason: string, params: Params): string[] {
  if (reason === 'ended')
    return [params.retried_as !== undefined ? 'next_retried' : params.can_retry === true ? 'next_retry' : 'next_fork'];
  const before = Number(params.before ?? -1);
  const all: (string | false)[] = [
    Number(params.holders ?? 0) > 1 && params.opens_at === undefined && 'quota_others',
    before >= 0 && (before === 0 ? 'before_none' : before < BEFORE_MOST ? 'before' : 'before_most'),
    params.overdue === true && 'overdue',
    'failures',
    params.stop_requested === true ? 'stop_requested' : params.pause_requested === true && 'pause_requested',
  ];
  return all.filter((key) => key !== false);
}

const TIMES = new Set(['at', 'wake_at', 'opens_at', 'since']);

function shown(params: Params): { [name: string]: string } {
  const values: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === 'string') values[name] = TIMES.has(name) ? timeOf(value) : value;
    else if (typeof value === 'number') values[name] = name.endsWith('_ms') ? formatDuration(value) : formatNumber(value);
  }
  if (typeof params.holders === 'number') values.others = formatNumber(params.holders - 1);
  return values;
}

/** A time as people read it, in the zone of the preferences. */
export function timeOf(text: string): string {
  const zone = usePreferences.getState().utc ? 'UTC' : undefined;
  return formatTime(text, timeStyleFor(text, serverNow(), zone), zone);
}
