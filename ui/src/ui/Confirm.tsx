import { type ReactNode, useState } from 'react';
import { useT } from '../messages';
import { Button } from './Button';
import { Dialog } from './Dialog';
import { Field, Input } from './Field';
import { Problem } from './Problem';

/** Asks before something that cannot be taken back. With `type`, that text must be typed first. */
export function Confirm({
  title,
  children,
  name,
  danger = true,
  type,
  act,
  aside,
  onClose,
}: {
  title: string;
  children: ReactNode;
  /** What the button says. */
  name: string;
  danger?: boolean;
  type?: { label: ReactNode; text: string };
  act: () => Promise<unknown>;
  /** Before the buttons. */
  aside?: ReactNode;
  onClose: () => void;
}) {
  const t = useT();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const ready = !type || typed.trim() === type.text;
  const go = async () => {
    setBusy(true);
    setError(null);
    try {
      await act();
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Dialog
      size="small"
      title={title}
      onClose={onClose}
      actions={
        <>
          {aside}
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} disabledReason={!ready && t('common.type_first')} onClick={go}>
            {name}
          </Button>
        </>
      }
    >
      {children}
      {type && (
        <Field label={type.label}>{(ids) => <Input {...ids} value={typed} onChange={(event) => setTyped(event.target.value)} />}</Field>
      )}
      {error !== null && <Problem compact error={error} />}
    </Dialog>
  );
}
