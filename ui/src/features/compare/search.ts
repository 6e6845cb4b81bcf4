import { codec, param } from '../../frame/search';

export const compareSearch = codec({ with: param.text(), pair: param.text(), only: param.choice(['differences'], undefined) });
