import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compareDefinitions, isSame } from '../difference';
import { type Patch, readValue, type SchemaDefinition, SchemaText, writeDefinition, writeValue } from '../document';
import { addNode, connect, deleteNodes, freeId, renameNode, setField } from '../gestures';
import { rewriteSteps, stepPath } from '../references';

const EXAMPLES = '../examples/';
const examples = readdirSync(EXAMPLES).filter((file) => file.endsWith('.yaml'));
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

describe('text', () => {
  it.each(examples)('%s: every part set to itself is the same definition, with its comments', (file) => {
    const text = readFileSync(EXAMPLES + file, 'utf8');
    const document = read(text);
    const { definition } = document;
    const patches: Patch[] = definition.nodes.map((node, at) => ({ op: 'set', path: ['nodes', at], value: node }));
    patches.push({ op: 'set', path: ['description'], value: 'changed' });
    const after = document.patched(patches);
    expect(after.definition).toEqual({ ...definition, description: 'changed' });
    const comments = (from: string) =>
      from
        .split('\n')
        .filter((line) => line.trimStart().startsWith('#'))
        .map((line) => line.trim());
    expect(comments(after.text)).toEqual(comments(text));
  });

  it.each(examples)('%s: taken apart and built again by patches, it parses to the same definition', (file) => {
    const { definition } = read(readFileSync(EXAMPLES + file, 'utf8'));
    let built = SchemaText.of({ name: definition.name, nodes: [] });
    for (const [key, value] of Object.entries(definition)) {
      if (key !== 'nodes' && key !== 'edges') built = built.patched([{ op: 'set', path: [key], value }]);
    }
    for (const node of definition.nodes) built = built.patched(addNode(built.definition, { node }));
    for (const edge of definition.edges) built = built.patched([{ op: 'insert', path: ['edges'], value: edge }]);
    expect(isSame(compareDefinitions(definition, built.definition))).toBe(true);
    expect(read(built.text).definition).toEqual(built.definition);
  });

  it('keeps comments, large integers and untouched lines', () => {
    const document = read(SMALL);
    const after = document.patched(setField(document.definition, 'fetch', ['config', 'method'], 'POST'));
    expect(after.text).toContain('# Why it is asked twice');
    expect(after.text).toContain('# the old API');
    expect(after.text).toContain('9007199254740993');
    const changed = after.text.split('\n').filter((line) => !SMALL.includes(line));
    expect(changed).toEqual(['      method: POST']);
  });

  it('removes an object with its last field', () => {
    const document = read(SMALL);
    const after = document.patched(setField(document.definition, 'done', ['config', 'output'], undefined));
    expect(after.definition.nodes[3]).toEqual({ id: 'done', type: 'end' });
  });

  it('says where a broken text is broken', () => {
    const reading = SchemaText.read('name: a\nnodes: [\n  { id: b');
    expect(reading.ok).toBe(false);
    if (!reading.ok) expect(reading.problem.line).toBeGreaterThan(1);
  });

  it('leaves the anchor alone when its alias is changed', () => {
    const document = read(
      'name: a\nnodes:\n  - { id: s, type: start }\n  - { id: x, type: log, config: &c { message: one } }\n  - { id: y, type: log, config: *c }\n',
    );
    const after = document.patched(setField(document.definition, 'y', ['config', 'message'], 'two'));
    expect(after.definition.nodes.map((node) => node.config?.message)).toEqual([undefined, 'one', 'two']);
  });

  it('stays JSON', () => {
    const document = read('{"name": "j", "nodes": [{"id": "s", "type": "start", "config": {"n": 9223372036854775807}}]}');
    const after = document.patched([{ op: 'set', path: ['description'], value: 'x' }]);
    expect(after.text).toContain('9223372036854775807');
    expect(JSON.parse(after.text)).toMatchObject({ name: 'j', description: 'x' });
  });

  it('writes and reads any value', () => {
    for (const value of [
      null,
      true,
      1,
      -0.5,
      'a: b',
      'yes',
      '12',
      '{{x}}',
      'two\nlines\n',
      [1, [2]],
      { a: { b: [] }, 'c d': null },
      9007199254740993n,
    ]) {
      expect(readValue(writeValue(value))).toEqual({ ok: true, value });
    }
  });
});

