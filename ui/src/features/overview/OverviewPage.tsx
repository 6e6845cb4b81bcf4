import { useQuery } from '@tanstack/react-query';
import { useLiveQueries } from '../../api/queries';
import { useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { Page } from '../../ui/Page';
import { overview, WINDOWS } from './calls';
import { FirstUse } from './FirstUse';
import { Flow } from './Flow';
import { Next } from './Next';
import { Now } from './Now';
import css from './Overview.module.css';
import { overviewSearch } from './search';
import { Trouble } from './Trouble';

const FOLLOWED = ['counts', 'errors', 'waits'].map((part) => ['overview', part]);

export default function OverviewPage() {
  const t = useT();
  const [{ window }, set] = useSearch(overviewSearch);
  useLiveQueries(['executions'], FOLLOWED);
  useLiveQueries(['letters'], [['overview', 'letters']]);
  useLiveQueries(['workers'], [['overview', 'workers']]);
  const nothingYet = useQuery(overview.counts()).data?.total === 0;
  return (
    <Page
      title={t('frame.nav_overview')}
      scroll
      actions={
        <fieldset className={css.windows}>
          <legend className="sr">{t('overview.window')}</legend>
          {WINDOWS.map((one) => (
            <Chip key={one} tone="accent" on={one === window} onToggle={() => set({ window: one })}>
              {t(`overview.window_${one}`)}
            </Chip>
          ))}
        </fieldset>
      }
    >
      {nothingYet && <FirstUse />}
      <div className={css.regions}>
        <Now />
        <Trouble window={window} />
        <Flow window={window} />
        <Next />
      </div>
    </Page>
  );
}
