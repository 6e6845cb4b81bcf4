import { STATUSES } from '../../api/model';
import { codec, param, type SearchOf } from '../../frame/search';

const params = {
  status: param.choices(STATUSES),
  schema: param.text(),
  since: param.since(),
  until: param.since(),
  q: param.text(),
  tenant: param.text(),
  /** `KEY:VALUE`. */
  label: param.text(),
  by: param.text(),
  code: param.text(),
  node: param.text(),
  retry_of: param.text(),
  forked_from: param.text(),
  version: param.matching(/^\d{1,9}$/),
  /** `30s`, `1h30m`: as the engine writes durations. */
  longer_than: param.matching(/^(\d{1,9}(ms|[smhd]))+$/),
  finished_since: param.since(),
  unresolved: param.flag(),
  trial: param.flag(),
  /** The run in the peek panel. */
  sel: param.text(),
  /** The start dialog; `from` is a run whose input it takes. */
  start: param.flag(),
  from: param.text(),
  bulk: param.choice(['pause', 'resume', 'stop', 'retry'], undefined),
  /** What the bulk action is about. Which rows are ticked is not in the address, so it must not be about everything without saying so. */
  of: param.choice(['picked', 'filter'], 'picked'),
};

export const runsSearch = codec(params);
export type RunsSearch = SearchOf<typeof params>;
