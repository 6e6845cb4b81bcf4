/** One line about what a node does, from its config, as written. */

type Config = { readonly [field: string]: unknown };
type Summary = (config: Config) => string;

const SIGNS: Record<string, string> = {
  add: '+',
  subtract: '−',
  multiply: '×',
  divide: '÷',
  modulo: 'mod',
  power: '^',
  min: 'min',
  max: 'max',
};

const SUMMARIES: Record<string, Summary> = {
  condition: (c) => bare(c.expression),
  switch: (c) => bare(c.value),
  http_request: (c) => `${text(c.method) || 'GET'} ${pathOf(text(c.url))}`,
  log: (c) => text(c.message),
  fail: (c) => text(c.code),
  math: (c) => `${bare(c.operand1)} ${SIGNS[text(c.operation)] ?? text(c.operation)} ${bare(c.operand2)}`,
  variable_set: (c) => `${text(c.variable)} = ${bare(c.value)}`,
  transform: (c) => keys(c.set) || keys(c.output),
  sleep: (c) => (c.until === undefined ? `${bare(c.duration)}${c.unit === undefined ? '' : ` ${text(c.unit)}`}` : bare(c.until)),
  wait_event: (c) => text(c.name),
  end: (c) => (c.success === false ? text(c.message) || '✕' : keys(c.output)),
  respond: (c) => text(c.status) || '200',
  rabbitmq_publish: (c) => text(c.queue) || [text(c.exchange), text(c.routing_key)].filter(Boolean).join(' / '),
  sql: (c) => text(c.connection),
  code: (c) => firstLine(text(c.source)),
};

export function summaryOf(node: { type: string; id: string; name?: string | null; config?: Config | null }): string {
  const summary = Object.hasOwn(SUMMARIES, node.type) ? (SUMMARIES[node.type] as Summary) : undefined;
  return (summary?.(node.config ?? {}) || node.type).slice(0, 120);
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one));
  return String(value);
}

/** `{{ path }}` alone reads better without its braces. */
function bare(value: unknown): string {
  return text(value).replace(/\{\{\s*([^{}]*?)\s*\}\}/g, '$1');
}

function keys(value: unknown): string {
  if (typeof value !== 'object' || value === null) return bare(value);
  return Object.keys(value).join(', ');
}

function pathOf(url: string): string {
  return bare(url.replace(/^https?:\/\/[^/{]+/, '').replace(/^\{\{\s*(env|secrets)\.\w+\s*\}\}/, '')) || '/';
}

function firstLine(source: string): string {
  return (
    source
      .split('\n')
      .find((line) => line.trim() !== '' && !line.trim().startsWith('//'))
      ?.trim() ?? ''
  );
}
