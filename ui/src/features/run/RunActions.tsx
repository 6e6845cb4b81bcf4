import { useQueryClient } from '@tanstack/react-query';
import { Bug, Ellipsis, NotebookPen, Pause, Play, RotateCcw, Send, Square } from 'lucide-react';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import type { Execution } from '../../api/model';
import { hasEnded } from '../../api/queries';
import { CopyAs, copyItems } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { refusalSaid } from '../../messages/said';
import { Button, IconButton } from '../../ui/Button';
import { Confirm } from '../../ui/Confirm';
import { Menu, type MenuEntry } from '../../ui/Menu';
import { toast } from '../../ui/toasts';
import { control } from './api';
import { useRunSearch } from './context';
import { showLines, stopLines } from './lines';
import { NoteDialog } from './NoteDialog';
import { SignalDialog } from './SignalDialog';

type Verb = 'pause' | 'resume' | 'stop' | 'debug';

/** What can be done with the run now, the most likely thing last. */
export function RunActions({ run }: { run: Execution }) {
  const t = useT();
  const [, set] = useRunSearch();
  const { reason } = useRole();
  const [asked, ask] = useState<Asked | null>(null);
  const { busy, send } = useControl(run);
  const why = reason('operator');
  const ended = hasEnded(run);
  const failed = run.status !== 'completed' && ended;
  const paused = run.status === 'paused';
  useActionCommands(run, { ask, send });
  const menu: MenuEntry[] = [
    { name: t('run.again'), icon: <Play />, disabledReason: why, act: () => set({ start: true }) },
    !ended && { name: t('run.send_event'), icon: <Send />, disabledReason: why, act: () => ask('signal') },
    !ended &&
      run.status !== 'waiting_debug' && {
        name: t('run.take_to_debugger'),
        icon: <Bug />,
        disabledReason: why,
        act: () => void send('debug'),
      },
    { name: t('run.note'), icon: <NotebookPen />, disabledReason: why, act: () => ask('note') },
    'line',
    ...copyItems(t, showLines(run.id)),
    { name: t('run.open_schema'), act: () => go(`/schemas/${encodeURIComponent(run.schema)}/edit?from=${run.version}`) },
  ];
  return (
    <>
      {!ended && run.status !== 'waiting_debug' && (
        <Button
          icon={paused ? <Play /> : <Pause />}
          disabledReason={why}
          busy={busy}
          onClick={() => void send(paused ? 'resume' : 'pause')}
        >
          {t(paused ? 'run.resume' : 'run.pause')}
        </Button>
      )}
      {!ended && (
        <Button icon={<Square />} disabledReason={why} onClick={() => ask('stop')}>
          {t('run.stop')}
        </Button>
      )}
      {ended && !failed && (
        <Button icon={<Play />} disabledReason={why} onClick={() => set({ start: true })}>
          {t('run.again')}
        </Button>
      )}
      {failed && (
        <Button kind="primary" icon={<RotateCcw />} disabledReason={why} onClick={() => set({ retry: true })}>
          {t('run.retry')}
        </Button>
      )}
      {run.status === 'waiting' && (
        <Button kind="primary" icon={<Send />} disabledReason={why} onClick={() => ask('signal')}>
          {t('run.send_event')}
        </Button>
      )}
      <Menu items={menu} label={t('common.more')}>
        <IconButton name={t('common.more')} icon={<Ellipsis />} />
      </Menu>
      {asked === 'stop' && (
        <Confirm
          title={t('run.stop_question')}
          name={t('run.stop')}
          aside={<CopyAs of={stopLines(run.id)} />}
          onClose={() => ask(null)}
          act={() => send('stop')}
        >
          {t('run.stop_text')}
        </Confirm>
      )}
      {asked === 'signal' && <SignalDialog run={run} onClose={() => ask(null)} />}
      {asked === 'note' && <NoteDialog run={run} onClose={() => ask(null)} />}
    </>
  );
}

type Asked = 'stop' | 'signal' | 'note';

/** The same actions in the palette, each with why it cannot be done now. */
function useActionCommands(run: Execution, { ask, send }: { ask: (what: Asked) => void; send: (verb: Verb) => Promise<void> }) {
  const t = useT();
  const [, set] = useRunSearch();
  const { reason } = useRole();
  const why = reason('operator');
  const ended = hasEnded(run);
  const failed = run.status !== 'completed' && ended;
  const paused = run.status === 'paused';
  const debugged = run.status === 'waiting_debug';
  const closed = ended ? t('run.has_ended') : undefined;
  useCommands([
    {
      id: 'run.pause',
      name: t('run.pause'),
      group: 'page',
      disabledReason: why ?? closed ?? ((paused || debugged) && t('run.stands_already')),
      act: () => void send('pause'),
    },
    {
      id: 'run.resume',
      name: t('run.resume'),
      group: 'page',
      disabledReason: why ?? closed ?? (!paused && t('run.not_paused')),
      act: () => void send('resume'),
    },
    {
      id: 'run.retry',
      name: t('run.retry'),
      group: 'page',
      disabledReason: why ?? (!failed && t('run.not_failed')),
      act: () => set({ retry: true }),
    },
    { id: 'run.signal', name: t('run.send_event'), group: 'page', disabledReason: why ?? closed, act: () => ask('signal') },
    {
      id: 'run.take_to_debugger',
      name: t('run.take_to_debugger'),
      group: 'page',
      disabledReason: why ?? closed ?? (debugged && t('run.stands_already')),
      act: () => void send('debug'),
    },
    { id: 'run.stop', name: t('run.stop'), group: 'page', disabledReason: why ?? closed, act: () => ask('stop') },
    { id: 'run.again', name: t('run.again'), group: 'page', disabledReason: why, act: () => set({ start: true }) },
    { id: 'run.note', name: t('run.note'), group: 'page', disabledReason: why, act: () => ask('note') },
  ]);
}

function useControl(run: Execution) {
  const t = useT();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const send = async (verb: Verb) => {
    setBusy(true);
    try {
      const answer = await control(run.id, verb);
      client.setQueryData<Execution>(['run', run.id], (before) =>
        before !== undefined && before.event_version > answer.event_version ? before : { ...answer, notes: before?.notes },
      );
      toast({ text: t(`run.done_${verb}`), tone: 'good' });
    } catch (thrown) {
      toast({ text: refusalSaid(asApiError(thrown), t), tone: 'bad' });
    } finally {
      setBusy(false);
      void client.invalidateQueries({ queryKey: ['run', run.id] });
    }
  };
  return { busy, send };
}
