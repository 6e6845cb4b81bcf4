import { useMemo, useState } from 'react';
import { DifferenceCanvas } from '../../canvas/DifferenceCanvas';
import { compareDefinitions, type DefinitionDifference, type FieldChange, isSame } from '../../graph/difference';
import { type SchemaDefinition, writeValue } from '../../graph/document';
import { useT } from '../../messages';
import { cx } from '../../ui/cx';
import css from './Versions.module.css';

const SIGNS = { added: '+', removed: '−', changed: '~' };

/** Both versions on one canvas: what is gone stands beside what is there. Cards that only moved are no change. */
export function Picture({ before, after, sameText }: { before: SchemaDefinition; after: SchemaDefinition; sameText: boolean }) {
  const t = useT();
  const difference = useMemo(() => compareDefinitions(before, after), [before, after]);
  const [chosen, setChosen] = useState<string | null>(null);
  if (isSame(difference)) return <p className={css.none}>{t(sameText ? 'versions.same' : 'versions.same_meaning')}</p>;
  return (
    <div className={css.picture}>
      <div className={css.canvas}>
        <DifferenceCanvas
          before={before}
          after={after}
          difference={difference}
          label={t('versions.title')}
          chosen={chosen}
          onChoose={setChosen}
        />
      </div>
      <Changes difference={difference} chosen={chosen} onChoose={setChosen} />
    </div>
  );
}

function Changes({
  difference,
  chosen,
  onChoose,
}: {
  difference: DefinitionDifference;
  chosen: string | null;
  onChoose: (id: string) => void;
}) {
  const t = useT();
  return (
    <aside className={css.list} aria-label={t('versions.changes')}>
      <h2>{t('versions.changes')}</h2>
      {difference.top.map((change) => (
        <Field key={change.path} change={change} />
      ))}
      {difference.nodes.map((change) => (
        <section key={change.id} className={cx(css.node, change.id === chosen && css.chosen)}>
          <button type="button" onClick={() => onChoose(change.id)}>
            <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
            <code>{change.id}</code>
            <small>{t(`common.${change.kind}`)}</small>
          </button>
          {change.fields.map((field) => (
            <Field key={field.path} change={field} />
          ))}
        </section>
      ))}
      {difference.edges.map((change) => {
        const edge = change.after ?? change.before;
        return (
          <p key={change.key} className={css.edge}>
            <span className={css[change.kind]}>{SIGNS[change.kind]}</span>
            <code>
              {edge?.source}
              {edge?.sourceHandle ? ` · ${edge.sourceHandle}` : ''} → {edge?.target}
            </code>
          </p>
        );
      })}
    </aside>
  );
}

function Field({ change }: { change: FieldChange }) {
  return (
    <div className={css.field}>
      <code>{change.path}</code>
      {change.before !== undefined && <pre className={css.old}>{writeValue(change.before)}</pre>}
      {change.after !== undefined && <pre className={css.fresh}>{writeValue(change.after)}</pre>}
    </div>
  );
}
