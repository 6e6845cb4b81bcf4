import { codec, param } from '../../frame/search';

export const schedulesSearch = codec({ prefix: param.text(), finished: param.choice(['true', 'false'], undefined), due: param.text() });
