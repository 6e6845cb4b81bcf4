import { useState } from 'react';
import { api } from '../../api/client';
import { queryClient } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, Input, Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { toast } from '../../ui/toasts';
import css from './Operations.module.css';
import { KINDS, type Kind, type Quota, quotaCall, readLimit } from './quotas';

/** A new limit, or another one for a quota that is there. */
export function SetQuota({ quota, onClose }: { quota?: Quota; onClose: () => void }) {
  const t = useT();
  const [kind, setKind] = useState<Kind>(quota?.kind ?? 'schema');
  const [name, setName] = useState(quota?.name ?? '');
  const [limit, setLimit] = useState(quota?.limit === null || quota === undefined ? '' : String(quota.limit));
  const [rate, setRate] = useState(quota?.rate ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const number = readLimit(limit);
  const why = name.trim() === '' ? t('operations.name_missing') : number === null && t('operations.limit_wrong');
  const body = { limit: number, rate: rate.trim() || undefined };
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await api.put(quotaCall(kind, name.trim()), body);
      await queryClient.invalidateQueries({ queryKey: ['quotas'] });
      toast({ tone: 'good', text: t('operations.saved') });
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Dialog
      size="small"
      title={quota ? t('operations.change_quota') : t('operations.set_quota')}
      onClose={onClose}
      actions={
        <>
          <CopyAs
            of={{
              command: () => pawl('quota set', [`${kind}:${name.trim()}`, number ?? 0], { rate: rate.trim() }),
              curl: () => curl('PUT', quotaCall(kind, name.trim()), { body }),
              disabledReason: why,
            }}
          />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" busy={busy} disabledReason={why} onClick={save}>
            {t('common.save')}
          </Button>
        </>
      }
    >
      <div className={css.form}>
        {!quota && (
          <Field label={t('operations.kind')}>
            {(ids) => (
              <Select
                {...ids}
                choices={KINDS.map((value) => ({ value, name: t(`operations.kind_${value}`) }))}
                value={kind}
                onValue={(value) => setKind(value as Kind)}
              />
            )}
          </Field>
        )}
        <Field label={t('operations.name')} hint={quota ? undefined : t(`operations.name_hint_${kind}`)}>
          {(ids) => <Input {...ids} mono value={name} readOnly={quota !== undefined} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field
          label={t('operations.limit')}
          hint={t('operations.limit_hint')}
          error={limit !== '' && number === null && t('operations.limit_wrong')}
        >
          {(ids) => <Input {...ids} inputMode="numeric" value={limit} onChange={(event) => setLimit(event.target.value)} />}
        </Field>
        <Field label={t('operations.rate')} hint={t('operations.rate_hint')}>
          {(ids) => <Input {...ids} mono value={rate} onChange={(event) => setRate(event.target.value)} />}
        </Field>
        {error !== null && <Problem compact error={error} />}
      </div>
    </Dialog>
  );
}
