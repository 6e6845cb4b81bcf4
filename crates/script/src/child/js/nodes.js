// `$node['id or name']`.
(function (kept) {
  'use strict';
  const { Proxy, node } = kept;
  return new Proxy({}, { get(_, name) { return typeof name === 'string' ? node(name) : undefined; } });
})
