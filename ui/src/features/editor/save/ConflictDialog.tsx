import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, path } from '../../../api/client';
import type { Schema } from '../../../api/model';
import { SchemaText, writeValue } from '../../../graph/document';
import { compareThree, type MergeItem, type MergeSide, mergePatches } from '../../../graph/merge';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { Dialog } from '../../../ui/Dialog';
import { Loaded } from '../../../ui/Loaded';
import { useEditor, useTools } from '../model/context';
import css from './Save.module.css';
import { definitionOf } from './SaveDialog';
import { textOf } from './save';

/** Another version was stored meanwhile: base, theirs and yours, node by node. What only one of you changed is taken without asking. */
export function ConflictDialog({ onClose, onMerged }: { onClose: () => void; onMerged: () => void }) {
  const t = useT();
  const { stored } = useTools();
  const latest = useQuery({
    queryKey: ['schema', stored, 'conflict'],
    queryFn: ({ signal }) => api.get<Schema>(path('/api/schemas', stored ?? ''), undefined, signal),
    gcTime: 0,
  });
  return (
    <Dialog size="wide" title={t('editor.conflict')} onClose={onClose}>
      <Loaded query={latest}>{(theirs) => <Merge theirs={theirs} onClose={onClose} onMerged={onMerged} />}</Loaded>
    </Dialog>
  );
}

function Merge({ theirs, onClose, onMerged }: { theirs: Schema; onClose: () => void; onMerged: () => void }) {
  const t = useT();
  const { store } = useTools();
  const saved = useEditor((state) => state.saved);
  const yours = useEditor((state) => state.document.definition);
  const theirText = useMemo(() => textOf(theirs), [theirs]);
  const items = useMemo(() => {
    const [base, other] = [definitionOf(saved.text), definitionOf(theirText)];
    return base === null || other === null ? [] : compareThree(base, other, yours);
  }, [saved.text, theirText, yours]);
  const [sides, setSides] = useState<ReadonlyMap<MergeItem, MergeSide>>(new Map());
  const conflicts = items.filter((item) => item.kind === 'conflict');
  const open = conflicts.filter((item) => !sides.has(item)).length;
  const merge = () => {
    const reading = SchemaText.read(theirText);
    if (!reading.ok) return;
    const patches = mergePatches(reading.document.definition, items, (item) => sides.get(item) ?? 'theirs');
    const merged = reading.document.patched(patches);
    const state = store.getState();
    state.replace(merged.text, state.layout);
    state.rebase({ ...state.saved, text: theirText, version: theirs.latest_version });
    onMerged();
  };
  return (
    <div className={css.save}>
      <p>
        {t('editor.conflict_about', {
          version: theirs.latest_version,
          by: theirs.created_by ?? t('common.unknown'),
          base: saved.version ?? 0,
        })}
      </p>
      <ul className={css.merge}>
        {items.map((item) => (
          <MergeRow
            key={`${item.part} ${item.key}`}
            item={item}
            side={sides.get(item)}
            onSide={(side) => setSides(new Map(sides).set(item, side))}
          />
        ))}
      </ul>
      <footer className={css.foot}>
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button kind="primary" disabledReason={open > 0 && t('editor.choose_first', { n: open })} onClick={merge}>
          {t('editor.take_both')}
        </Button>
      </footer>
    </div>
  );
}

function MergeRow({ item, side, onSide }: { item: MergeItem; side: MergeSide | undefined; onSide: (side: MergeSide) => void }) {
  const t = useT();
  const name = item.part === 'edge' ? item.key.replace('\u0000', ' · ') : item.key;
  return (
    <li className={css.mergeRow}>
      <div>
        <code>{name}</code> <span className={css.faint}>{t.name('editor', 'part', item.part)}</span>
        <p className={item.kind === 'conflict' ? css.removed : css.faint}>{t.name('editor', 'merge', item.kind)}</p>
      </div>
      {item.kind === 'conflict' && (
        <div className={css.sides} role="radiogroup" aria-label={name}>
          {(['theirs', 'yours'] as const).map((one) => (
            <label key={one} className={css.side} data-chosen={side === one || undefined}>
              <input type="radio" name={`${item.part} ${item.key}`} checked={side === one} onChange={() => onSide(one)} />
              <b>{t(one === 'theirs' ? 'editor.theirs' : 'editor.yours')}</b>
              <pre>{item[one] === undefined ? t('editor.is_deleted') : writeValue(item[one])}</pre>
            </label>
          ))}
        </div>
      )}
    </li>
  );
}
