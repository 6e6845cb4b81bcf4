import { Download } from 'lucide-react';
import { useT } from '../messages';
import { Button } from './Button';
import css from './Cut.module.css';
import { formatBytes } from './format';

/** A value of which only a part is shown, or nothing: how large it is, and how to get it whole. */
export function Cut({ bytes, shown, onLoad, onDownload }: { bytes: number; shown?: number; onLoad?: () => void; onDownload?: () => void }) {
  const t = useT();
  const size = formatBytes(bytes);
  return (
    <p className={css.cut}>
      <span>{shown === undefined ? t('common.cut_left_out', { size }) : t('common.cut', { size, shown: formatBytes(shown) })}</span>
      {onLoad && (
        <Button size="small" kind="quiet" onClick={onLoad}>
          {t('common.load_whole')}
        </Button>
      )}
      {onDownload && (
        <Button size="small" kind="quiet" icon={<Download />} onClick={onDownload}>
          {t('common.download_whole')}
        </Button>
      )}
    </p>
  );
}
