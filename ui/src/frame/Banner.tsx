import type { ReactNode } from 'react';
import { live } from '../api/live';
import { useOnline } from '../api/online';
import { queryClient } from '../api/queries';
import { useT } from '../messages';
import { Button } from '../ui/Button';
import { formatTime } from '../ui/format';
import css from './Banner.module.css';
import { useMe } from './session';

/** Only if there is something to say: no connection, no broker, a newer UI, a role that only reads. */
export function Banner() {
  const t = useT();
  const { failingSince, answeredAt, degraded, unready } = useOnline();
  const me = useMe();
  const build = document.querySelector<HTMLMetaElement>('meta[name=ui-build]')?.content;
  if (failingSince !== null) {
    const at = answeredAt > 0 ? formatTime(new Date(answeredAt).toISOString(), 'time') : '';
    const said = (what: 'offline' | 'unready') => (at ? t(`frame.${what}_since`, { time: at }) : t(`frame.${what}`));
    const again = () => {
      live.again();
      void queryClient.invalidateQueries();
    };
    return (
      <Line
        tone="warn"
        action={
          <Button size="small" onClick={again}>
            {t('frame.try_now')}
          </Button>
        }
      >
        {said(unready ? 'unready' : 'offline')}
      </Line>
    );
  }
  if (degraded) return <Line tone="warn">{t('frame.degraded')}</Line>;
  if (me?.ui_build && build && build !== '__BUILD__' && build !== me.ui_build) {
    return (
      <Line
        tone="info"
        action={
          <Button size="small" onClick={() => window.location.reload()}>
            {t('common.reload')}
          </Button>
        }
      >
        {t('frame.newer_ui')}
      </Line>
    );
  }
  if (me?.role === 'viewer') return <Line tone="idle">{t('frame.read_only')}</Line>;
  return null;
}

function Line({ tone, action, children }: { tone: 'warn' | 'info' | 'idle'; action?: ReactNode; children: ReactNode }) {
  return (
    <div className={css.banner} data-tone={tone} role="status">
      <span>{children}</span>
      {action}
    </div>
  );
}
