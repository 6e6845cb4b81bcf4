import { codec, param } from '../../frame/search';

export const lettersSearch = codec({ open: param.choice(['true', 'false'], 'true') });
