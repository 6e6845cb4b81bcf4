import { codec, param } from '../../frame/search';

export const runSearch = codec({
  step: param.whole(),
  node: param.text(),
  tab: param.choice(['step', 'context', 'variables', 'logs', 'definition'], 'step'),
  view: param.choice(['canvas', 'outline'], 'canvas'),
  low: param.choice(['timeline', 'steps', 'logs', 'events', 'none'], 'timeline'),
  /** Of the timeline. */
  rows: param.choice(['node', 'visit'], 'node'),
  /** Dialogs. */
  fork: param.whole(),
  debug: param.flag(),
  retry: param.flag(),
  start: param.flag(),
});
