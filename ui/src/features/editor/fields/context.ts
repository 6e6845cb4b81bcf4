import { createContext, useContext } from 'react';
import type { CodeHandle } from '../code/CodeField';
import type { Diagnostic } from '../model/wire';

export interface FormTools {
  /** Names one place that is typed in, for the history. */
  owner: string;
  readOnly: boolean;
  /** By pointer below the config, like `/url`. */
  problems: Map<string, Diagnostic[]>;
  /** The field that had the focus last: a value of *Last data* goes there. */
  remember: (handle: CodeHandle | null, mode: 'template' | 'url' | 'expression') => void;
  act: (diagnostic: Diagnostic) => (() => void) | null;
}

export const FormContext = createContext<FormTools>({
  owner: '',
  readOnly: true,
  problems: new Map(),
  remember: () => undefined,
  act: () => null,
});
export const useForm = () => useContext(FormContext);

export interface WidgetProps {
  spec: import('../model/fields').FieldSpec;
  value: unknown;
  onChange: (value: unknown) => void;
  path: (string | number)[];
  /** Ids that tie the control to its label and texts. */
  id: string;
  label: string;
  describedBy?: string;
  invalid: boolean;
}
