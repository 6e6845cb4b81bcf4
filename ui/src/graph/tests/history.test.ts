import { describe, expect, it } from 'vitest';
import { copyText, paste, readCopy } from '../clipboard';
import { SchemaText } from '../document';
import { addNode, setField } from '../gestures';
import { record, redo, startHistory, undo } from '../history';
import { compareThree, mergePatches } from '../merge';

const mode = (_: string, path: (string | number)[]) => (path[0] === 'expression' ? 'expression' : 'template') as 'expression' | 'template';

function read(text: string): SchemaText {
  const reading = SchemaText.read(text);
  if (!reading.ok) throw new Error(reading.problem.message);
  return reading.document;
}

const SMALL = `# A comment on top
name: small
nodes:
  - { id: start, type: start }

  # Why it is asked twice
  - id: fetch
    type: http_request # the old API
    config:
      url: "https://a.example/{{input.id}}"
      body: { big: 9007199254740993 }

  - { id: ok, type: condition, config: { expression: 'steps.fetch.output.body == "steps.fetch"' } }
  - { id: done, type: end, config: { output: "{{steps.fetch.output}}" } }
edges:
  - { source: start, target: fetch }
  - { source: fetch, target: ok }
  - { source: ok, target: done }
`;

describe('clipboard', () => {
  it('renames what collides, with edges and expressions inside the copy', () => {
    const { definition } = read(SMALL);
    const copied = readCopy(copyText(definition, new Set(['start', 'fetch', 'ok', 'done']), { fetch: { x: 10.4, y: 20 } }));
    if (copied === null) throw new Error('no copy');
    const pasted = paste(definition, copied, mode);
    const made = read(SMALL).patched(pasted.patches).definition;
    expect(pasted.ids).toEqual(['fetch_2', 'ok_2', 'done_2']);
    expect(pasted.positions).toEqual({ fetch_2: { x: 10, y: 20 } });
    expect(made.nodes.at(-1)?.config?.output).toBe('{{steps.fetch_2.output}}');
    expect(made.edges.slice(3)).toEqual([
      { source: 'fetch_2', target: 'ok_2' },
      { source: 'ok_2', target: 'done_2' },
    ]);
  });
  it('takes other text for what it is', () => {
    for (const text of ['hello', 'a: 1', '[1, 2]', '{nodes: [{x: 1}]}', ': : :']) expect(readCopy(text)).toBeNull();
  });
  it('reads nodes of a React Flow export', () => {
    expect(
      readCopy(
        '{"nodes":[{"id":1,"type":"custom","position":{"x":1,"y":2},"data":{"type":"sleep","label":"Nap","config":{"duration":1}}}]}',
      ),
    ).toEqual({
      nodes: [{ id: '1', type: 'sleep', name: 'Nap', config: { duration: 1 } }],
      edges: [],
      positions: { 1: { x: 1, y: 2 } },
    });
  });
});

describe('history', () => {
  const at = (text: string) => ({ text, layout: null, layoutSize: 0 });
  it('joins typing in one place for 800 ms, and gestures never', () => {
    let history = startHistory(at('a'));
    history = record(history, at('ab'), 'field', 1000);
    history = record(history, at('abc'), 'field', 1700);
    history = record(history, at('abcd'), 'field', 2600);
    history = record(history, at('x'), null, 2601);
    history = record(history, at('y'), null, 2602);
    const seen: string[] = [];
    while (history.past.length > 0) {
      history = undo(history);
      seen.push(history.present.snapshot.text);
    }
    expect(seen).toEqual(['x', 'abcd', 'abc', 'a']);
    for (let count = 0; count < 4; count++) history = redo(history);
    expect(history.present.snapshot.text).toBe('y');
  });
  it('is bounded by number and by size', () => {
    let history = startHistory(at('0'));
    for (let number = 1; number < 400; number++) history = record(history, at(String(number)), null, number);
    expect(history.past.length).toBe(200);
    const large = 'x'.repeat(5_000_000);
    for (let number = 1; number < 10; number++) history = record(history, at(large + number), null, number);
    expect(history.past.length).toBeLessThanOrEqual(3);
  });
});

describe('merge', () => {
  it('takes what one side changed, asks for the rest, and keeps their comments', () => {
    const base = read(SMALL);
    const edit = (document: SchemaText, id: string, field: string, value: unknown) =>
      document.patched(setField(document.definition, id, ['config', field], value));
    const theirs = edit(edit(base, 'fetch', 'method', 'PUT'), 'ok', 'expression', 'true');
    let yours = edit(edit(base, 'done', 'success', false), 'ok', 'expression', 'false');
    yours = yours.patched(addNode(yours.definition, { node: { id: 'nap', type: 'sleep' }, from: { node: 'start', exit: 'success' } }));
    const merge = compareThree(base.definition, theirs.definition, yours.definition);
    expect(merge.filter((item) => item.kind === 'conflict').map((item) => item.key)).toEqual(['ok']);
    const result = theirs.patched(mergePatches(theirs.definition, merge, () => 'yours'));
    expect(result.text).toContain('# Why it is asked twice');
    const config = (id: string) => result.definition.nodes.find((node) => node.id === id)?.config;
    expect([config('fetch')?.method, config('ok')?.expression, config('done')?.success]).toEqual(['PUT', 'false', false]);
    expect(result.definition.edges).toContainEqual({ source: 'nap', target: 'fetch' });
  });
});
