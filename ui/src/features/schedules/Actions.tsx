import { Ellipsis, Pause, Pencil, Play, Trash2, Zap } from 'lucide-react';
import { useState } from 'react';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import { queryClient } from '../../api/queries';
import { type AsText, CopyAs } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { type Translate, useT } from '../../messages';
import { refusalSaid } from '../../messages/said';
import { Button, IconButton } from '../../ui/Button';
import { Confirm } from '../../ui/Confirm';
import { Menu } from '../../ui/Menu';
import { toast } from '../../ui/toasts';
import { ownerSchema, type Schedule, stateOf } from './model';

type Control = 'run' | 'pause' | 'resume';

/** Run now, pause or resume, edit, delete: with the reason where one of them is not possible. */
export function Actions({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const t = useT();
  const { reason } = useRole();
  const [busy, setBusy] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const state = stateOf(schedule);
  const owned = ownerSchema(schedule) !== null && t('schedules.owned_reason');
  const finished = state === 'finished' && t('schedules.finished_reason');
  const paused = state === 'paused';
  const cannotRun =
    reason('operator') ??
    (finished || (paused && t('schedules.paused_reason')) || (state === 'running' && t('schedules.running_reason')) || undefined);
  const cannotPause = reason('operator') ?? (finished || undefined);
  const cannotWrite = reason('editor') ?? (owned || undefined);
  const control = async (what: Control) => {
    setBusy(true);
    try {
      await api.post(path('/api/scheduled-actions', schedule.id, what));
      toast({ tone: 'good', text: t(`schedules.${what}_done`) });
    } catch (thrown) {
      toast({ tone: 'bad', text: refusalSaid(asApiError(thrown), t) });
    } finally {
      setBusy(false);
      await queryClient.invalidateQueries({ queryKey: ['schedules'] });
    }
  };
  const toggle = () => void control(paused ? 'resume' : 'pause');
  const pauseName = t(paused ? 'schedules.resume' : 'schedules.pause');
  const pauseIcon = paused ? <Play /> : <Pause />;
  useCommands([
    { id: 'run', name: t('schedules.run_now'), group: 'page', icon: <Zap />, disabledReason: cannotRun, act: () => void control('run') },
    { id: 'pause', name: pauseName, group: 'page', icon: pauseIcon, disabledReason: cannotPause, act: toggle },
    { id: 'edit', name: t('schedules.edit'), group: 'page', keys: 'e', icon: <Pencil />, disabledReason: cannotWrite, act: onEdit },
  ]);
  return (
    <>
      <Button icon={pauseIcon} busy={busy} disabledReason={cannotPause} onClick={toggle}>
        {pauseName}
      </Button>
      <Button kind="primary" icon={<Zap />} busy={busy} disabledReason={cannotRun} onClick={() => void control('run')}>
        {t('schedules.run_now')}
      </Button>
      <CopyAs brief of={lines(schedule.id, t)} />
      <Menu
        label={t('common.more')}
        items={[
          { name: t('schedules.edit'), icon: <Pencil />, hint: 'E', disabledReason: cannotWrite, act: onEdit },
          { name: t('common.delete'), icon: <Trash2 />, danger: true, disabledReason: cannotWrite, act: () => setDeleting(true) },
        ]}
      >
        <IconButton name={t('common.more')} icon={<Ellipsis />} />
      </Menu>
      {deleting && <Delete id={schedule.id} onClose={() => setDeleting(false)} />}
    </>
  );
}

function lines(id: string, t: Translate): AsText[] {
  const control = (what: Control) => ({
    name: t(what === 'run' ? 'schedules.run_now' : `schedules.${what}`),
    command: () => pawl(`schedule ${what}`, [id]),
    curl: () => curl('POST', path('/api/scheduled-actions', id, what)),
  });
  return [
    {
      name: t('schedules.show_it'),
      command: () => pawl('schedule show', [id]),
      curl: () => curl('GET', path('/api/scheduled-actions', id)),
    },
    ...(['run', 'pause', 'resume'] as const).map(control),
  ];
}

function Delete({ id, onClose }: { id: string; onClose: () => void }) {
  const t = useT();
  const act = async () => {
    await api.delete(path('/api/scheduled-actions', id));
    toast({ tone: 'good', text: t('schedules.delete_done', { id }) });
    go('/schedules');
    queryClient.removeQueries({ queryKey: ['schedules', 'one', id] });
    void queryClient.invalidateQueries({ queryKey: ['schedules', 'list'] });
  };
  return (
    <Confirm
      title={t('schedules.delete_title', { id })}
      name={t('common.delete')}
      act={act}
      aside={
        <CopyAs of={{ command: () => pawl('schedule delete', [id]), curl: () => curl('DELETE', path('/api/scheduled-actions', id)) }} />
      }
      onClose={onClose}
    >
      <p>{t('schedules.delete_text')}</p>
    </Confirm>
  );
}
