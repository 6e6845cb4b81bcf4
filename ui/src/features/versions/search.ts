import { codec, param } from '../../frame/search';

export const diffSearch = codec({ a: param.whole(1), b: param.whole(1), view: param.choice(['picture', 'text'], 'picture') });
