import { useEffect, useMemo, useState } from 'react';
import { Canvas } from '../../canvas/Canvas';
import { Looks, PLAIN_EDGE, PLAIN_NODE } from '../../canvas/looks';
import { useLayout } from '../../canvas/useLayout';
import { compareDefinitions, type DefinitionDifference, type FieldChange, isSame } from '../../graph/difference';
import { type SchemaDefinition, writeValue } from '../../graph/document';
import { buildGraph } from '../../graph/model';
import { useT } from '../../messages';
import { cx } from '../../ui/cx';
import css from './Versions.module.css';

const SIGNS = { added: '+', removed: '−', changed: '~' };

/** Both versions on one canvas: what is gone stands beside what is there. Cards that only moved are no change. */
export function Picture({ before, after, sameText }: { before: SchemaDefinition; after: SchemaDefinition; sameText: boolean }) {
  const t = useT();
  const difference = useMemo(() => compareDefinitions(before, after), [before, after]);
  const graph = useMemo(() => buildGraph(union(before, after, difference)), [before, after, difference]);
  const layout = useLayout(graph);
  const looks = useMemo(() => looksOf(graph), [graph]);
  const [chosen, setChosen] = useState<string | null>(null);
  const kinds = useMemo(() => new Map(difference.nodes.map((change) => [change.id, change.kind])), [difference]);
  useEffect(() => {
    for (const node of graph.nodes) {
      const kind = kinds.get(node.id);
      const side = kind === 'removed' ? 'left' : kind === undefined ? null : 'right';
      looks.setNode(node.index, { ...PLAIN_NODE, side, badge: kind === undefined ? '' : SIGNS[kind], faint: kind === undefined });
    }
    const gone = new Set(difference.edges.filter((change) => change.kind !== 'added').map((change) => keyOf(change.before)));
    const made = new Set(difference.edges.filter((change) => change.kind !== 'removed').map((change) => keyOf(change.after)));
    for (const edge of graph.edges) {
      const key = `${graph.nodes[edge.source]?.id} ${graph.nodes[edge.target]?.id}`;
      looks.setEdge(edge.index, {
        ...PLAIN_EDGE,
        side: made.has(key) ? 'right' : gone.has(key) ? 'left' : null,
        count: made.has(key) || gone.has(key) ? 1 : 0,
      });
    }
  }, [graph, looks, kinds, difference]);
  if (isSame(difference)) return <p className={css.none}>{t(sameText ? 'versions.same' : 'versions.same_meaning')}</p>;
  return (
    <div className={css.picture}>
      <div className={css.canvas}>
        {layout && (
          <Canvas graph={graph} layout={layout} looks={looks} label={t('versions.title')} selected={chosen} onSelect={setChosen} />
        )}
      </div>
      <Changes difference={difference} chosen={chosen} onChoose={setChosen} />
    </div>
  );
}

const keyOf = (edge: { source: string; target: string } | undefined) => (edge === undefined ? '' : `${edge.source} ${edge.target}`);

/** The later version, and what it lost. */
function union(before: SchemaDefinition, after: SchemaDefinition, difference: DefinitionDifference): SchemaDefinition {
  const removed = new Set(difference.nodes.filter((change) => change.kind === 'removed').map((change) => change.id));
  const lost = difference.edges.flatMap((change) => (change.kind !== 'added' && change.before ? [change.before] : []));
  return { ...after, nodes: [...after.nodes, ...before.nodes.filter((node) => removed.has(node.id))], edges: [...after.edges, ...lost] };
}

function Changes({
  difference,
  chosen,
  onChoose,
}: {
  difference: DefinitionDifference;
  chosen: string | null;
  onChoose: (id: string) => void;
}) {
  const t = useT();
  return (
    <aside className={css.list} aria-label={t('versions.changes')}>
      <h2>{t('versions.changes')}</h2>
      {difference.top.map((change) => (
        <Field key={change.path} change={change} />
      ))}
      {difference.nodes.map((change) => (
        <section key={change.id} className={cx(css.node, change.id === chosen && css.chosen)}>
          <button type="button" onClick={() => onChoose(change.id)}>
            <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
            <code>{change.id}</code>
            <small>{t(`common.${change.kind}`)}</small>
          </button>
          {change.fields.map((field) => (
            <Field key={field.path} change={field} />
          ))}
        </section>
      ))}
      {difference.edges.map((change) => {
        const edge = change.after ?? change.before;
        return (
          <p key={change.key} className={css.edge}>
            <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
            <code>
              {edge?.source}
              {edge?.sourceHandle ? ` · ${edge.sourceHandle}` : ''} → {edge?.target}
            </code>
          </p>
        );
      })}
    </aside>
  );
}

function Field({ change }: { change: FieldChange }) {
  return (
    <div className={css.field}>
      <code>{change.path}</code>
      {change.before !== undefined && <pre className={css.old}>{writeValue(change.before)}</pre>}
      {change.after !== undefined && <pre className={css.fresh}>{writeValue(change.after)}</pre>}
    </div>
  );
}

/** Another graph, other looks: they go by place. */
function looksOf(_graph: ReturnType<typeof buildGraph>): Looks {
  return new Looks();
}
