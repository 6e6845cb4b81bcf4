import * as Ariakit from '@ariakit/react';
import { live, useLive } from '../api/live';
import { useOnline } from '../api/online';
import { queryClient } from '../api/queries';
import { useT } from '../messages';
import { Button } from '../ui/Button';
import css from './LiveDot.module.css';

type Shown = 'live' | 'reconnecting' | 'polling' | 'offline' | 'unready';

function useShown(): Shown | null {
  const state = useLive((one) => one.state);
  const failing = useOnline((one) => one.failingSince !== null);
  const unready = useOnline((one) => one.unready);
  if (failing) return unready ? 'unready' : 'offline';
  if (state === 'connecting' || state === 'hidden') return null;
  return state;
}

const SIGNS: Record<Shown, string> = { live: '●', reconnecting: '◌', polling: '○', offline: '✕', unready: '✕' };

/** Whether what is shown follows the server by itself. */
export function LiveDot() {
  const t = useT();
  const shown = useShown();
  if (shown === null) return null;
  const again = () => {
    live.again();
    void queryClient.invalidateQueries();
  };
  return (
    <Ariakit.PopoverProvider placement="bottom-end">
      <Ariakit.PopoverDisclosure className={css.dot} data-state={shown}>
        <span aria-hidden>{SIGNS[shown]}</span> {t(`frame.live_${shown}`)}
      </Ariakit.PopoverDisclosure>
      <Ariakit.Popover className={css.popover} gutter={6} portal unmountOnHide aria-label={t(`frame.live_${shown}`)}>
        <p>{t(`frame.live_${shown}_text`)}</p>
        {shown !== 'live' && (
          <Button size="small" onClick={again}>
            {t('frame.try_now')}
          </Button>
        )}
      </Ariakit.Popover>
    </Ariakit.PopoverProvider>
  );
}
