// `$now`: a Date with those names of luxon that people write, in UTC.
(function (kept) {
  'use strict';
  // Not the engine's own Date: that one knows the time.
  const { date: Plain, apply, keys, entered } = kept;
  const iso = Plain.prototype.toISOString;
  const MILLIS = {
    __proto__: null, weeks: 604800000, days: 86400000, hours: 3600000, minutes: 60000, seconds: 1000, milliseconds: 1,
  };
  function shift(time, amounts, sign) {
    const date = new Plain(+time);
    let millis = 0, months = 0;
    const names = keys(amounts);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      const amount = sign * amounts[name];
      const unit = MILLIS[name] || MILLIS[name + 's'];
      if (name === 'years' || name === 'year') months += 12 * amount;
      else if (name === 'months' || name === 'month') months += amount;
      else if (unit) millis += amount * unit;
      else throw new RangeError('`' + name + '` is no unit of time; there are years, months, weeks, days, hours, minutes, seconds and milliseconds');
    }
    if (months !== 0) addMonths(date, months);
    return new DateTime(+date + millis);
  }
  // The last day of a shorter month stands for the days that it does not have.
  function addMonths(date, months) {
    const day = date.getUTCDate();
    date.setUTCDate(1);
    date.setUTCMonth(date.getUTCMonth() + months);
    const last = new Plain(Plain.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
    date.setUTCDate(day < last ? day : last);
  }
  class DateTime extends Plain {
    plus(amounts) { return shift(this, amounts, 1); }
    minus(amounts) { return shift(this, amounts, -1); }
    toISO() { return apply(iso, this, []); }
    toISODate() { return this.toISO().slice(0, 10); }
    toString() { return this.toISO(); }
    toMillis() { return +this; }
    toSeconds() { return +this / 1000; }
    toUnixInteger() { return Math.floor(+this / 1000); }
    toJSDate() { return new Plain(+this); }
    get year() { return this.getUTCFullYear(); }
    get month() { return this.getUTCMonth() + 1; }
    get day() { return this.getUTCDate(); }
    get hour() { return this.getUTCHours(); }
    get minute() { return this.getUTCMinutes(); }
    get second() { return this.getUTCSeconds(); }
    get millisecond() { return this.getUTCMilliseconds(); }
    get weekday() { return this.getUTCDay() || 7; }
  }
  return new DateTime(entered);
})
