import { useQuery } from '@tanstack/react-query';
import { api, path } from '../../api/client';
import type { Json } from '../../api/json';
import type { Page as PageOf } from '../../api/model';
import { useLiveQueries } from '../../api/queries';
import { Link, useParam, useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { formatNumber } from '../../ui/format';
import { JsonTree } from '../../ui/JsonTree';
import { Loaded } from '../../ui/Loaded';
import { Page, Panel } from '../../ui/Page';
import { Ago, Countdown, Time } from '../../ui/Time';
import { Actions } from './Actions';
import { Attempts } from './Attempts';
import { Firings } from './Firings';
import { ownerSchema, type Schedule, stateOf, zoneOf } from './model';
import { ScheduleForm } from './ScheduleForm';
import css from './Schedules.module.css';
import { Outcome, State } from './State';
import { scheduleSearch } from './search';
import { What } from './What';
import { When } from './When';

export default function SchedulePage() {
  const t = useT();
  const id = useParam('id');
  const [{ edit }, set] = useSearch(scheduleSearch);
  const schedule = useQuery({
    queryKey: ['schedules', 'one', id],
    queryFn: ({ signal }) => api.get<Schedule>(path('/api/scheduled-actions', id), undefined, signal),
    // Nothing tells of a firing: while one is near or under way, it is looked at more often.
    refetchInterval: ({ state }) => (state.data && stateOf(state.data) === 'running' ? 1_000 : 5_000),
  });
  useLiveQueries(['executions'], [['schedules']]);
  const one = schedule.data;
  return (
    <Page
      scroll
      crumbs={<Link href="/schedules">{t('frame.nav_schedules')}</Link>}
      title={edit ? t('schedules.edit_title', { id }) : id}
      head={one && !edit && <Head schedule={one} />}
      actions={one && !edit && <Actions schedule={one} onEdit={() => set({ edit: true })} />}
    >
      <Loaded query={schedule}>
        {(found) =>
          edit ? (
            <ScheduleForm key={found.id} schedule={found} onDone={() => set({ edit: false }, { replace: true })} />
          ) : (
            <Details schedule={found} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Head({ schedule }: { schedule: Schedule }) {
  const next = schedule.status.planned_at;
  const waits = stateOf(schedule) === 'waiting' && next !== null;
  return (
    <>
      <State schedule={schedule} />
      {waits && (
        <span className={css.next}>
          <Time at={next} /> (<Countdown until={next} />)
        </span>
      )}
    </>
  );
}

function Details({ schedule }: { schedule: Schedule }) {
  const t = useT();
  const owner = ownerSchema(schedule);
  return (
    <>
      {owner && (
        <p className={css.owned}>
          {t.rich('schedules.belongs_text', { schema: <Link href={`/schemas/${encodeURIComponent(owner)}?tab=triggers`}>{owner}</Link> })}
        </p>
      )}
      <div className={css.panels}>
        <div className={css.column}>
          <Panel title={t('schedules.firings')}>
            <Planned schedule={schedule} />
          </Panel>
          <Panel title={t('schedules.attempts')}>
            <Attempts id={schedule.id} />
          </Panel>
        </div>
        <div className={css.column}>
          <Counters schedule={schedule} />
          <Panel title={t('schedules.spec')}>
            <JsonTree value={schedule.spec as unknown as Json} label={t('schedules.spec')} maxHeight={420} />
          </Panel>
        </div>
      </div>
    </>
  );
}

function Planned({ schedule }: { schedule: Schedule }) {
  const t = useT();
  const firings = useQuery({
    queryKey: ['schedules', 'firings', schedule.id, schedule.status.planned_at, schedule.status.paused_at],
    queryFn: ({ signal }) => api.get<PageOf<string>>(path('/api/scheduled-actions', schedule.id, 'firings'), { count: 20 }, signal),
    placeholderData: (before) => before,
  });
  return (
    <Loaded query={firings}>
      {({ items }) =>
        items.length === 0 ? (
          <p className={css.faint}>{t('schedules.firings_none')}</p>
        ) : (
          <Firings times={items} zone={zoneOf(schedule.spec.policy)} />
        )
      }
    </Loaded>
  );
}

function Counters({ schedule }: { schedule: Schedule }) {
  const t = useT();
  const { status, spec, meta } = schedule;
  const by = typeof meta.written_by === 'string' ? meta.written_by : null;
  return (
    <Panel title={t('schedules.counters')}>
      <dl className={css.facts}>
        <dt>{t('schedules.what')}</dt>
        <dd>
          <What schedule={schedule} />
        </dd>
        <dt>{t('schedules.when')}</dt>
        <dd>
          <When schedule={schedule} />
        </dd>
        {spec.deadline && (
          <>
            <dt>{t('schedules.deadline')}</dt>
            <dd>
              <Time at={spec.deadline} />
            </dd>
          </>
        )}
        <dt>{t('schedules.successful')}</dt>
        <dd>{formatNumber(status.successful)}</dd>
        <dt>{t('schedules.failed')}</dt>
        <dd>{formatNumber(status.failed)}</dd>
        <dt>{t('schedules.interrupted')}</dt>
        <dd>{formatNumber(status.interrupted)}</dd>
        <dt>{t('schedules.failures')}</dt>
        <dd className={status.consecutive_failures > 0 ? css.bad : undefined}>{formatNumber(status.consecutive_failures)}</dd>
        {status.last_skip && (
          <>
            <dt>{t('schedules.skipped')}</dt>
            <dd>
              <Ago at={status.last_skip.until} />, {t.name('schedules', 'skip_reason', status.last_skip.reason)}
            </dd>
          </>
        )}
        {status.last && (
          <>
            <dt>{t('schedules.last')}</dt>
            <dd>
              <Outcome outcome={status.last.outcome} /> <Ago at={status.last.finished_at} />
              {status.last.error && (
                <span className={css.error}>
                  <code>{status.last.error.code}</code> {status.last.error.message}
                </span>
              )}
            </dd>
          </>
        )}
        {spec.action.start_execution && (
          <>
            <dt>{t('schedules.runs')}</dt>
            <dd>
              <Link href={`/runs?q=${encodeURIComponent(schedule.id)}`}>{t('common.open')}</Link>
            </dd>
          </>
        )}
        {schedule.owner && (
          <>
            <dt>{t('schedules.worker')}</dt>
            <dd>{schedule.owner}</dd>
          </>
        )}
        {by && (
          <>
            <dt>{t('schedules.written_by')}</dt>
            <dd>{by}</dd>
          </>
        )}
      </dl>
    </Panel>
  );
}
