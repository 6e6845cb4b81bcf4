import { useQuery } from '@tanstack/react-query';
import { HeartPulse, Stethoscope, Wrench } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../api/client';
import type { DoctorReport, Finding } from '../../api/model';
import { queryClient } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Confirm } from '../../ui/Confirm';
import { Empty } from '../../ui/Empty';
import { Page, Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Time } from '../../ui/Time';
import { Findings } from './Findings';
import css from './Operations.module.css';
import { StoreFacts } from './StoreFacts';

const KEY = ['doctor'] as const;

const EXAMINE = { command: () => pawl('doctor'), curl: () => curl('GET', '/api/doctor') };
const FIX = { command: () => pawl('doctor', [], { fix: true }), curl: () => curl('POST', '/api/doctor', { body: { fix: true } }) };

/** On demand: an examination looks at every open run. */
export default function DoctorPage() {
  const t = useT();
  const { reason } = useRole();
  const [repairing, setRepairing] = useState(false);
  const [repaired, setRepaired] = useState<Finding[] | null>(null);
  const report = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => api.get<DoctorReport>('/api/doctor', undefined, signal),
    enabled: false,
    gcTime: 10 * 60_000,
  });
  const examine = () => {
    setRepaired(null);
    void report.refetch();
  };
  const repair = async () => {
    const after = await api.post<DoctorReport>('/api/doctor', { fix: true });
    setRepaired(after.findings);
    await queryClient.fetchQuery({ queryKey: KEY, queryFn: () => api.get<DoctorReport>('/api/doctor'), staleTime: 0 });
  };
  const findings = report.data?.findings ?? [];
  useCommands([{ id: 'examine', name: t('operations.examine'), group: 'page', keys: 'e', icon: <Stethoscope />, act: examine }]);
  return (
    <Page
      scroll
      title={t('frame.nav_doctor')}
      head={report.data && <AsOf ms={report.dataUpdatedAt} />}
      actions={
        <>
          <CopyAs of={EXAMINE} />
          {findings.length > 0 && (
            <Button icon={<Wrench />} disabledReason={reason('operator')} onClick={() => setRepairing(true)}>
              {t('operations.repair', { n: findings.length })}
            </Button>
          )}
          <Button kind="primary" icon={<Stethoscope />} busy={report.isFetching} onClick={examine}>
            {t(report.data ? 'operations.examine_again' : 'operations.examine')}
          </Button>
        </>
      }
    >
      {report.error && <Problem error={report.error} onRetry={examine} />}
      {repaired && <Repaired findings={repaired} />}
      {report.data ? <Report report={report.data} /> : report.isFetching ? <Busy /> : !report.error && <NotYet onExamine={examine} />}
      {repairing && (
        <Confirm
          danger={false}
          title={t('operations.repair_title', { n: findings.length })}
          name={t('operations.repair', { n: findings.length })}
          act={repair}
          aside={<CopyAs of={FIX} />}
          onClose={() => setRepairing(false)}
        >
          <p>{t('operations.repair_text')}</p>
          <Findings findings={findings} />
        </Confirm>
      )}
    </Page>
  );
}

function AsOf({ ms }: { ms: number }) {
  const t = useT();
  return (
    <span className={css.faint}>
      {t('operations.as_of')} <Time at={new Date(ms).toISOString()} style="time" />
    </span>
  );
}

function Busy() {
  const t = useT();
  return (
    <>
      <p role="status">{t('operations.examining')}</p>
      <Skeleton rows={4} />
    </>
  );
}

function NotYet({ onExamine }: { onExamine: () => void }) {
  const t = useT();
  return (
    <Empty icon={<Stethoscope />} title={t('operations.not_yet')} action={<Button onClick={onExamine}>{t('operations.examine')}</Button>}>
      {t('operations.not_yet_text')}
    </Empty>
  );
}

function Report({ report }: { report: DoctorReport }) {
  const t = useT();
  const n = report.open_executions;
  return (
    <div className={css.report}>
      {report.findings.length === 0 ? (
        <div className={css.healthy} role="status">
          <HeartPulse aria-hidden />
          <div>
            <h2>{t('operations.healthy')}</h2>
            <p>{t('operations.healthy_text', { n })}</p>
          </div>
        </div>
      ) : (
        <Panel title={t('operations.sick', { n: report.findings.length })}>
          <p className={css.faint}>{t('operations.sick_text', { n })}</p>
          <Findings findings={report.findings} />
        </Panel>
      )}
      <Panel title={t('operations.store')}>
        <StoreFacts about={report.about} />
      </Panel>
    </div>
  );
}

function Repaired({ findings }: { findings: Finding[] }) {
  const t = useT();
  const done = findings.filter((finding) => finding.fixed).length;
  const left = findings.length - done;
  return (
    <p className={left > 0 ? css.warning : css.done} role="status">
      {t('operations.repaired', { n: done })}
      {left > 0 && `. ${t('operations.left', { n: left })}`}
    </p>
  );
}
