import { describe, expect, it } from 'vitest';
import type { Json } from '../api/json';
import type { Definition } from '../api/model';
import { beginning, fieldsOf, formOf, meant, misfit, readInput, withField } from './input-form';
import { declaredFields, inputProblems, placed } from './input-schema';

describe('the fields that expressions read', () => {
  const definition = {
    name: 'x',
    nodes: [
      { id: 'a', type: 't', config: { url: '/{{input.order_id ?? 1001}}', deep: [{ v: "{{input.patience ?? '2s'}}" }] } },
      { id: 'b', type: 't', config: { e: '{{input.order_id}} + input.rest' } },
    ],
  } as Definition;
  it('come with what is taken without them', () => {
    expect(fieldsOf(definition).map(({ name, standard }) => [name, standard])).toEqual([
      ['order_id', '1001'],
      ['patience', '2s'],
      ['rest', ''],
    ]);
  });
  it('and the JSON are two views of one text', () => {
    let text = withField('', 'order_id', meant('json', '9223372036854775807'));
    text = withField(text, 'note', meant('json', '"17"'));
    text = withField(text, 'name', meant('json', 'Ada'));
    expect(readInput(text)).toEqual({ ok: true, value: { order_id: 9223372036854775807n, note: '17', name: 'Ada' } });
    expect(formOf(text, fieldsOf(definition))?.map((field) => [field.name, field.text])).toEqual([
      ['order_id', '9223372036854775807'],
      ['patience', ''],
      ['rest', ''],
      ['note', '"17"'],
      ['name', 'Ada'],
    ]);
    for (const name of ['order_id', 'note', 'name']) text = withField(text, name, undefined);
    expect(text).toBe('');
  });
  it('give way to the JSON where only that can show the input', () => {
    expect(formOf('[1]', [])).toBeNull();
    expect(formOf('{', [])).toBeNull();
    expect(readInput('{').ok).toBe(false);
  });
  it('may have any name', () => {
    expect(withField(withField('', '__proto__', 1), 'b', 2)).toBe('{\n  "__proto__": 1,\n  "b": 2\n}');
  });
});

const INPUT: Json = {
  type: 'object',
  required: ['order_id', 'lane'],
  properties: {
    order_id: { type: 'integer', title: 'Order number', description: 'As the shop wrote it' },
    lane: { enum: ['fast', 3], default: 'fast' },
    express: { type: 'boolean' },
    note: { type: 'string' },
    weight: { type: ['number', 'null'] },
    address: { type: 'object' },
    when: { $ref: '#/$defs/day~1night', title: 'Day' },
    where: { $ref: '#place' },
    ring: { $ref: '#/$defs/ring' },
    either: { type: 'string', anyOf: [{ minLength: 1 }] },
  },
  $defs: {
    'day/night': { type: 'string', title: 'x', description: 'The day' },
    anywhere: { $anchor: 'place', type: 'number' },
    ring: { $ref: '#/$defs/ring' },
  },
};

describe('the declared fields', () => {
  const fields = declaredFields(INPUT) ?? [];
  it('have a control for what a form can show, and JSON for the rest', () => {
    expect(fields.map(({ name, kind, required }) => `${name} ${kind}${required ? ' !' : ''}`)).toEqual([
      'order_id integer !',
      'lane choice !',
      'express choice',
      'note text',
      'weight json',
      'address json',
      'when text',
      'where number',
      'ring json',
      'either json',
    ]);
    expect(fields[0]).toMatchObject({ title: 'Order number', hint: 'As the shop wrote it' });
    expect(fields[6]).toMatchObject({ title: 'Day', hint: 'The day' });
    expect(beginning(fields)).toBe('{\n  "lane": "fast"\n}');
  });
  it('are not there for an input that is no object of named members', () => {
    const others: (Json | undefined)[] = [
      undefined,
      true,
      { type: 'array' },
      { type: 'object' },
      { type: ['object', 'null'], properties: {} },
    ];
    for (const input of others) expect(declaredFields(input)).toBeNull();
  });
  it('keep a text a text and say what is of the wrong kind', () => {
    const unfit = (input: object) => (formOf(JSON.stringify(input), fields) ?? []).flatMap((one) => misfit(one) ?? []);
    expect(meant('text', '1001')).toBe('1001');
    expect(formOf('{"note":"1001"}', fields)?.find((one) => one.name === 'note')?.text).toBe('1001');
    expect(unfit({ order_id: 1, lane: 3, express: false, note: 'x', where: 1.5 })).toEqual([]);
    expect(unfit({ order_id: 1.5, lane: '3', express: 'true', note: 5, where: 'far' })).toEqual([
      'whole',
      'choice',
      'choice',
      'text',
      'number',
    ]);
  });
  it('hear what the engine says about them, until they are changed', () => {
    const problems = inputProblems({
      problems: [
        { pointer: '', message: '`order_id` is missing' },
        { pointer: '/address/a~1b', message: 'no' },
        { pointer: '/address', message: '`city` is missing' },
        { pointer: '/other', message: 'must not be there' },
        { pointer: '/note', message: 'too long' },
        { wrong: 1 },
      ],
    });
    const sent = { address: {}, note: 'long' };
    const now = placed(problems, sent, formOf('{"address":{},"note":"x"}', fields) ?? []);
    expect([...now.fields]).toEqual([
      ['order_id', '`order_id` is missing'],
      ['address', '/a/b: no; `city` is missing'],
    ]);
    expect(now.rest).toEqual([{ pointer: '/other', message: 'must not be there' }]);
    expect(inputProblems(null)).toEqual([]);
  });
});
