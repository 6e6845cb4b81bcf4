// `Date`, with the time of entry for now.
(function (kept) {
  'use strict';
  const { Date: Plain, apply, construct, define, entered } = kept;
  const text = Plain.prototype.toString;
  function hidden(target, name, value) {
    define(target, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  }
  function Clock() {
    if (new.target === undefined) return apply(text, new Plain(entered), []);
    return construct(Plain, arguments.length === 0 ? [entered] : arguments, new.target);
  }
  define(Clock, 'name', { __proto__: null, value: 'Date' });
  define(Clock, 'length', { __proto__: null, value: 7 });
  define(Clock, 'prototype', { __proto__: null, value: Plain.prototype, writable: false });
  hidden(Clock, 'now', function () { return entered; });
  hidden(Clock, 'parse', Plain.parse);
  hidden(Clock, 'UTC', Plain.UTC);
  hidden(Plain.prototype, 'constructor', Clock);
  return Clock;
})
