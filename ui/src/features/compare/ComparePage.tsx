import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { asApiError } from '../../api/error';
import { queries } from '../../api/queries';
import { Canvas } from '../../canvas/Canvas';
import { Looks } from '../../canvas/looks';
import { useLayout } from '../../canvas/useLayout';
import { Link, useParam, useSearch } from '../../frame/navigate';
import { buildGraph, type Graph } from '../../graph/model';
import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Id } from '../../ui/Id';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type Comparison, compareQueries } from './api';
import css from './Compare.module.css';
import { Heads } from './Heads';
import { Pairs } from './Pairs';
import { PairView } from './PairView';
import { Partner } from './Partner';
import { paintBoth } from './paint';
import { compareSearch } from './search';

/** Two runs over one picture: where they part, and what differs in each step. */
export default function ComparePage() {
  const t = useT();
  const id = useParam('id');
  const [search] = useSearch(compareSearch);
  const run = useQuery(queries.run(id));
  const comparison = useQuery(compareQueries.outline(id, search.with));
  const failure = comparison.error === null ? null : asApiError(comparison.error);
  return (
    <Page
      title={t('compare.title')}
      documentTitle={t('compare.title')}
      crumbs={
        <>
          <Link href="/runs">{t('frame.nav_runs')}</Link>
          <Link href={`/runs/${id}`}>
            {run.data?.schema} <Id id={id} />
          </Link>
        </>
      }
      actions={<Partner run={run.data} chosen={search.with || (comparison.data?.right.id ?? '')} />}
    >
      {comparison.data !== undefined ? (
        <Both comparison={comparison.data} />
      ) : failure === null ? (
        <Skeleton rows={10} />
      ) : failure.status === 404 && search.with === '' && run.data !== undefined ? (
        <Empty title={t('compare.no_partner')}>{t('compare.no_partner_hint')}</Empty>
      ) : (
        <div className={css.problem}>
          <Problem error={failure} onRetry={() => void comparison.refetch()} />
        </div>
      )}
    </Page>
  );
}

function Both({ comparison }: { comparison: Comparison }) {
  const definition = useQuery(compareQueries.definition(comparison.left.id));
  const graph = useMemo(() => (definition.data === undefined ? null : buildGraph(definition.data.definition)), [definition.data]);
  return (
    <div className={css.screen}>
      <Heads comparison={comparison} />
      <div className={css.middle}>
        <div className={css.canvas}>{graph !== null && <Picture graph={graph} comparison={comparison} />}</div>
        <aside className={css.inspector}>
          <PairView comparison={comparison} />
        </aside>
      </div>
      <div className={css.pairs}>
        <Pairs comparison={comparison} />
      </div>
    </div>
  );
}

function Picture({ graph, comparison }: { graph: Graph; comparison: Comparison }) {
  const t = useT();
  const [search, set] = useSearch(compareSearch);
  const layout = useLayout(graph);
  const looks = useMemo(() => {
    const made = new Looks();
    paintBoth(made, graph, comparison, { left: t('compare.left_letter'), right: t('compare.right_letter') });
    return made;
  }, [graph, comparison, t]);
  const node = search.pair.slice(0, search.pair.lastIndexOf(':'));
  const first = comparison.first_divergence;
  const focus = first?.left?.node_id ?? first?.right?.node_id ?? null;
  const select = (id: string | null) => {
    const pairs = comparison.steps.filter((pair) => pair.node_id === id);
    const pair = pairs.find((one) => !one.same) ?? pairs[0];
    set({ pair: pair === undefined ? '' : `${pair.node_id}:${pair.visit}` }, { replace: true });
  };
  if (layout === null) return null;
  return (
    <Canvas
      graph={graph}
      layout={layout}
      looks={looks}
      label={t('compare.canvas')}
      selected={node || null}
      onSelect={select}
      onOpen={select}
      focus={focus}
    />
  );
}
