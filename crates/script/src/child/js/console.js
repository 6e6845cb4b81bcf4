(function (kept) {
  'use strict';
  const { write } = kept;
  function level(name) { return function () { write(name, arguments); }; }
  return { log: level('info'), info: level('info'), warn: level('warn'), error: level('error'), debug: level('debug') };
})
