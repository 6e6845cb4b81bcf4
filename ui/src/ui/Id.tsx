import { Copy } from 'lucide-react';
import { useT } from '../messages';
import { copyText } from './copy';
import css from './Id.module.css';
import { Tooltip } from './Tooltip';

/** The last 8 characters; the whole on hover and on copy. */
export function shortId(id: string): string {
  return id.length > 8 ? id.slice(-8) : id;
}

export function Id({ id, copy = false }: { id: string; copy?: boolean }) {
  const t = useT();
  return (
    <span className={css.id}>
      <Tooltip text={id}>
        <code>{shortId(id)}</code>
      </Tooltip>
      {copy && (
        <button type="button" className={css.copy} aria-label={t('common.copy_id', { id })} onClick={() => copyText(id)}>
          <Copy />
        </button>
      )}
    </span>
  );
}
