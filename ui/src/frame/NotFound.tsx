import { useT } from '../messages';
import { Empty } from '../ui/Empty';
import { Page } from '../ui/Page';
import { Link, usePathname } from './navigate';

export function NotFound() {
  const t = useT();
  const address = usePathname();
  return (
    <Page title={t('common.not_found')}>
      <Empty title={t('common.not_found')} action={<Link href="/">{t('common.to_overview')}</Link>}>
        {t('common.not_found_body', { address })}
      </Empty>
    </Page>
  );
}
