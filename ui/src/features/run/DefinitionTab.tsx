import type { Json } from '../../api/json';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Value } from '../../ui/Value';
import { useFile, useRun, useRunSearch, useSeq } from './context';
import css from './Inspector.module.css';

/** The node as it was written, in the version of this run. */
export function DefinitionTab() {
  const t = useT();
  const { run, graph, scrub, definition, breakpoints, toggleBreakpoint } = useRun();
  const [search] = useRunSearch();
  const file = useFile();
  const seq = useSeq();
  const index = graph.byId.get(search.node) ?? scrub.nodeOf(seq);
  const node = graph.nodes[index] ?? graph.nodes.find((one) => one.id === run.current_node_id);
  if (node === undefined) return <p className={css.quiet}>{t('run.select_node_first')}</p>;
  const { config, ...rest } = node.definition;
  const leaving = (definition.edges ?? []).filter((edge) => edge.source === node.id);
  return (
    <div className={css.step}>
      <div className={css.facts}>
        <b>{node.title}</b>
        <span>{node.type}</span>
        <Link href={`/schemas/${encodeURIComponent(run.schema)}/edit?node=${encodeURIComponent(node.id)}&from=${run.version}`}>
          {t('run.open_in_editor', { n: run.version })}
        </Link>
        <Button size="small" onClick={() => toggleBreakpoint(node.id)}>
          {t(breakpoints.has(node.id) ? 'run.remove_breakpoint' : 'run.set_breakpoint')}
        </Button>
      </div>
      <Value name={t('run.config')} value={(config ?? null) as Json} file={[...file, node.id]} />
      <Value name={t('run.node')} value={rest as unknown as Json} file={[...file, node.id]} />
      {leaving.length > 0 && (
        <section>
          <h3 className={css.section}>{t('run.exits')}</h3>
          <ul className={css.exits}>
            {leaving.map((edge) => (
              <li key={`${edge.sourceHandle}${edge.target}`}>
                <code>{edge.sourceHandle ?? '·'}</code> → {edge.target}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
