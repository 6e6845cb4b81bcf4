import { Database, FlaskConical, ListOrdered } from 'lucide-react';
import { useState } from 'react';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { shortId } from '../../../ui/Id';
import { Menu, type MenuEntry } from '../../../ui/Menu';
import { StatusIcon } from '../../../ui/Status';
import { chosenOf, useRuns } from '../code/data';
import { useEditor, useTools } from '../model/context';
import { DataSteps } from './DataSteps';

/** Which run and step feeds completion and results; never hidden. */
export function DataChip({ chosen, onChoose }: { chosen: string; onChoose: (data: string) => void }) {
  const t = useT();
  const { stored } = useTools();
  const data = useEditor((state) => state.data);
  const version = useEditor((state) => state.saved.version);
  const runs = useRuns();
  const [asking, setAsking] = useState(false);
  if (stored === null) return null;
  const picked = chosenOf(chosen);
  const items: MenuEntry[] = [
    { name: t('editor.data_auto'), checked: picked === null, act: () => onChoose('') },
    'line',
    ...(runs.data ?? []).map((run) => ({
      name: `…${shortId(run.id)} · v${run.version} · ${t('editor.steps', { n: run.seq })}${run.trial ? ` · ${t('editor.data_trial')}` : ''}`,
      icon: run.trial ? <FlaskConical /> : <StatusIcon status={run.status} />,
      checked: picked?.execution === run.id,
      act: () => onChoose(run.id),
    })),
    runs.data?.length !== 0 && 'line',
    {
      name: t('editor.data_choose_step'),
      icon: <ListOrdered />,
      disabledReason: data === null && t('editor.data_none'),
      act: () => setAsking(true),
    },
  ];
  const label =
    data === null
      ? t('editor.data_none')
      : [
          `…${data.execution.slice(-4)}`,
          t('editor.data_step', { seq: data.seq }),
          data.version !== version && `v${data.version}`,
          data.trial && t('editor.data_trial'),
        ]
          .filter(Boolean)
          .join(', ');
  return (
    <>
      <Menu items={items} label={t('editor.data')}>
        <Button kind="quiet" icon={<Database />} title={t('editor.data_about')}>
          {label}
        </Button>
      </Menu>
      {asking && data !== null && (
        <DataSteps
          data={data}
          onChoose={(seq) => {
            setAsking(false);
            onChoose(`${data.execution}:${seq}`);
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
