import { useQuery } from '@tanstack/react-query';
import { Database } from 'lucide-react';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { shortId } from '../../../ui/Id';
import { Menu, type MenuEntry } from '../../../ui/Menu';
import { StatusIcon } from '../../../ui/Status';
import { runsOf } from '../code/data';
import { useEditor, useTools } from '../model/context';

/** Which run and step feeds completion and results; never hidden. */
export function DataChip({ chosen, onChoose }: { chosen: string; onChoose: (data: string) => void }) {
  const t = useT();
  const { stored } = useTools();
  const data = useEditor((state) => state.data);
  const version = useEditor((state) => state.saved.version);
  const runs = useQuery({
    queryKey: ['editor-runs', stored],
    queryFn: ({ signal }) => runsOf(stored ?? '', signal),
    enabled: stored !== null,
    staleTime: 10_000,
  });
  if (stored === null) return null;
  const items: MenuEntry[] = [
    { name: t('editor.data_auto'), checked: chosen === '', act: () => onChoose('') },
    'line',
    ...(runs.data?.items ?? []).map((run) => ({
      name: `…${shortId(run.id)} · v${run.version} · ${t('editor.steps', { n: run.seq })}`,
      icon: <StatusIcon status={run.status} />,
      checked: chosen.startsWith(run.id) || undefined,
      act: () => onChoose(`${run.id}:${run.seq}`),
    })),
  ];
  const older = data !== null && data.version !== version;
  const label =
    data === null
      ? t('editor.data_none')
      : `…${data.execution.slice(-4)}, ${t('editor.data_step', { seq: data.seq })}${older ? `, v${data.version}` : ''}`;
  return (
    <Menu items={items} label={t('editor.data')}>
      <Button kind="quiet" icon={<Database />} title={t('editor.data_about')}>
        {label}
      </Button>
    </Menu>
  );
}
