import { useQuery } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { api } from '../../api/client';
import { askToLeave } from '../../frame/Leaving';
import { useMe } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Panel } from '../../ui/Page';
import { Time } from '../../ui/Time';
import css from './Settings.module.css';

interface Session {
  key: string;
  created_at: string;
  expires_at: string;
  idle_until: string;
}

export function You() {
  const t = useT();
  const me = useMe();
  const session = useQuery({
    queryKey: ['session'],
    queryFn: ({ signal }) => api.get<Session>('/api/session', undefined, signal),
    enabled: me?.login === 'session',
  });
  if (!me) return null;
  return (
    <Panel
      title={t('settings.session')}
      actions={
        me.login === 'session' && (
          <Button size="small" icon={<LogOut />} onClick={() => void askToLeave()}>
            {t('settings.logout')}
          </Button>
        )
      }
    >
      <dl className={css.facts}>
        <dt>{t('settings.name')}</dt>
        <dd>{me.created_by}</dd>
        <dt>{t('settings.role')}</dt>
        <dd>{t.name('common', 'role', me.role)}</dd>
        <dt>{t('settings.login')}</dt>
        <dd>{t(`settings.login_${me.login}`)}</dd>
        {session.data && (
          <>
            <dt>{t('settings.expires')}</dt>
            <dd>
              <Time at={session.data.expires_at} />; {t('settings.idle')} <Time at={session.data.idle_until} />
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}
