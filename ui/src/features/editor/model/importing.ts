/** A text from elsewhere: YAML or JSON of Pawl stays as it is, a React Flow export becomes YAML. */
import { readCopy } from '../../../graph/clipboard';
import { SchemaText } from '../../../graph/document';
import type { Point } from './wire';

export type Imported = { ok: true; text: string; positions: Record<string, Point>; nodes: number } | { ok: false; message: string };

/** A stored schema keeps its name, whatever the text says. */
export function importText(text: string, name: string | null): Imported {
  const reading = SchemaText.read(text);
  if (!reading.ok) return { ok: false, message: `${reading.problem.line}:${reading.problem.column} ${reading.problem.message}` };
  const { definition } = reading.document;
  const copy = readCopy(text);
  if (copy === null) return { ok: false, message: 'nodes' };
  const isFlow = (definition.nodes as unknown as { data?: unknown }[]).some((node) => node.data !== undefined);
  const document = isFlow
    ? SchemaText.of({ ...definition, name: name ?? (definition.name || 'imported'), nodes: copy.nodes, edges: copy.edges })
    : reading.document;
  const named =
    name !== null && document.definition.name !== name ? document.patched([{ op: 'set', path: ['name'], value: name }]) : document;
  return { ok: true, text: named.text, positions: copy.positions, nodes: copy.nodes.length };
}
