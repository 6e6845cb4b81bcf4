// Evaluated in every realm before user code, so it is short: it puts our names there, each made when it is first
// touched, and keeps the built-ins that the making needs as they are now.
(function (part, names) {
  'use strict';
  const define = Object.defineProperty;
  const kept = {
    __proto__: null, define, freeze: Object.freeze, apply: Reflect.apply, construct: Reflect.construct,
    keys: Reflect.ownKeys, isArray: Array.isArray, quote: JSON.stringify, Date, Proxy,
    slice: String.prototype.slice, isUnicode: String.prototype.isWellFormed, toUnicode: String.prototype.toWellFormed,
    // An assignment without `let` to one of our names makes an ordinary variable of it.
    once(target, name) {
      let value, made = false;
      define(target, name, {
        __proto__: null, configurable: true,
        get() {
          if (!made) { value = part(name, kept); made = true; }
          return value;
        },
        set(other) {
          define(target, name, { __proto__: null, value: other, writable: true, enumerable: true, configurable: true });
        },
      });
    },
  };
  for (let i = 0; i < names.length; i++) kept.once(globalThis, names[i]);
  return kept;
})
