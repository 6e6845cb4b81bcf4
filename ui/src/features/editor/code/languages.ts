import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';

export const jsonLanguage = [json()];
export const yamlLanguage = [yaml()];
