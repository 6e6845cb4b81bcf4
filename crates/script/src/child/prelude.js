// What user code finds in its realm. Evaluated before any of it runs; everything used later is taken from the
// realm here, so that code which replaces built-ins confuses only itself. That is also why there is no spread,
// no for-of and no array method below: they can be replaced too.
(function (ask, write, now, seedHigh, seedLow) {
  'use strict';
  const { defineProperty, freeze } = Object;
  const { apply, construct, ownKeys } = Reflect;
  const { isArray } = Array;
  const quote = JSON.stringify;
  const PlainDate = Date;
  const dateText = PlainDate.prototype.toString;
  const isoText = PlainDate.prototype.toISOString;
  const bigText = BigInt.prototype.toString;

  // Memory beyond the limit of the heap, and a way to wait without being asked whether to go on.
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;

  function data(target, name, value) {
    defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }
  function hidden(target, name, value) {
    defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  }

  // --- data of the run, loaded when touched ---

  function freezeAll(value) {
    if (typeof value !== 'object' || value === null) return value;
    const names = ownKeys(value);
    for (let i = 0; i < names.length; i++) freezeAll(value[names[i]]);
    return freeze(value);
  }
  function load(path, frozen) {
    const reply = ask('[' + path + ']');
    if (reply[0] === 0) return undefined;
    if (reply[0] === 1) return frozen ? freezeAll(reply[1]) : reply[1];
    const target = {};
    const members = reply[1];
    for (let i = 0; i < members.length; i++) {
      const name = members[i][0];
      if (members[i].length === 2) data(target, name, frozen ? freezeAll(members[i][1]) : members[i][1]);
      else loadLater(target, name, path + ',' + quote(name), frozen);
    }
    return frozen ? freeze(target) : target;
  }
  function loadLater(target, name, path, frozen) {
    let value, loaded = false;
    defineProperty(target, name, {
      __proto__: null, enumerable: true, configurable: true,
      get() {
        if (!loaded) { value = load(path, frozen); loaded = true; }
        return value;
      },
      set: frozen ? undefined : function (other) { value = other; loaded = true; },
    });
  }
  // An assignment without `let` to one of our names makes an ordinary variable of it.
  function global(name, read) {
    let value, loaded = false;
    defineProperty(globalThis, name, {
      __proto__: null, enumerable: false, configurable: true,
      get() {
        if (!loaded) { value = read(); loaded = true; }
        return value;
      },
      set(other) { data(globalThis, name, other); },
    });
  }
  function root(name) {
    global(name, function () { return load('"context",' + quote(name), true); });
  }
  root('webhook'); root('input'); root('steps'); root('variables'); root('env'); root('user'); root('execution');

  // --- the names that n8n has ---

  function items(json) {
    const item = { json };
    let all;
    function list() {
      if (all !== undefined) return all;
      const value = item.json;
      if (!isArray(value)) return (all = [item]);
      all = [];
      for (let i = 0; i < value.length; i++) data(all, i, { json: value[i] });
      return all;
    }
    return {
      item,
      get json() { return item.json; },
      first() { return list()[0]; },
      last() { return list()[list().length - 1]; },
      all() { return list(); },
    };
  }
  const nodes = { __proto__: null };
  function node(name) {
    const key = '' + name;
    if (nodes[key] !== undefined) return nodes[key];
    const output = load('"node",' + quote(key), false);
    if (output === undefined) {
      throw new Error('there is no output of a node `' + key + '`: it has not run in this execution, or its id or name is written differently');
    }
    const found = items(output);
    data(nodes, key, found);
    return found;
  }
  let input;
  function inputItems() {
    if (input === undefined) {
      const json = load('"input"', false);
      input = items(json === undefined ? null : json);
    }
    return input;
  }
  global('$input', inputItems);
  global('$json', function () { return inputItems().item.json; });
  global('$execution', function () { return load('"context","execution"', true); });
  hidden(globalThis, '$', node);
  hidden(globalThis, '$node', new Proxy({}, {
    get(_, name) { return typeof name === 'string' ? node(name) : undefined; },
  }));

  // --- time and chance, the same whenever this visit is run again ---

  function Clock() {
    if (new.target === undefined) return apply(dateText, new PlainDate(now), []);
    return construct(PlainDate, arguments.length === 0 ? [now] : arguments, new.target);
  }
  defineProperty(Clock, 'name', { __proto__: null, value: 'Date' });
  defineProperty(Clock, 'length', { __proto__: null, value: 7 });
  defineProperty(Clock, 'prototype', { __proto__: null, value: PlainDate.prototype, writable: false });
  hidden(Clock, 'now', function () { return now; });
  hidden(Clock, 'parse', PlainDate.parse);
  hidden(Clock, 'UTC', PlainDate.UTC);
  hidden(PlainDate.prototype, 'constructor', Clock);
  hidden(globalThis, 'Date', Clock);

  const MILLIS = {
    __proto__: null, weeks: 604800000, days: 86400000, hours: 3600000, minutes: 60000, seconds: 1000, milliseconds: 1,
  };
  function shift(time, amounts, sign) {
    const date = new PlainDate(+time);
    let millis = 0, months = 0;
    const names = ownKeys(amounts);
    for (let i = 0; i < names.length; i++) {
      const amount = sign * amounts[names[i]];
      const unit = MILLIS[names[i]] ? names[i] : names[i] + 's';
      if (names[i] === 'years' || names[i] === 'year') months += 12 * amount;
      else if (names[i] === 'months' || names[i] === 'month') months += amount;
      else if (MILLIS[unit]) millis += amount * MILLIS[unit];
      else throw new RangeError('`' + names[i] + '` is no unit of time; there are years, months, weeks, days, hours, minutes, seconds and milliseconds');
    }
    if (months !== 0) {
      const day = date.getUTCDate();
      date.setUTCDate(1);
      date.setUTCMonth(date.getUTCMonth() + months);
      const last = new PlainDate(PlainDate.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
      date.setUTCDate(day < last ? day : last);
    }
    return new DateTime(date.getTime() + millis);
  }
  class DateTime extends PlainDate {
    plus(amounts) { return shift(this, amounts, 1); }
    minus(amounts) { return shift(this, amounts, -1); }
    toISO() { return apply(isoText, this, []); }
    toISODate() { return this.toISO().slice(0, 10); }
    toString() { return this.toISO(); }
    toMillis() { return +this; }
    toSeconds() { return +this / 1000; }
    toUnixInteger() { return Math.floor(+this / 1000); }
    toJSDate() { return new PlainDate(+this); }
    get year() { return this.getUTCFullYear(); }
    get month() { return this.getUTCMonth() + 1; }
    get day() { return this.getUTCDate(); }
    get hour() { return this.getUTCHours(); }
    get minute() { return this.getUTCMinutes(); }
    get second() { return this.getUTCSeconds(); }
    get millisecond() { return this.getUTCMilliseconds(); }
    get weekday() { return this.getUTCDay() || 7; }
  }
  global('$now', function () { return new DateTime(now); });

  // sfc32: small, and good enough for everything but secrets.
  let a = seedHigh | 0, b = seedLow | 0, c = 0x9e3779b9 | 0, d = 1;
  function next() {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return t >>> 0;
  }
  for (let i = 0; i < 12; i++) next();
  hidden(Math, 'random', function random() { return ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992; });

  // Integers beyond 2^53 arrive as BigInt; text of JSON made by user code has all their digits too.
  hidden(BigInt.prototype, 'toJSON', function () { return apply(bigText, this, []); });

  function level(name) {
    return function () { write(name, arguments); };
  }
  hidden(globalThis, 'console', {
    log: level('info'), info: level('info'), warn: level('warn'), error: level('error'), debug: level('debug'),
  });
  return isArray;
})
