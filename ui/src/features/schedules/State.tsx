import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { type Attempt, type Schedule, stateOf } from './model';

const TONES = { waiting: 'info', running: 'accent', paused: 'warn', finished: 'idle' } as const;
const OUTCOMES = { success: 'good', failed: 'bad', interrupted: 'warn' } as const;

export function State({ schedule }: { schedule: Schedule }) {
  const t = useT();
  const state = stateOf(schedule);
  const ending = schedule.status.finished;
  return (
    <Chip tone={state === 'finished' && ending !== 'done' ? 'bad' : TONES[state]}>
      {state === 'finished' && ending ? t(`schedules.ending_${ending}`) : t(`schedules.state_${state}`)}
    </Chip>
  );
}

export function Outcome({ outcome }: { outcome: Attempt['outcome'] }) {
  const t = useT();
  return <Chip tone={OUTCOMES[outcome]}>{t(`schedules.outcome_${outcome}`)}</Chip>;
}
