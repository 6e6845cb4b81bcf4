import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client';
import { go } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { TextArea } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import css from './Schemas.module.css';

/** The editor takes it from here when it opens. */
const HANDED = 'pawl.import';

interface Found {
  valid: boolean;
  name: string | null;
  diagnostics: { severity: string; code: string; message: string; line?: number | null; pointer: string }[];
}

/** Checked here, shown on the canvas before anything is stored. */
export function ImportDialog({ text: given, onClose }: { text: string; onClose: () => void }) {
  const t = useT();
  const [text, setText] = useState(given);
  const check = useMutation({
    mutationFn: async (content: string) => {
      const type = content.trimStart().startsWith('{') ? ('application/json' as const) : ('application/yaml' as const);
      return (await call<Found>('POST', '/api/schemas/validate', { text: { type, content } })).data;
    },
    onSuccess: (found) => found.valid && open(),
  });
  const open = () => {
    sessionStorage.setItem(HANDED, text);
    go('/new/schema');
  };
  const errors = check.data?.diagnostics.filter((one) => one.severity === 'error') ?? [];
  return (
    <Dialog
      size="wide"
      title={t('schemas.import')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          {errors.length > 0 && <Button onClick={open}>{t('schemas.open_anyway')}</Button>}
          <Button
            kind="primary"
            busy={check.isPending}
            disabledReason={text.trim() === '' && t('schemas.import_empty')}
            onClick={() => check.mutate(text)}
          >
            {t('schemas.import_show')}
          </Button>
        </>
      }
    >
      <div className={css.import}>
        <p className={css.faint}>{t('schemas.import_about')}</p>
        <input
          type="file"
          accept=".yaml,.yml,.json"
          aria-label={t('schemas.import_file')}
          onChange={(event) => void event.target.files?.[0]?.text().then(setText)}
        />
        <TextArea mono rows={16} aria-label={t('schemas.import')} value={text} onChange={(event) => setText(event.target.value)} />
        {check.error && <Problem compact error={check.error} />}
        {errors.length > 0 && (
          <ul className={css.errors}>
            {errors.map((one) => (
              <li key={one.pointer + one.code}>
                {one.line ? `${one.line}: ` : ''}
                {one.message}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  );
}
