import { go, Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Page } from '../../ui/Page';
import { ScheduleForm } from './ScheduleForm';

export default function ScheduleFormPage() {
  const t = useT();
  return (
    <Page scroll crumbs={<Link href="/schedules">{t('frame.nav_schedules')}</Link>} title={t('schedules.new')}>
      <ScheduleForm onDone={(id) => go(id === null ? '/schedules' : `/schedules/${encodeURIComponent(id)}`)} />
    </Page>
  );
}
