import { useState } from 'react';
import { saveFilter, useSavedFilters } from '../../frame/filters';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, Input } from '../../ui/Field';
import { toast } from '../../ui/toasts';

const LONGEST = 60;

/** Gives the filter a name. */
export function SaveFilter({ search, onClose }: { search: string; onClose: () => void }) {
  const t = useT();
  const [typed, setTyped] = useState('');
  const name = typed.trim();
  const there = useSavedFilters((state) => state.list.some((one) => one.name === name));
  const save = () => {
    saveFilter({ name, search });
    toast({ tone: 'good', text: t('runs.saved_filter', { name }) });
    onClose();
  };
  return (
    <Dialog
      size="small"
      title={t('runs.save_filter')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" disabledReason={name === '' && t('runs.filter_name_missing')} onClick={save}>
            {t('common.save')}
          </Button>
        </>
      }
    >
      <Field label={t('runs.filter_name')} hint={there ? t('runs.filter_replaces') : t('runs.filter_kept')}>
        {(ids) => (
          <Input
            {...ids}
            maxLength={LONGEST}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={(event) => event.key === 'Enter' && name !== '' && save()}
          />
        )}
      </Field>
    </Dialog>
  );
}
