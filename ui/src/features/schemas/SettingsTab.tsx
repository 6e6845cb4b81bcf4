import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client';
import { write } from '../../api/json';
import type { Schema } from '../../api/model';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Confirm } from '../../ui/Confirm';
import { Id } from '../../ui/Id';
import { Problem } from '../../ui/Problem';
import { Time } from '../../ui/Time';
import { openByNode, schemaPath } from './model';
import css from './Schemas.module.css';

/** Facts, and what can be done to the schema as a whole. */
export function SettingsTab({ schema }: { schema: Schema }) {
  const t = useT();
  const client = useQueryClient();
  const { reason } = useRole();
  const [deleting, setDeleting] = useState(false);
  const open = useQuery({
    queryKey: ['counts', 'node', schema.name],
    queryFn: ({ signal }) => openByNode(schema.name, signal),
    retry: false,
  });
  const again = () =>
    Promise.all([client.invalidateQueries({ queryKey: ['schema', schema.name] }), client.invalidateQueries({ queryKey: ['schemas'] })]);
  const toggle = useMutation({
    mutationFn: () => api.post<Schema>(schemaPath(schema.name, schema.active ? 'deactivate' : 'activate')),
    onSuccess: again,
  });
  const remove = async () => {
    await api.delete(schemaPath(schema.name));
    await client.invalidateQueries({ queryKey: ['schemas'] });
    go('/schemas', { replace: true });
  };
  const settings = Object.entries(schema.definition?.settings ?? {});
  return (
    <div className={css.pad}>
      <dl className={css.facts}>
        <dt>{t('schemas.id')}</dt>
        <dd>
          <Id id={schema.id} copy />
        </dd>
        <dt>{t('schemas.created')}</dt>
        <dd>
          <Time at={schema.created_at} />
        </dd>
        {schema.external_id !== null && (
          <>
            <dt>external_id</dt>
            <dd>{schema.external_id}</dd>
          </>
        )}
        {settings.map(([name, value]) => (
          <Fact key={name} name={name} value={typeof value === 'string' ? value : write(value)} />
        ))}
      </dl>
      {settings.length === 0 && <p className={css.faint}>{t('schemas.all_defaults')}</p>}
      <div className={css.row}>
        <Button busy={toggle.isPending} disabledReason={reason('editor')} onClick={() => toggle.mutate()}>
          {t(schema.active ? 'schemas.deactivate' : 'schemas.activate')}
        </Button>
        <span className={css.faint}>{t(schema.active ? 'schemas.deactivate_about' : 'schemas.activate_about')}</span>
      </div>
      {toggle.error && <Problem compact error={toggle.error} />}
      <div className={css.danger}>
        <Button kind="danger" disabledReason={reason('editor')} onClick={() => setDeleting(true)}>
          {t('schemas.delete')}
        </Button>
      </div>
      {deleting && (
        <Confirm
          title={t('schemas.delete_title', { name: schema.name })}
          name={t('common.delete')}
          type={{ label: t('schemas.delete_type', { name: schema.name }), text: schema.name }}
          act={remove}
          onClose={() => setDeleting(false)}
        >
          <p>{t('schemas.delete_about')}</p>
          <p>{open.data ? t('schemas.open_go_on', { n: open.data.total }) : t('schemas.open_runs_go_on')}</p>
        </Confirm>
      )}
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
      </dd>
    </>
  );
}
