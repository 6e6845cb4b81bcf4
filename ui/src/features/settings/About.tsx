import { useQuery } from '@tanstack/react-query';
import { queries } from '../../api/queries';
import { parseTime } from '../../api/time';
import { useT } from '../../messages';
import { formatBytes, formatDuration } from '../../ui/format';
import { Loaded } from '../../ui/Loaded';
import { Panel } from '../../ui/Page';
import { Time } from '../../ui/Time';
import css from './Settings.module.css';

export function About() {
  const t = useT();
  const me = useQuery(queries.me());
  return (
    <Panel title={t('settings.about')}>
      <Loaded query={me}>
        {(one) => (
          <dl className={css.facts}>
            <dt>{t('settings.version')}</dt>
            <dd>{one.version}</dd>
            <dt>{t('settings.mode')}</dt>
            <dd>{t(`settings.mode_${one.mode}`)}</dd>
            <dt>{t('settings.build')}</dt>
            <dd>
              <code>{one.ui_build}</code>
            </dd>
            <dt>{t('settings.clock')}</dt>
            <dd>
              <Time at={one.server_time} style="exact" />
              <Skew at={one.server_time} readAt={me.dataUpdatedAt} />
            </dd>
            <dt>{t('settings.limit_body')}</dt>
            <dd>{formatBytes(one.limits.request_body)}</dd>
            <dt>{t('settings.limit_schema')}</dt>
            <dd>{formatBytes(one.limits.schema)}</dd>
            <dt>{t('settings.licence')}</dt>
            <dd>{t('settings.licence_text')}</dd>
          </dl>
        )}
      </Loaded>
      <p className={css.links}>
        <a href="/api/docs" target="_blank" rel="noreferrer">
          {t('settings.docs')}
        </a>
      </p>
    </Panel>
  );
}

/** Only if it is worth a word: countdowns go by the server's clock. */
function Skew({ at, readAt }: { at: string; readAt: number }) {
  const t = useT();
  const away = Math.abs(parseTime(at).ms - readAt);
  if (away < 3000) return null;
  return <span className={css.note}> {t('settings.skew', { span: formatDuration(away) })}</span>;
}
