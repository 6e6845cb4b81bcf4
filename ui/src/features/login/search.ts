import { codec, param } from '../../frame/search';

export const loginSearch = codec({ next: param.text('/') });
