import { Copy, Download } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import type { Json } from '../api/json';
import { useT } from '../messages';
import { IconButton } from './Button';
import { copyText, download } from './copy';
import { formatBytes } from './format';
import { JsonTree, type JsonTreeProps } from './JsonTree';
import { LONG } from './json-lines';
import { LongText } from './LongText';
import { bytesOf, fileName, payloadText } from './payload';
import css from './Value.module.css';

export interface ValueProps extends Pick<JsonTreeProps, 'onPick' | 'maxHeight'> {
  name: string;
  value: Json | undefined;
  /** How the file of a download is called, before the name of the value: `['order-check', 'e166', 'step', 17]`. */
  file?: readonly (string | number)[];
  /** Beside copy and download. */
  actions?: ReactNode;
}

/** A payload under its name: how large it is, the way to copy it, the way to have it as a file, and what is in it. */
export function Value({ name, value, file = [], actions, onPick, maxHeight = 280 }: ValueProps) {
  if (value === null || value === undefined) return null;
  const parts = [...file, name];
  return (
    <section>
      <div className={css.head}>
        <h3>{name}</h3>
        <ValueActions name={name} value={value} file={parts}>
          {actions}
        </ValueActions>
      </div>
      {typeof value === 'string' && value.length > LONG ? (
        <LongText text={value} label={name} maxHeight={maxHeight} onDownload={() => download(fileName(parts, value), value)} />
      ) : (
        <JsonTree value={value} label={name} maxHeight={maxHeight} onPick={onPick} file={parts} />
      )}
    </section>
  );
}

/** The size of a value, and its copy and download. */
export function ValueActions({
  name,
  value,
  file,
  children,
}: {
  name: string;
  value: Json;
  file: readonly (string | number)[];
  children?: ReactNode;
}) {
  const t = useT();
  const text = useMemo(() => payloadText(value), [value]);
  const size = useMemo(() => bytesOf(text), [text]);
  return (
    <span className={css.actions}>
      {size >= 1000 && <span className={css.size}>{formatBytes(size)}</span>}
      {children}
      <IconButton size="small" name={t('common.copy_named', { name })} icon={<Copy />} onClick={() => void copyText(text)} />
      <IconButton
        size="small"
        name={t('common.download_named', { name })}
        icon={<Download />}
        onClick={() => download(fileName(file, value), text)}
      />
    </span>
  );
}
