import { useT } from '../../messages';
import { Tabs } from '../../ui/Tabs';
import { ContextTab } from './ContextTab';
import { useRun, useRunSearch } from './context';
import { DefinitionTab } from './DefinitionTab';
import css from './Inspector.module.css';
import { LogList } from './LogList';
import { StepTab } from './StepTab';
import { VariablesTab } from './VariablesTab';

/** One step, or one node, at the moment. */
export function Inspector() {
  const t = useT();
  const { run, staged } = useRun();
  const [search, set] = useRunSearch();
  const tabs = [
    { id: 'step' as const, name: t('run.tab_step') },
    { id: 'context' as const, name: t('run.tab_context') },
    ...(run.status === 'waiting_debug'
      ? [{ id: 'variables' as const, name: t('run.tab_variables'), count: staged.size || undefined }]
      : []),
    { id: 'logs' as const, name: t('run.tab_logs') },
    { id: 'definition' as const, name: t('run.tab_definition') },
  ];
  const tab = tabs.some((one) => one.id === search.tab) ? (search.tab ?? 'step') : 'step';
  return (
    <Tabs label={t('run.inspector')} tabs={tabs} value={tab} onChange={(to) => set({ tab: to }, { replace: true })} className={css.panel}>
      {tab === 'step' && <StepTab />}
      {tab === 'context' && <ContextTab />}
      {tab === 'variables' && <VariablesTab />}
      {tab === 'logs' && <LogList node={search.node} />}
      {tab === 'definition' && <DefinitionTab />}
    </Tabs>
  );
}
