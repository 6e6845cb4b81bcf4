import { useRole } from '../../../frame/session';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { formatTime } from '../../../ui/format';
import { useEditor } from '../model/context';
import type { Draft } from '../model/drafts';
import type { Neighbours } from '../model/neighbours';
import css from './Workbench.module.css';

/** Other tabs, versions from elsewhere, and why nothing can be changed. */
export function Banners({ neighbours }: { neighbours: Neighbours }) {
  const t = useT();
  const { reason } = useRole();
  const readOnly = useEditor((state) => state.readOnly);
  const version = useEditor((state) => state.saved.version);
  const newer = neighbours.savedElsewhere !== null && version !== null && neighbours.savedElsewhere > version;
  const text =
    reason('editor') ??
    (newer
      ? t('editor.saved_elsewhere', { version: neighbours.savedElsewhere ?? 0 })
      : neighbours.others > 0 && !readOnly
        ? t('editor.other_tabs', { n: neighbours.others })
        : null);
  if (text === null) return null;
  return (
    <div className={css.banner} role="status">
      <p>{text}</p>
    </div>
  );
}

export function DraftBanner({ draft, onUse, onDrop }: { draft: Draft; onUse: () => void; onDrop: () => void }) {
  const t = useT();
  return (
    <div className={css.banner} role="status">
      <p>{t('editor.draft_found', { time: formatTime(new Date(draft.at).toISOString(), 'full'), version: draft.version ?? 0 })}</p>
      <Button size="small" kind="primary" onClick={onUse}>
        {t('editor.draft_use')}
      </Button>
      <Button size="small" onClick={onDrop}>
        {t('editor.draft_drop')}
      </Button>
    </div>
  );
}
