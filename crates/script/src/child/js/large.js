// An object that came without its large members: they are asked for when they are touched.
(function (kept) {
  'use strict';
  const { define, freeze, quote, load } = kept;
  return function (members, path, frozen) {
    const target = {};
    for (let i = 0; i < members.length; i++) {
      const name = members[i][0];
      if (members[i].length === 2) {
        define(target, name, { __proto__: null, value: members[i][1], writable: true, enumerable: true, configurable: true });
      } else {
        later(target, name, path + ',' + quote(name), frozen);
      }
    }
    return frozen ? freeze(target) : target;
  };
  function later(target, name, path, frozen) {
    let value, loaded = false;
    define(target, name, {
      __proto__: null, enumerable: true, configurable: true,
      get() {
        if (!loaded) { value = load(path, frozen); loaded = true; }
        return value;
      },
      set: frozen ? undefined : function (other) { value = other; loaded = true; },
    });
  }
})
