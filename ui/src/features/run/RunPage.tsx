import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { asApiError } from '../../api/error';
import type { Execution } from '../../api/model';
import { queries } from '../../api/queries';
import { useHistory } from '../../api/useHistory';
import { Link, useParam } from '../../frame/navigate';
import { buildGraph } from '../../graph/model';
import { useT } from '../../messages';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Delayed } from '../../ui/Skeleton';
import { type RunDefinition, runQueries } from './api';
import { Explain } from './Explain';
import css from './Run.module.css';
import { RunActions } from './RunActions';
import { RunHead } from './RunHead';
import { RunScreen } from './RunScreen';

export default function RunPage() {
  const id = useParam('id');
  return <RunOf key={id} id={id} />;
}

function RunOf({ id }: { id: string }) {
  const t = useT();
  const run = useQuery(queries.run(id));
  const definition = useQuery(runQueries.definition(id));
  const graph = useMemo(() => (definition.data === undefined ? null : buildGraph(definition.data.definition)), [definition.data]);
  const history = useHistory(run.data, graph);
  const error = run.error ?? definition.error ?? history.error;
  const again = () => {
    void run.refetch();
    if (definition.error) void definition.refetch();
    history.again();
  };
  const ready = run.data !== undefined && graph !== null && definition.data !== undefined && history.scrub !== null && history.ready;
  return (
    <Page
      title={<RunHead id={id} run={run.data} />}
      documentTitle={run.data === undefined ? id.slice(-8) : `${run.data.schema} ${id.slice(-8)}`}
      crumbs={<Link href="/runs">{t('frame.nav_runs')}</Link>}
      head={run.data && <Explain run={run.data} />}
      actions={run.data && <RunActions run={run.data} />}
    >
      {ready ? (
        <RunScreen run={run.data as Execution} definition={definition.data as RunDefinition} graph={graph} history={history} />
      ) : error ? (
        <Failed error={error} again={again} />
      ) : (
        <Loading />
      )}
    </Page>
  );
}

function Failed({ error, again }: { error: unknown; again: () => void }) {
  const t = useT();
  const missing = asApiError(error).status === 404;
  return (
    <div className={css.failed}>
      <Problem error={error} onRetry={again} title={missing ? t('run.missing') : undefined}>
        {missing && <p>{t('run.missing_hint')}</p>}
      </Problem>
    </div>
  );
}

/** The page's own shape, grey. */
function Loading() {
  const t = useT();
  return (
    <Delayed>
      <div className={css.screen} role="status" aria-label={t('common.loading')}>
        <div className={css.ghosts}>
          {[0, 1, 2, 3].map((at) => (
            <span key={at} className={css.ghost} />
          ))}
        </div>
      </div>
    </Delayed>
  );
}
