import { messages } from '../define';

export const login = messages({
  title: 'Log in',
  key: 'API key',
  key_hint: 'It begins with pawl_. An administrator makes it with “pawl keys create” or on the page of API keys.',
  show: 'Show the key',
  hide: 'Hide the key',
  enter: 'Log in',
  empty: 'Enter a key.',
  unknown: 'This key does not open this server',
  plain_http: 'Logging in is not possible over plain http',
  too_many: 'Too many wrong keys',
  wait: 'The next try is possible in {left}.',
  done: 'Logged in as {name}, role {role}',
  stays:
    'The key is sent once and is not kept in the browser. A session lasts 12 hours without use, 7 days at most, and ends with its key.',
  no_server: 'The server cannot be asked who you are',
});
