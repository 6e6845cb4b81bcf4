import { Bug, FastForward, MoveRight, StepForward } from 'lucide-react';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { useRun } from './context';
import { useMoment } from './moment';
import css from './Run.module.css';
import { useDebugger } from './useDebugger';

/** Over the canvas while the run stands in the debugger. */
export function DebugBar() {
  const t = useT();
  const { run, moment, staged } = useRun();
  const { stands, busy, why, whyRunTo, target, stops, step, carryOn, runTo } = useDebugger();
  const atEnd = useMoment(moment, (state) => state.end);
  if (!stands || !atEnd) return null;
  return (
    <div className={css.debug} role="toolbar" aria-label={t('run.debugger')}>
      <span className={css.stands}>
        <Bug aria-hidden /> {t.rich('run.stands_before', { node: <b>{run.current_node_id}</b> })}
        {staged.size > 0 && <span className={css.staged}>{t('run.staged', { n: staged.size })}</span>}
      </span>
      <Button kind="primary" icon={<StepForward />} busy={busy} disabledReason={why} onClick={step} title="F10">
        {t('run.debug_step')}
      </Button>
      <Button icon={<FastForward />} busy={busy} disabledReason={why} onClick={carryOn} title="F8">
        {stops.length === 0 ? t('run.debug_continue') : t('run.debug_to_breakpoint', { n: stops.length })}
      </Button>
      <Button icon={<MoveRight />} busy={busy} disabledReason={why ?? whyRunTo} onClick={runTo} title="t">
        {target === '' ? t('run.debug_to') : t('run.debug_to_node', { node: target })}
      </Button>
    </div>
  );
}
