import { codec, param } from '../../frame/search';

export const schedulesSearch = codec({
  prefix: param.text(),
  finished: param.choice(['true', 'false'], undefined),
  /** Only what comes within this time. */
  due: param.choice(['1h', '24h', '7d'], undefined),
  kind: param.choice(['start_execution', 'http_callback', 'rabbitmq_publish'], undefined),
  paused: param.choice(['true', 'false'], undefined),
});

export const scheduleSearch = codec({ edit: param.flag() });
