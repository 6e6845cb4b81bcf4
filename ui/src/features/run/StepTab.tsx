import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import type { Json } from '../../api/json';
import type { Step } from '../../api/model';
import type { GraphNode } from '../../graph/model';
import { useT } from '../../messages';
import { iconOf } from '../../nodes';
import { Button, IconButton } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { formatDuration } from '../../ui/format';
import { Id } from '../../ui/Id';
import { JsonTree } from '../../ui/JsonTree';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { StepStatusMark } from '../../ui/Status';
import { Time } from '../../ui/Time';
import { Value, ValueActions } from '../../ui/Value';
import { runQueries } from './api';
import { Beginning } from './Beginning';
import { ChangesOf } from './ChangesOf';
import { useFile, useRestingSeq, useRun, useRunSearch } from './context';
import css from './Inspector.module.css';
import { positionOf } from './moment';
import { Outcome } from './Outcome';
import { Tries } from './Tries';
import { Waiting } from './Waiting';

/** The step of the moment; of a selected node, its last visit up to the moment. */
export function StepTab() {
  const { run, scrub, graph } = useRun();
  const [search] = useRunSearch();
  const seq = useRestingSeq(40);
  const { breakpoints } = useRun();
  const chosen = graph.byId.get(search.node) ?? -1;
  const position = positionOf({ run, scrub, seq, breakpoints });
  const node = chosen >= 0 ? chosen : position;
  const stands = position >= 0 && node === position;
  // Where the run stands now, the step of the moment belongs to another node.
  const shown = chosen >= 0 || stands ? scrub.nodeAt(node, seq).step : seq;
  const found = node >= 0 ? node : scrub.nodeOf(seq);
  return (
    <div className={css.step}>
      {seq >= scrub.last && <Outcome />}
      <Head node={graph.nodes[found]} seq={shown} />
      {stands && <Waiting />}
      {shown > 0 && <StepBody seq={shown} last={stands} />}
      {shown === 0 && !stands && (chosen < 0 ? <Beginning /> : <NotReached node={chosen} seq={seq} />)}
    </div>
  );
}

function Head({ node, seq }: { node: GraphNode | undefined; seq: number }) {
  const t = useT();
  const { scrub, goTo } = useRun();
  const step = scrub.step(seq);
  if (node === undefined) return null;
  const Icon = iconOf(step?.node === -1 ? step.nodeType : node.type);
  const visits = scrub.visitsOf(node.index);
  const visit = visits.indexOf(seq) + 1;
  const to = (found: number) => found > 0 && goTo(found);
  return (
    <header className={css.head}>
      <span className={css.icon}>
        <Icon aria-hidden />
      </span>
      <div className={css.names}>
        <h2>{step?.node === -1 ? t('run.edited_by_hand') : node.title}</h2>
        <span className={css.type}>{node.title === node.id ? node.type : `${node.id} · ${node.type}`}</span>
      </div>
      {visits.length > 1 && visit > 0 && (
        <span className={css.visits}>
          <IconButton
            size="small"
            name={t('run.previous_visit')}
            hint="Shift ←"
            icon={<ChevronLeft />}
            disabledReason={visit === 1 && t('run.first_visit')}
            onClick={() => to(scrub.visitBeside(node.index, seq, false))}
          />
          {t('run.visit_of', { visit, all: visits.length })}
          <IconButton
            size="small"
            name={t('run.next_visit')}
            hint="Shift →"
            icon={<ChevronRight />}
            disabledReason={visit === visits.length && t('run.last_visit')}
            onClick={() => to(scrub.visitBeside(node.index, seq, true))}
          />
        </span>
      )}
    </header>
  );
}

function NotReached({ node, seq }: { node: number; seq: number }) {
  const t = useT();
  const { scrub, goTo } = useRun();
  const next = scrub.visitBeside(node, seq, true);
  return (
    <div className={css.quiet}>
      <p>{t(next > 0 ? 'run.not_yet' : 'run.never')}</p>
      {next > 0 && (
        <Button size="small" onClick={() => goTo(next)}>
          {t('run.to_first_visit', { n: next })}
        </Button>
      )}
    </div>
  );
}

function StepBody({ seq, last }: { seq: number; last: boolean }) {
  const t = useT();
  const { run } = useRun();
  const ofRun = useFile();
  const step = useQuery(runQueries.step(run.id, seq));
  if (step.error) return <Problem error={step.error} onRetry={() => void step.refetch()} compact />;
  if (step.data === undefined) return <Skeleton rows={5} height={24} />;
  const { data } = step;
  const file = [...ofRun, 'step', seq];
  return (
    <>
      {last && <h3 className={css.section}>{t('run.last_visit_title')}</h3>}
      <Facts step={data} />
      {data.error !== null && <ErrorOf step={data} file={file} />}
      <ChangesOf seq={seq} />
      <Value name={t('run.output')} value={data.output} file={file} />
      <Value name={t('run.input')} value={data.input} file={file} />
      {data.attempts !== null && data.attempts.length > 0 && <Tries tries={data.attempts} />}
    </>
  );
}

function Facts({ step }: { step: Step }) {
  const t = useT();
  const { run } = useRun();
  return (
    <div className={css.facts}>
      <StepStatusMark status={step.status} />
      <span>{formatDuration(step.duration_ms)}</span>
      <span>
        <Time at={step.started_at} />
      </span>
      {step.handle && step.handle !== 'success' && <Chip>→ {step.handle}</Chip>}
      {step.inherited && (run.retry_of ?? run.forked_from) && (
        <Chip title={t('run.inherited_hint')}>
          {t('run.inherited')} <Id id={(run.retry_of ?? run.forked_from) as string} />
        </Chip>
      )}
      <span className={css.seq}>#{step.seq}</span>
    </div>
  );
}

function ErrorOf({ step, file }: { step: Step; file: (string | number)[] }) {
  const t = useT();
  const { error } = step;
  if (error === null) return null;
  return (
    <section className={css.error}>
      <p className={css.code}>
        <code>{error.code}</code>
        <ValueActions name={t('run.error')} value={error as unknown as Json} file={[...file, t('run.error')]} />
      </p>
      <p className={css.message}>{error.message}</p>
      {error.details !== undefined && error.details !== null && (
        <JsonTree value={error.details} label={t('run.error_details')} maxHeight={180} file={[...file, t('run.error_details')]} />
      )}
    </section>
  );
}
