import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function ScheduleFormPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_schedules')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
