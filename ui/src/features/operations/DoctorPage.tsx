import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function DoctorPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_doctor')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
