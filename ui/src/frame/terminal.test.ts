import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { queryClient } from '../api/queries';
import { curl, pawl, quoted } from './terminal';

/** What a program would be given: the shell itself reads the line. */
function argumentsOf(line: string): string[] {
  const [, ...rest] = execFileSync('sh', ['-c', `show() { for one; do printf '%s\\0' "$one"; done; }; show ${line}`])
    .toString()
    .split('\0')
    .slice(0, -1);
  return rest;
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell would read it
const HOSTILE = [
  '',
  "o'clock",
  "'; rm -rf ~; '",
  '$(reboot) `reboot` $HOME ${IFS} \\ " !! *?[a] ~ # & | < >',
  'two\nlines\n',
  '\u0003\r\u001b[201~reboot\r',
  "\ttab'\u0007'",
  'Ω\u0085\u009b 🙂 \u202eabc',
  '=ls',
  '-rf',
  '--again',
  '-',
];

describe('a line for the terminal', () => {
  it('hides nothing from who reads it', () => {
    for (const mark of ['\u200b', '\u200f', '\u202e', '\u2066', '\u2069']) {
      const line = quoted(`a${mark}b`);
      expect(line).not.toContain(mark);
      expect(argumentsOf(`pawl ${line}`)).toEqual([`a${mark}b`]);
    }
  });
  afterEach(() => queryClient.clear());

  it.each(HOSTILE)('gives a program exactly this: %j', (text) => {
    expect(argumentsOf(`pawl ${quoted(text)}`)).toEqual([text]);
    if (text !== '')
      expect(
        argumentsOf(pawl('x', [], { text, many: [text, text] }))
          .slice(1, -2)
          .join('\n'),
      ).toContain(text);
    expect(argumentsOf(curl('POST', '/api/x', { body: { text } })).at(-1)).toBe(JSON.stringify({ text }));
  });
  it.each(HOSTILE)('has no control character that the terminal would act on: %j', (text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
    expect(quoted(text)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
  it('leaves out a NUL, which no program can be given', () => {
    expect(quoted('a\0b c')).toBe("'ab c'");
    expect(quoted('\0')).toBe("''");
  });
  it('keeps words that look like options from being options', () => {
    expect(pawl('executions start', ['-x'], { tenant: '-y', debug: true })).toBe(
      `pawl executions start --tenant=-y --debug --url ${window.location.origin} -- -x`,
    );
  });
  it('leaves out what is not set, and names the server unless it is the standard one', () => {
    expect(pawl('quota set', ['schema:a', 5], { rate: '', again: false, x: null, y: undefined, z: [] })).toBe(
      `pawl quota set schema:a 5 --url ${window.location.origin}`,
    );
  });
  it('says the method only where curl would take another, and keeps its brackets from being ranges', () => {
    const at = window.location.origin;
    expect(curl('GET', '/api/x', { query: { a: '1 2' } })).toBe(`curl -s '${at}/api/x?a=1+2'`);
    expect(curl('POST', '/api/x')).toBe(`curl -s -X POST ${at}/api/x`);
    expect(curl('PUT', '/api/x', { body: {} })).toBe(`curl -s -X PUT ${at}/api/x -H 'content-type: application/json' --data-raw '{}'`);
    expect(curl('GET', '/api/[x]')).toBe(`curl -sg '${at}/api/[x]'`);
  });
  it('sends the key of the shell where one is needed, and never has a key in it', () => {
    queryClient.setQueryData(['me'], { login: 'session' });
    expect(curl('POST', '/api/x')).toContain(' -H "authorization: Bearer $PAWL_KEY"');
    queryClient.setQueryData(['me'], { login: 'none' });
    expect(curl('POST', '/api/x')).not.toContain('authorization');
  });
});
