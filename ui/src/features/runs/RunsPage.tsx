import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function RunsPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_runs')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
