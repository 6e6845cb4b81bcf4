/** What a form shows, made of the `config_schema` of a node type. A type without any word here works: unknown parts become YAML fields. */
import type { NodeType } from '../../../api/model';
import type { DefinedNode } from '../../../graph/model';
import type { ModeOf, TextMode } from '../../../graph/references';

export type Widget =
  | 'text'
  | 'template'
  | 'url'
  | 'expression'
  | 'enum'
  | 'boolean'
  | 'number'
  | 'duration'
  | 'map'
  | 'list'
  | 'object'
  | 'any'
  | 'javascript'
  | 'sql';

export interface FieldSpec {
  name: string;
  /** Type and path, for its words in other languages. */
  key?: string;
  title: string;
  description: string;
  widget: Widget;
  required: boolean;
  /** A text with `{{ }}` may stand instead of the value. */
  templated: boolean;
  /** A text that is a number is written as one. */
  numeric: boolean;
  choices: string[];
  default: unknown;
  minimum?: number;
  maximum?: number;
  source?: 'connections' | 'secrets' | 'schemas' | 'nodes' | 'env';
  when?: { field: string; in: unknown[] };
  fields?: FieldSpec[];
  item?: FieldSpec;
}

interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  required?: string[];
  format?: string;
  pattern?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  'x-pawl-mode'?: string;
  'x-pawl-language'?: string;
  'x-pawl-source'?: FieldSpec['source'];
  'x-pawl-when'?: FieldSpec['when'];
}

export function fieldsOf(schema: unknown): FieldSpec[] {
  const { properties = {}, required = [] } = schema as JsonSchema;
  return Object.entries(properties).map(([name, field]) => fieldOf(name, field, required.includes(name)));
}

function fieldOf(name: string, schema: JsonSchema, required: boolean): FieldSpec {
  const variants = (schema.anyOf ?? [schema]).filter((one) => one.pattern !== '\\{\\{');
  const main: JsonSchema = variants.length === 1 ? (variants[0] as JsonSchema) : mainOf(variants);
  const mode = schema['x-pawl-mode'] ?? main['x-pawl-mode'] ?? 'raw';
  const types = variants.flatMap((one) => one.type ?? []);
  const widget = widgetOf(schema, main, mode, variants);
  const structured = ['object', 'list', 'map', 'boolean', 'number', 'enum', 'duration'].includes(widget);
  return {
    name,
    title: schema.title || words(name),
    description: schema.description ?? '',
    widget,
    required,
    templated: structured && mode.endsWith('template'),
    numeric: types.includes('number') || types.includes('integer'),
    choices: (main.enum ?? []).map(String),
    default: schema.default,
    minimum: main.minimum,
    maximum: main.maximum,
    source: schema['x-pawl-source'],
    when: schema['x-pawl-when'],
    fields: widget === 'object' ? fieldsOf(main) : undefined,
    item: itemOf(widget, main, mode),
  };
}

/** Of several forms the first that says most; a text and an object (SQL for two dialects) is edited as the text. */
function mainOf(variants: JsonSchema[]): JsonSchema {
  return variants.find((one) => one.type === 'string') ?? variants[0] ?? {};
}

function itemOf(widget: Widget, main: JsonSchema, mode: string): FieldSpec | undefined {
  const inner =
    widget === 'list'
      ? main.items
      : widget === 'map' && typeof main.additionalProperties === 'object'
        ? main.additionalProperties
        : undefined;
  if (widget !== 'list' && widget !== 'map') return undefined;
  return fieldOf('', { 'x-pawl-mode': mode, ...(inner ?? {}) }, false);
}

const LANGUAGES: Record<string, Widget> = {
  javascript: 'javascript',
  sql: 'sql',
  duration: 'duration',
  url: 'url',
  expression: 'expression',
  template: 'template',
  text: 'text',
};
const MODES: Record<string, Widget> = {
  raw: 'text',
  url: 'url',
  template: 'template',
  latetemplate: 'template',
  expression: 'expression',
  lateexpression: 'expression',
};

function widgetOf(schema: JsonSchema, main: JsonSchema, mode: string, variants: JsonSchema[]): Widget {
  const language = LANGUAGES[schema['x-pawl-language'] ?? ''];
  if (main.enum !== undefined) return 'enum';
  if (main.format === 'duration') return 'duration';
  if (language !== undefined && (main.type === undefined || main.type === 'string' || language === 'duration')) return language;
  if (mode.endsWith('expression')) return 'expression';
  const type = Array.isArray(main.type) ? main.type[0] : main.type;
  if (type === 'boolean') return 'boolean';
  if (type === 'integer' || (type === 'number' && variants.length === 1)) return 'number';
  if (type === 'array') return 'list';
  if (type === 'object') return main.properties ? 'object' : 'map';
  if (type === 'string' || type === 'number') return MODES[mode] ?? 'text';
  return 'any';
}

const words = (name: string) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ');

