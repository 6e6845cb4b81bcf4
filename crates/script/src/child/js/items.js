// The output of a node as n8n shows it: `item` is all of it; the others take a list apart.
(function (kept) {
  'use strict';
  const { define, isArray } = kept;
  return function (json) {
    const item = { json };
    let all;
    function list() {
      if (all !== undefined) return all;
      const value = item.json;
      if (!isArray(value)) return (all = [item]);
      all = [];
      for (let i = 0; i < value.length; i++) {
        define(all, i, { __proto__: null, value: { json: value[i] }, writable: true, enumerable: true, configurable: true });
      }
      return all;
    }
    return {
      item,
      get json() { return item.json; },
      first() { return list()[0]; },
      last() { return list()[list().length - 1]; },
      all() { return list(); },
    };
  };
})
