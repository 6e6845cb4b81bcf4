import { describe, expect, it } from 'vitest';
import type { NodeType } from '../../../api/model';
import { type FieldSpec, formOf } from './fields';

const text = { type: 'string' };
const keysOf = (fields: FieldSpec[]): (string | undefined)[] =>
  fields.flatMap(({ key, fields: inner, item }) => [key, ...keysOf(inner ?? []), ...keysOf(item?.fields ?? [])]);

describe('the fields of a form', () => {
  it('have keys for their words in other languages, also within an object and within a list', () => {
    const auth = { type: 'object', properties: { type: { enum: ['basic'] }, token: text } };
    const cases = { type: 'array', items: { type: 'object', properties: { name: text } } };
    const type = { type: 'x', config_schema: { properties: { url: text, auth, cases } } } as unknown as NodeType;
    expect(keysOf(formOf(type))).toEqual(['x_url', 'x_auth', 'x_auth_type', 'x_auth_token', 'x_cases', 'x_cases_name']);
  });
});
