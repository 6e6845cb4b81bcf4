import { useMemo, useState } from 'react';
import type { NodeType } from '../../../api/model';
import { useT } from '../../../messages';
import { iconOf } from '../../../nodes';
import { Input } from '../../../ui/Field';
import { Tooltip } from '../../../ui/Tooltip';
import { useTools } from '../model/context';
import { KINDS, matching } from './AddMenu';
import css from './TypePalette.module.css';

export const DRAGGED_TYPE = 'application/x-pawl-node-type';

/** All types by kind: click adds behind the selected node, dragging puts one anywhere. */
export function TypePalette({ onAdd }: { onAdd: (type: string) => void }) {
  const t = useT();
  const { types } = useTools();
  const [text, setText] = useState('');
  const groups = useMemo(() => {
    const found = matching(types.values(), text);
    const kinds = [...new Set([...KINDS, ...found.map((type) => type.category)])];
    return kinds.map((kind) => ({ kind, found: found.filter((type) => type.category === kind) })).filter((group) => group.found.length > 0);
  }, [types, text]);
  return (
    <aside className={css.palette} aria-label={t('editor.palette')}>
      <div className={css.search}>
        <Input
          aria-label={t('editor.search_types')}
          placeholder={t('editor.search_types')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <div className={css.scroll}>
        {groups.map(({ kind, found }) => (
          <section key={kind}>
            <h3 className={css.kind}>{t.name('editor', 'kind', kind)}</h3>
            {found.map((type) => (
              <TypeButton key={type.type} type={type} onAdd={onAdd} />
            ))}
          </section>
        ))}
        {groups.length === 0 && <p className={css.none}>{t('editor.no_types')}</p>}
      </div>
    </aside>
  );
}

function TypeButton({ type, onAdd }: { type: NodeType; onAdd: (type: string) => void }) {
  const t = useT();
  const Icon = iconOf(type.type);
  return (
    <Tooltip text={t.maybe(`nodes.summary_${type.type}`) ?? type.summary} side="right">
      <button
        type="button"
        className={css.type}
        draggable
        onDragStart={(event) => {
          event.dataTransfer.setData(DRAGGED_TYPE, type.type);
          event.dataTransfer.effectAllowed = 'copy';
        }}
        onClick={() => onAdd(type.type)}
      >
        <Icon aria-hidden />
        <span>{t.maybe(`nodes.title_${type.type}`) ?? type.title}</span>
      </button>
    </Tooltip>
  );
}
