import { act, useState } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition } from '../api/model';
import { InputForm } from './InputForm';

const schema = (name: string, standard: string) =>
  ({
    nodes: [],
    edges: [],
    input: { type: 'object', properties: { [name]: { type: 'string', default: standard } } },
  }) as unknown as Definition;
const A = schema('city', 'Riga');
const B = schema('street', 'Main');

let root: Root;
let text = '';
let choose: (definition: Definition | undefined) => void;
let type: (value: string) => void;

function Start() {
  const [value, setValue] = useState('');
  const [definition, setDefinition] = useState<Definition | undefined>(A);
  text = value;
  choose = setDefinition;
  type = setValue;
  return <InputForm value={value} onChange={setValue} definition={definition} />;
}

describe('the defaults of an input', () => {
  beforeEach(() => {
    (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
    root = createRoot(document.body.appendChild(document.createElement('div')));
    act(() => root.render(<Start />));
  });
  afterEach(() => act(() => root.unmount()));

  it('are those of the schema that is chosen, also after another one', () => {
    expect(JSON.parse(text)).toEqual({ city: 'Riga' });
    act(() => choose(undefined));
    expect(text).toBe('');
    act(() => choose(B));
    expect(JSON.parse(text)).toEqual({ street: 'Main' });
    act(() => choose({ nodes: [], edges: [] } as unknown as Definition));
    expect(text).toBe('');
  });
  it('do not touch what was typed', () => {
    act(() => type('{"city": "Tartu"}'));
    act(() => choose(undefined));
    act(() => choose(B));
    expect(text).toBe('{"city": "Tartu"}');
  });
  it('leave an emptied form empty', () => {
    act(() => type(''));
    act(() => choose({ ...A }));
    expect(text).toBe('');
  });
});
