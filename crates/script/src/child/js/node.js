// `$('id or name')`.
(function (kept) {
  'use strict';
  const { define, quote, load, items, apply, slice, isUnicode, toUnicode } = kept;
  // No id or name is longer; a question has to be short.
  const NAME_MAX = 1000, SHOWN_MAX = 100;
  const found = { __proto__: null };
  function shown(key) {
    const start = apply(toUnicode, apply(slice, key, [0, SHOWN_MAX]), []);
    return key.length > SHOWN_MAX ? start + '…' : start;
  }
  return function $(name) {
    const key = '' + name;
    if (found[key] !== undefined) return found[key];
    const possible = key.length <= NAME_MAX && apply(isUnicode, key, []);
    const output = possible ? load('"node",' + quote(key), false) : undefined;
    if (output === undefined) {
      throw new Error('there is no output of a node `' + shown(key) + '`: it has not run in this execution, or its id or name is written differently');
    }
    define(found, key, { __proto__: null, value: items(output) });
    return found[key];
  };
})
