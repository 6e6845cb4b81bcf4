import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { asApiError } from '../../api/error';
import type { Execution } from '../../api/model';
import { hasEnded, queries } from '../../api/queries';
import { Canvas } from '../../canvas/Canvas';
import { Looks } from '../../canvas/looks';
import { type Positions, useLayout } from '../../canvas/useLayout';
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
import { placesOf, unionOf } from './union';

/** Two runs over one picture: where they part, and what differs in each step. */
export default function ComparePage() {
  const t = useT();
  const id = useParam('id');
  const [search] = useSearch(compareSearch);
  const run = useQuery(queries.run(id));
  const { id: other, good } = usePartner(run.data, search.with);
  const comparison = useQuery({ ...compareQueries.outline(id, other ?? ''), enabled: typeof other === 'string' });
  const failing = [comparison, run, good].find((query) => query.error !== null);
  const failure = failing === undefined ? null : asApiError(failing.error);
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
      actions={<Partner run={run.data} chosen={other ?? ''} />}
    >
      {comparison.data !== undefined ? (
        <Both comparison={comparison.data} />
      ) : other === null ? (
        <Empty title={t('compare.no_partner')}>{t('compare.no_partner_hint')}</Empty>
      ) : failure === null ? (
        <Skeleton rows={10} />
      ) : (
        <div className={css.problem}>
          <Problem error={failure} onRetry={() => void failing?.refetch()} />
        </div>
      )}
    </Page>
  );
}

/** The one of the address, else what the run came from, else the last good one. Null: there is none; undefined: not known yet. */
function usePartner(run: Execution | undefined, named: string) {
  const failed = run !== undefined && run.status !== 'completed' && hasEnded(run);
  const origin = run === undefined || failed ? null : (run.retry_of ?? run.forked_from);
  const wanted = named === '' && run !== undefined && origin === null;
  const good = useQuery({ ...queries.lastGood(run ?? NO_RUN), enabled: wanted });
  const found = good.data === undefined ? undefined : (good.data?.id ?? null);
  const id = named !== '' ? named : run === undefined ? undefined : (origin ?? found);
  // What was not asked for has not failed, though another time it did.
  return { id, good: wanted ? good : { error: null, refetch: good.refetch } };
}

const NO_RUN = { id: '', schema: '', created_at: '' };

function Both({ comparison }: { comparison: Comparison }) {
  const left = useQuery(compareQueries.definition(comparison.left.id));
  const right = useQuery(compareQueries.definition(comparison.right.id));
  const graph = useMemo(
    () =>
      left.data === undefined || right.isPending
        ? null
        : buildGraph(unionOf(left.data.definition, right.data?.definition ?? left.data.definition)),
    [left.data, right.data, right.isPending],
  );
  const positions = useQuery(compareQueries.positions(left.data?.schema_id || left.data?.schema || ''));
  const places = useMemo(() => (graph === null ? null : placesOf(graph, positions.data?.positions)), [graph, positions.data]);
  return (
    <div className={css.screen}>
      <Heads comparison={comparison} />
      <div className={css.middle}>
        <div className={css.canvas}>
          {graph !== null && !positions.isLoading && <Picture graph={graph} places={places} comparison={comparison} />}
        </div>
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

function Picture({ graph, places, comparison }: { graph: Graph; places: Positions | null; comparison: Comparison }) {
  const t = useT();
  const [search, set] = useSearch(compareSearch);
  const layout = useLayout(graph, places);
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
