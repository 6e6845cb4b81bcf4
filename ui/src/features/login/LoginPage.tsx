import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function LoginPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_overview')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
