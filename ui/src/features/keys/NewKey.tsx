import { Copy } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../api/client';
import { ROLES, type Role } from '../../api/model';
import { queryClient } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { copyText } from '../../ui/copy';
import { Dialog } from '../../ui/Dialog';
import { Field, Input, Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import css from './Keys.module.css';
import { type CreatedKey, KEY_NAME } from './model';

const EXPIRIES = ['never', '30d', '90d', '365d', 'own'] as const;
type Expiry = (typeof EXPIRIES)[number];

/** The form; then the key itself, once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<CreatedKey | null>(null);
  return made ? <Made made={made} onClose={onClose} /> : <KeyForm onMade={setMade} onClose={onClose} />;
}

function KeyForm({ onMade, onClose }: { onMade: (key: CreatedKey) => void; onClose: () => void }) {
  const t = useT();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [email, setEmail] = useState('');
  const [expiry, setExpiry] = useState<Expiry>('90d');
  const [own, setOwn] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const fits = KEY_NAME.test(name);
  const expires = expiry === 'never' ? undefined : expiry === 'own' ? own.trim() : expiry;
  const body = { name, role, email: email.trim() || undefined, expires_in: expires };
  const why = !fits ? t('keys.name_wrong') : expiry === 'own' && own.trim() === '' && t('keys.expiry_own_hint');
  const create = async () => {
    setBusy(true);
    setError(null);
    try {
      onMade(await api.post<CreatedKey>('/api/keys', body));
      void queryClient.invalidateQueries({ queryKey: ['keys'] });
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Dialog
      size="small"
      title={t('keys.new')}
      onClose={onClose}
      actions={
        <>
          <CopyAs
            of={{
              command: () => pawl('key create', [name], { role, email: body.email, expires }),
              curl: () => curl('POST', '/api/keys', { body }),
              disabledReason: why,
            }}
          />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" busy={busy} disabledReason={why} onClick={create}>
            {t('keys.create')}
          </Button>
        </>
      }
    >
      <div className={css.form}>
        <Field label={t('keys.name')} hint={t('keys.name_hint')} error={name !== '' && !fits && t('keys.name_wrong')}>
          {(ids) => <Input {...ids} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label={t('keys.role')} hint={t(`keys.role_${role}`)}>
          {(ids) => (
            <Select
              {...ids}
              choices={ROLES.map((value) => ({ value, name: t.name('common', 'role', value) }))}
              value={role}
              onValue={(value) => setRole(value as Role)}
            />
          )}
        </Field>
        <div className={css.two}>
          <Field label={t('keys.expiry')}>
            {(ids) => (
              <Select
                {...ids}
                choices={EXPIRIES.map((value) => ({ value, name: t(`keys.expiry_${value}`) }))}
                value={expiry}
                onValue={(value) => setExpiry(value as Expiry)}
              />
            )}
          </Field>
          {expiry === 'own' && (
            <Field label={t('keys.expiry_own_label')} hint={t('keys.expiry_own_hint')}>
              {(ids) => <Input {...ids} value={own} onChange={(event) => setOwn(event.target.value)} />}
            </Field>
          )}
        </div>
        <Field label={t('keys.email')} hint={t('keys.email_hint')}>
          {(ids) => <Input {...ids} type="email" value={email} onChange={(event) => setEmail(event.target.value)} />}
        </Field>
        {error !== null && <Problem compact error={error} />}
      </div>
    </Dialog>
  );
}

function Made({ made, onClose }: { made: CreatedKey; onClose: () => void }) {
  const t = useT();
  return (
    <Dialog
      size="small"
      title={t('keys.made', { name: made.name })}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          {t('keys.done')}
        </Button>
      }
    >
      <div className={css.form}>
        <p>{t('keys.made_text')}</p>
        <div className={css.secret}>
          <Input mono readOnly aria-label={t('keys.key')} value={made.key} onFocus={(event) => event.target.select()} />
          <Button icon={<Copy />} onClick={() => void copyText(made.key)}>
            {t('keys.copy')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
