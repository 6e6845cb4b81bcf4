import { useMemo } from 'react';
import { type Json, write } from '../api/json';
import type { Change } from '../api/model';
import { useT } from '../messages';
import { Cut } from './Cut';
import { download } from './copy';
import css from './Diff.module.css';
import { bytesOf, fileName, payloadText } from './payload';

const LONG = 2000;

function Side({ value, className, path }: { value: Json | undefined; className: string | undefined; path: string }) {
  const text = value === undefined ? '' : write(value, 2);
  const long = text.length > LONG;
  return (
    <>
      <pre className={className}>{long ? `${text.slice(0, LONG)}…` : text}</pre>
      {long && (
        <Cut
          bytes={bytesOf(text)}
          shown={bytesOf(text.slice(0, LONG))}
          onDownload={() => download(fileName([path], value as Json), payloadText(value as Json))}
        />
      )}
    </>
  );
}

/** Changes by JSON pointer: what it was, what it is. Sign, word and colour say the same. */
export function Diff({ changes, limit = 200 }: { changes: readonly Change[]; limit?: number }) {
  const t = useT();
  const shown = useMemo(() => changes.slice(0, limit), [changes, limit]);
  if (changes.length === 0) return <p className={css.none}>{t('common.no_differences')}</p>;
  return (
    <ul className={css.list}>
      {shown.map((change) => (
        <li key={`${change.op}${change.path}`} className={css.change}>
          <div className={css.head}>
            <span className={css[change.op]}>{SIGNS[change.op]}</span>
            <code className={css.path}>{change.path || '/'}</code>
            <span className="sr">{t(`common.${change.op}`)}</span>
          </div>
          {change.op !== 'added' && <Side value={change.before} className={css.before} path={change.path} />}
          {change.op !== 'removed' && <Side value={change.after} className={css.after} path={change.path} />}
        </li>
      ))}
      {changes.length > shown.length && <li className={css.none}>{t('common.more_items', { n: changes.length - shown.length })}</li>}
    </ul>
  );
}

const SIGNS: Record<Change['op'], string> = { added: '+', removed: '−', changed: '~' };
