import { Bug, ChevronFirst, ChevronLast, ChevronLeft, ChevronRight, GitCompareArrows, GitFork, Pause, Play, Radio } from 'lucide-react';
import { hasEnded } from '../../api/queries';
import { go } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { formatNumber } from '../../ui/format';
import { useForkReason, useRun, useRunSearch } from './context';
import { useMoment } from './moment';
import css from './Scrubber.module.css';
import { Track } from './Track';
import { usePlay } from './usePlay';

/** One moment for the whole screen, and the way through all of them. */
export function Scrubber() {
  return (
    <section className={css.scrubber}>
      <Transport />
      <Track />
      <Ways />
    </section>
  );
}

function Transport() {
  const t = useT();
  const { moment, scrub, goTo } = useRun();
  const { speed, playing, toggle, faster } = usePlay();
  const step = (by: number) => goTo(moment.getState().seq + by);
  return (
    <div className={css.group}>
      <IconButton name={t('run.first_step')} hint="Home" icon={<ChevronFirst />} onClick={() => goTo(scrub.first - 1)} />
      <IconButton name={t('run.previous_step')} hint="←" icon={<ChevronLeft />} onClick={() => step(-1)} />
      <IconButton name={t(playing ? 'run.pause_play' : 'run.play')} hint="Space" icon={playing ? <Pause /> : <Play />} onClick={toggle} />
      <IconButton name={t('run.next_step')} hint="→" icon={<ChevronRight />} onClick={() => step(1)} />
      <IconButton name={t('run.last_step')} hint="End" icon={<ChevronLast />} onClick={() => goTo(scrub.last)} />
      <Button size="small" kind="quiet" className={css.speed} onClick={faster}>
        <span className="sr">{t('run.speed')} </span>
        {speed === -1 ? t('run.real_time') : `${speed}×`}
      </Button>
      <Place />
    </div>
  );
}

function Place() {
  const t = useT();
  const { moment, scrub } = useRun();
  const seq = useMoment(moment, (state) => state.seq);
  return <span className={css.place}>{t.rich('run.step_of', { step: <b>{formatNumber(seq)}</b>, all: formatNumber(scrub.last) })}</span>;
}

function Ways() {
  const t = useT();
  const { run, moment, scrub, goTo } = useRun();
  const [, set] = useRunSearch();
  const tooLate = useForkReason();
  const ended = hasEnded(run);
  const behind = useMoment(moment, (state) => (state.end ? 0 : scrub.last - state.seq));
  return (
    <div className={css.group}>
      <Button size="small" kind="quiet" icon={<GitFork />} disabledReason={tooLate} onClick={() => set({ fork: moment.getState().seq })}>
        {t('run.fork_here')}
      </Button>
      {run.status !== 'waiting_debug' && (
        <IconButton
          size="small"
          name={t('run.debug_from_here')}
          hint="Shift F"
          icon={<Bug />}
          disabledReason={tooLate}
          onClick={() => set({ fork: moment.getState().seq, debug: true })}
        />
      )}
      <Button size="small" kind="quiet" icon={<GitCompareArrows />} onClick={() => go(`/runs/${run.id}/compare`)}>
        {t('run.compare')}
      </Button>
      {!ended && (
        <Button
          size="small"
          kind={behind > 0 ? 'primary' : 'quiet'}
          icon={<Radio className={behind === 0 ? css.live : undefined} />}
          onClick={() => goTo(scrub.last)}
          aria-pressed={behind === 0}
        >
          {behind > 0 ? t('run.go_live', { n: behind }) : t('run.live')}
        </Button>
      )}
    </div>
  );
}
