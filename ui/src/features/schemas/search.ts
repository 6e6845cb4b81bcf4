import { codec, param } from '../../frame/search';

export const schemasSearch = codec({ q: param.text(), state: param.choice(['active', 'inactive'], undefined) });
export const schemaSearch = codec({ tab: param.choice(['runs', 'triggers', 'versions', 'settings'], 'runs') });
