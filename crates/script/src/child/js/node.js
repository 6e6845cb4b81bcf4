// `$('id or name')`.
(function (kept) {
  'use strict';
  const { define, quote, load, items } = kept;
  const found = { __proto__: null };
  return function $(name) {
    const key = '' + name;
    if (found[key] !== undefined) return found[key];
    const output = load('"node",' + quote(key), false);
    if (output === undefined) {
      throw new Error('there is no output of a node `' + key + '`: it has not run in this execution, or its id or name is written differently');
    }
    define(found, key, { __proto__: null, value: items(output) });
    return found[key];
  };
})
