import { Copy } from 'lucide-react';
import { useMemo } from 'react';
import { useT } from '../messages';
import { Button } from './Button';
import { Cut } from './Cut';
import { copyText, download } from './copy';
import { Dialog } from './Dialog';
import { bytesOf, fileName, firstBytes, SHOWN_BYTES } from './payload';
import css from './Value.module.css';

/** A text with its lines, the first part of it if it is long. */
export function LongText({
  text,
  label,
  maxHeight,
  onDownload,
}: {
  text: string;
  label: string;
  maxHeight?: number;
  onDownload: () => void;
}) {
  const shown = useMemo(() => firstBytes(text, SHOWN_BYTES), [text]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section className={css.text} style={{ maxHeight }} tabIndex={0} aria-label={label}>
        {shown}
      </section>
      {shown.length < text.length && <Cut bytes={bytesOf(text)} shown={bytesOf(shown)} onDownload={onDownload} />}
    </>
  );
}

/** One text of a tree, with room to read it. */
export function LongTextDialog({
  text,
  label,
  file,
  onClose,
}: {
  text: string;
  label: string;
  file: readonly (string | number)[];
  onClose: () => void;
}) {
  const t = useT();
  const keep = () => download(fileName(file, text), text);
  return (
    <Dialog
      title={label}
      size="wide"
      onClose={onClose}
      actions={
        <>
          <Button icon={<Copy />} onClick={() => void copyText(text)}>
            {t('common.copy')}
          </Button>
          <Button onClick={keep}>{t('common.download_whole')}</Button>
          <Button kind="primary" onClick={onClose}>
            {t('common.close')}
          </Button>
        </>
      }
    >
      <LongText text={text} label={label} onDownload={keep} />
    </Dialog>
  );
}
