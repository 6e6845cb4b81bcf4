import { codec, param } from '../../frame/search';

export const overviewSearch = codec({ window: param.choice(['1h', '24h', '7d'], '24h') });
