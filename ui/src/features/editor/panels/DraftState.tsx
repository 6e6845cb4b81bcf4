import { useT } from '../../../messages';
import { formatTime } from '../../../ui/format';
import { useEditor } from '../model/context';
import { isDirty } from '../model/store';
import css from './Workbench.module.css';

export function DraftState({ kept }: { kept: number | null }) {
  const t = useT();
  const dirty = useEditor(isDirty);
  const version = useEditor((state) => state.saved.version);
  const readOnly = useEditor((state) => state.readOnly);
  if (readOnly) return null;
  if (!dirty) return <span className={css.state}>{version === null ? t('editor.is_new') : t('editor.is_saved', { version })}</span>;
  const at = kept === null ? '' : formatTime(new Date(kept).toISOString(), 'time');
  return (
    <span className={css.state}>
      <span className={css.dot} aria-hidden />
      {kept === null ? t('editor.unsaved') : t('editor.unsaved_draft', { time: at })}
    </span>
  );
}
