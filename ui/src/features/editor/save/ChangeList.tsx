import { useEffect, useRef } from 'react';
import type { DefinitionDifference, FieldChange } from '../../../graph/difference';
import { writeValue } from '../../../graph/document';
import { useT } from '../../../messages';
import css from './Save.module.css';

const SIGNS = { added: '+', removed: '−', changed: '~' };

/** Added, removed and changed nodes and edges, by colour and sign. */
export function ChangeList({ difference, chosen = null }: { difference: DefinitionDifference; chosen?: string | null }) {
  const t = useT();
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (chosen !== null) list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <ul ref={list} className={css.changes} aria-label={t('editor.changes')}>
      {difference.top.map((change) => (
        <li key={change.path}>
          <span className={css.changed}>~</span>
          <code>{change.path}</code>
          <FieldText change={change} />
        </li>
      ))}
      {difference.nodes.map((change) => (
        <li key={change.id} aria-current={change.id === chosen || undefined}>
          <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
          <code>{change.id}</code>
          <span className="sr">{t(`common.${change.kind}`)}</span>
          {change.fields.map((field) => (
            <div key={field.path} className={css.fieldChange}>
              <code>{field.path}</code>
              <FieldText change={field} />
            </div>
          ))}
        </li>
      ))}
      {difference.edges.map((change) => {
        const edge = change.after ?? change.before;
        return (
          <li key={change.key}>
            <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
            <code>
              {edge?.source}
              {edge?.sourceHandle ? ` · ${edge.sourceHandle}` : ''} → {edge?.target}
            </code>
            <span className="sr">{t(`common.${change.kind}`)}</span>
          </li>
        );
      })}
    </ul>
  );
}

const LONGEST = 160;

function FieldText({ change }: { change: FieldChange }) {
  return (
    <>
      {change.before !== undefined && <del>{shortened(change.before)}</del>}
      {change.after !== undefined && <ins>{shortened(change.after)}</ins>}
    </>
  );
}

function shortened(value: unknown): string {
  const text = writeValue(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
