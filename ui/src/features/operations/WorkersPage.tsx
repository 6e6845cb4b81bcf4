import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function WorkersPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_workers')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
