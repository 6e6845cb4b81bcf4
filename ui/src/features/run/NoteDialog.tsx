import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import type { Execution } from '../../api/model';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, TextArea } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { addNote } from './api';
import css from './Dialogs.module.css';

/** What was found out about the run, for the next person. */
export function NoteDialog({ run, onClose }: { run: Execution; onClose: () => void }) {
  const t = useT();
  const client = useQueryClient();
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>(null);
  const save = async () => {
    try {
      await addNote(run.id, text);
      void client.invalidateQueries({ queryKey: ['run', run.id] });
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
    }
  };
  return (
    <Dialog
      title={t('run.note')}
      size="small"
      onClose={onClose}
      actions={
        <Button kind="primary" disabledReason={text.trim() === '' && t('run.note_empty')} onClick={() => void save()}>
          {t('common.save')}
        </Button>
      }
    >
      <div className={css.form}>
        <Field label={t('run.note_label')}>
          {(ids) => <TextArea {...ids} rows={4} maxLength={4096} value={text} onChange={(event) => setText(event.target.value)} />}
        </Field>
        {error !== null && <Problem error={error} compact />}
      </div>
    </Dialog>
  );
}
