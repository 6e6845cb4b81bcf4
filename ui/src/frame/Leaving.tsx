import { useState } from 'react';
import { create } from 'zustand';
import { asApiError } from '../api/error';
import { translateNow, useT } from '../messages';
import { refusalSaid } from '../messages/said';
import { Button } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { Problem } from '../ui/Problem';
import { toast } from '../ui/toasts';
import { closeDrafts, draftNames, forgetDrafts } from './drafts';
import { go } from './navigate';
import { logout } from './session';

/** Drafts that are kept here when a person wants to log out. */
const useLeaving = create<{ drafts: readonly string[] | null }>(() => ({ drafts: null }));

async function leave(forget: boolean): Promise<void> {
  closeDrafts(forget);
  try {
    await logout();
  } catch (thrown) {
    closeDrafts(false);
    throw thrown;
  }
  if (forget) await forgetDrafts();
  go('/login');
}

/** Asks about drafts of schemas, if there are any. It says itself what went wrong. */
export async function askToLeave(): Promise<void> {
  try {
    const drafts = await draftNames();
    if (drafts.length === 0) await leave(false);
    else useLeaving.setState({ drafts });
  } catch (thrown) {
    toast({ text: refusalSaid(asApiError(thrown), translateNow()), tone: 'bad' });
  }
}

/** Once, in the frame. */
export function Leaving() {
  const drafts = useLeaving((state) => state.drafts);
  return drafts && <Question drafts={drafts} onClose={() => useLeaving.setState({ drafts: null })} />;
}

const SHOWN = 8;

function Question({ drafts, onClose }: { drafts: readonly string[]; onClose: () => void }) {
  const t = useT();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const act = async (forget: boolean) => {
    setBusy(true);
    try {
      await leave(forget);
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  const names = drafts.slice(0, SHOWN).map((name) => (name === 'new' ? t('frame.draft_new') : name));
  return (
    <Dialog
      size="small"
      title={t('frame.logout')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button disabledReason={busy && t('common.loading')} onClick={() => void act(false)}>
            {t('frame.leave_keep')}
          </Button>
          <Button kind="danger" busy={busy} onClick={() => void act(true)}>
            {t('frame.leave_forget')}
          </Button>
        </>
      }
    >
      <p>{t('frame.leave_drafts', { n: drafts.length })}</p>
      <ul>
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
        {drafts.length > SHOWN && <li>…</li>}
      </ul>
      {error !== null && <Problem compact error={error} />}
    </Dialog>
  );
}