describe('random patches', () => {
  it('the written text always parses to what the patches say', () => {
    let seed = 7;
    const next = (most: number) => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff;
      return seed % most;
    };
    const values = [
      1,
      'plain',
      '{{steps.a.output}}',
      'a: b # no comment',
      'x\ny',
      null,
      true,
      { a: 1, b: { c: [1, 2] } },
      [{ k: 'v' }],
      '',
      "it's",
      '- x',
      {},
    ];
    let document = read(SMALL);
    for (let round = 0; round < 300; round++) {
      const at = next(document.definition.nodes.length);
      const node = document.definition.nodes[at] as { id: string };
      const value = values[next(values.length)];
      const path = ['config', ['p', 'q', 'r'][next(3)] as string];
      document = document.patched(setField(document.definition, node.id, path, value));
      expect(read(document.text).definition).toEqual(document.definition);
      const written = document.definition.nodes[at]?.config?.[path[1] as string];
      expect(written).toEqual(value);
    }
    expect(document.text).toContain('# Why it is asked twice');
  });
});

describe('gestures', () => {
  const { definition } = read(SMALL);
  const patched = (patches: Patch[]) => read(SMALL).patched(patches).definition;

  it('a second edge from one exit replaces the first', () => {
    const made = patched(connect(definition, { node: 'ok', exit: 'true' }, 'fetch'));
    expect(made.edges.filter((edge) => edge.source === 'ok')).toEqual([{ source: 'ok', target: 'fetch' }]);
  });

  it('inserts on an edge', () => {
    const made = patched(addNode(definition, { node: { id: 'wait', type: 'sleep' }, from: { node: 'fetch', exit: 'success' } }));
    expect(made.edges).toContainEqual({ source: 'fetch', target: 'wait' });
    expect(made.edges).toContainEqual({ source: 'wait', target: 'ok' });
    expect(made.nodes.map((node) => node.id)).toEqual(['start', 'fetch', 'wait', 'ok', 'done']);
  });

  it('adds before a node', () => {
    const made = patched(addNode(definition, { node: { id: 'wait', type: 'sleep' }, before: 'fetch' }));
    expect(made.edges).toContainEqual({ source: 'start', target: 'wait' });
    expect(made.edges).toContainEqual({ source: 'wait', target: 'fetch' });
  });

  it('deletes, and reconnects across what is deleted', () => {
    expect(patched(deleteNodes(definition, new Set(['fetch', 'ok']), true)).edges).toEqual([{ source: 'start', target: 'done' }]);
    expect(patched(deleteNodes(definition, new Set(['fetch', 'ok']), false)).edges).toEqual([]);
  });

  it('renames in edges and expressions, not inside strings', () => {
    const { patches, references, edges } = renameNode(definition, 'fetch', 'get order', mode);
    expect([references, edges]).toEqual([2, 2]);
    const made = patched(patches);
    expect(made.nodes[2]?.config?.expression).toBe('steps["get order"].output.body == "steps.fetch"');
    expect(made.nodes[3]?.config?.output).toBe('{{steps["get order"].output}}');
    expect(made.edges[0]).toEqual({ source: 'start', target: 'get order' });
  });

  it('finds free ids', () => {
    expect(freeId('a', new Set(['a', 'a_2']))).toBe('a_3');
    expect(freeId('1 b', new Set())).toBe('_1_b');
  });
});

describe('references', () => {
  const renames = new Map([['a', 'b']]);
  it.each([
    ['{{steps.a.x}} steps.a', '{{steps.b.x}} steps.a'],
    ['{{ {k: steps.a} }} {{mysteps.a}} {{steps.ab}}', '{{ {k: steps.b} }} {{mysteps.a}} {{steps.ab}}'],
    [`{{steps["a"].x + 'steps.a'}}`, `{{steps.b.x + 'steps.a'}}`],
    ['{{steps?.a}}', '{{steps?.b}}'],
    ["{{'}}'}}{{steps.a}}", "{{'}}'}}{{steps.b}}"],
  ])('%s', (from, to) => {
    expect(rewriteSteps(from, renames, 'template').text).toBe(to);
  });
  it('also in JavaScript', () => {
    expect(rewriteSteps(`return $('a').item.json.n + steps.a.output`, renames, 'javascript')).toEqual({
      text: `return $("b").item.json.n + steps.b.output`,
      count: 2,
    });
  });
  it('writes names that are no words in brackets', () => expect(stepPath('x-y')).toBe('steps["x-y"]'));
});

it('a definition without text gets a readable one', () => {
  const definition: Partial<SchemaDefinition> = {
    name: 'x',
    nodes: [
      { id: 's', type: 'start' },
      { id: 'l', type: 'log', config: { message: '{{input.a}}' } },
    ],
    edges: [{ source: 's', target: 'l' }],
  };
  expect(writeDefinition(definition)).toBe(`name: x

nodes:
  - { id: s, type: start }

  - id: l
    type: log
    config:
      message: "{{input.a}}"

edges:
  - { source: s, target: l }
`);
});
