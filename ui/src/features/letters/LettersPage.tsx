import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Page } from '../../ui/Page';

export default function LettersPage() {
  const t = useT();
  return (
    <Page title={t('frame.nav_dead-letters')}>
      <Empty title={t('common.coming')} />
    </Page>
  );
}
