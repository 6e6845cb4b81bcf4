import { ChevronDown, ChevronUp } from 'lucide-react';
import { useT } from '../../messages';
import { IconButton } from '../../ui/Button';
import { Tabs } from '../../ui/Tabs';
import { useRun, useRunSearch } from './context';
import css from './Drawer.module.css';
import { LogList } from './LogList';
import { Signals } from './Signals';
import { Steps } from './Steps';
import { Timeline } from './Timeline';

/** The whole run at once: as bars, as rows, as lines. */
export function Drawer() {
  const t = useT();
  const { scrub } = useRun();
  const [search, set] = useRunSearch();
  const tabs = [
    { id: 'timeline' as const, name: t('run.low_timeline') },
    { id: 'steps' as const, name: t('run.low_steps'), count: scrub.steps.length },
    { id: 'logs' as const, name: t('run.tab_logs') },
    { id: 'events' as const, name: t('run.low_events') },
  ];
  const shut = search.low === 'none';
  const low = tabs.some((tab) => tab.id === search.low) ? search.low : 'timeline';
  const toggle = (
    <IconButton
      name={t(shut ? 'run.open_drawer' : 'run.shut_drawer')}
      icon={shut ? <ChevronUp /> : <ChevronDown />}
      onClick={() => set({ low: shut ? 'timeline' : 'none' }, { replace: true })}
    />
  );
  return (
    <Tabs
      label={t('run.drawer')}
      tabs={tabs}
      value={low as (typeof tabs)[number]['id']}
      onChange={(to) => set({ low: to }, { replace: true })}
      className={css.panel}
      end={toggle}
    >
      {!shut && low === 'timeline' && <Timeline />}
      {!shut && low === 'steps' && <Steps />}
      {!shut && low === 'logs' && <LogList node="" />}
      {!shut && low === 'events' && <Signals />}
    </Tabs>
  );
}