/** Where the fields of a type say nothing of their language yet. */
const OVERRIDES: Record<string, Record<string, Widget>> = { code: { source: 'javascript' }, sql: { 'statements.sql': 'sql' } };

export function formOf(type: NodeType): FieldSpec[] {
  const fields = fieldsOf(type.config_schema);
  const overrides = OVERRIDES[type.type] ?? {};
  const put = (list: FieldSpec[], at: string): FieldSpec[] =>
    list.map((field) => {
      const path = at === '' ? field.name : `${at}.${field.name}`;
      const inner = {
        ...(field.item?.fields && { item: { ...field.item, fields: put(field.item.fields, path) } }),
        ...(field.fields && { fields: put(field.fields, path) }),
      };
      const key = `${type.type}_${path.replaceAll('.', '_')}`;
      return { ...field, ...inner, key, widget: overrides[path] ?? field.widget };
    });
  return put(fields, '');
}

/** Whether a field has a meaning with what the others say. */
export function isShown(field: FieldSpec, fields: FieldSpec[], config: Record<string, unknown>): boolean {
  const { when } = field;
  if (when === undefined || config[field.name] !== undefined) return true;
  const value = config[when.field] ?? fields.find((one) => one.name === when.field)?.default;
  return when.in.includes(value);
}

/** The mode of the text at a path of the config of a type. */
export function modesOf(types: Map<string, NodeType>): ModeOf {
  const forms = new Map<string, FieldSpec[]>();
  return (type, path) => {
    const found = types.get(type);
    if (found === undefined) return 'template';
    let form = forms.get(type);
    if (form === undefined) {
      form = formOf(found);
      forms.set(type, form);
    }
    return modeAt(form, path);
  };
}

function modeAt(fields: FieldSpec[], path: (string | number)[]): TextMode | null {
  let field: FieldSpec | undefined;
  let list: FieldSpec[] | undefined = fields;
  for (const key of path) {
    if (typeof key === 'number' || list === undefined) field = field?.item ?? field;
    else field = list.find((one) => one.name === key) ?? field;
    list = field?.fields;
  }
  if (field === undefined) return 'template';
  if (field.widget === 'expression') return 'expression';
  if (field.widget === 'javascript') return 'javascript';
  return field.widget === 'text' || field.widget === 'sql' ? null : 'template';
}

const NO_EXITS = new Set(['end']);

/** The exits by which a node can be left, in the order of drawing; `error` where effects can fail, or where an edge uses it. */
export function exitsOf(type: NodeType | undefined, node: DefinedNode, withError: boolean): string[] {
  if (type === undefined) return withError ? ['success', 'error'] : ['success'];
  if (NO_EXITS.has(type.type)) return [];
  if (type.type === 'fail') return ['error'];
  const exits = [...namedExits(type, node), ...type.handles.filter((exit) => exit !== 'error')];
  const canFail = !type.pure || withError;
  return [...new Set(canFail && type.type !== 'start' ? [...exits, 'error'] : exits)];
}

/** `/cases/*​/name`: each text it finds in the config is an exit. */
function namedExits(type: NodeType, node: DefinedNode): string[] {
  const pattern = type.exits_from ?? (type.type === 'switch' ? '/cases/*/name' : undefined);
  if (pattern === undefined) return [];
  let values: unknown[] = [node.config ?? {}];
  for (const part of pattern.split('/').slice(1)) {
    values = values.flatMap((value) => {
      if (part === '*') return Array.isArray(value) ? value : [];
      const inner = value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[part] : undefined;
      return inner === undefined ? [] : [inner];
    });
  }
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

/** A new node of a type, with what its fields need to be read at all. */
export function freshConfig(type: NodeType): Record<string, unknown> | undefined {
  const config: Record<string, unknown> = { ...USUAL[type.type] };
  for (const field of formOf(type)) {
    if (!field.required) continue;
    if (field.widget === 'enum') config[field.name] = field.choices[0];
    else if (field.widget === 'list') config[field.name] = [freshItem(field)];
    else if (field.widget === 'map' || field.widget === 'object') config[field.name] = {};
    else config[field.name] = FRESH[`${type.type}.${field.name}`] ?? '';
  }
  return Object.keys(config).length > 0 ? config : undefined;
}

function freshItem(field: FieldSpec): unknown {
  const inner = field.item?.fields;
  if (inner === undefined) return '';
  return Object.fromEntries(inner.filter((one) => one.required).map((one) => [one.name, one.name === 'name' ? 'case_1' : '']));
}

/** Optional fields without which a node says nothing. */
const USUAL: Record<string, Record<string, unknown>> = { sleep: { duration: '1m' } };

/** What is better than an empty text. */
const FRESH: Record<string, string> = {
  'condition.expression': 'true',
  'http_request.url': 'https://',
  'code.source': 'return { ok: true };',
  'wait_event.name': 'approved',
  'variable_set.variable': 'value',
  'fail.code': 'FAILED',
};
