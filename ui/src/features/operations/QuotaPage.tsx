import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function QuotaPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_quotas')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
