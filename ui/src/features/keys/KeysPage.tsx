import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { api, path } from '../../api/client';
import { usePages } from '../../api/pages';
import { queryClient } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { curl, pawl } from '../../frame/terminal';
import { type Translate, useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { Confirm } from '../../ui/Confirm';
import { Empty } from '../../ui/Empty';
import { Checkbox } from '../../ui/Field';
import { Listing } from '../../ui/Listing';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { Ago, Time } from '../../ui/Time';
import { toast } from '../../ui/toasts';
import css from './Keys.module.css';
import { type ApiKey, stateOf } from './model';
import { NewKey } from './NewKey';

const TONES = { active: 'good', revoked: 'idle', expired: 'warn' } as const;

export default function KeysPage() {
  const t = useT();
  const [adding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const [current, setCurrent] = useState(-1);
  const [all, setAll] = useState(false);
  const pages = usePages<ApiKey>(['keys'], '/api/keys', { limit: 200 });
  const add = () => setAdding(true);
  useCommands([{ id: 'key.new', name: t('keys.new'), group: 'page', keys: 'Shift+N', icon: <Plus />, act: add }]);
  const button = (
    <Button kind="primary" icon={<Plus />} onClick={add}>
      {t('keys.new')}
    </Button>
  );
  const shown = (rows: ApiKey[]) => (all ? rows : rows.filter((key) => key.revoked_at === null));
  return (
    <Page
      title={t('frame.nav_keys')}
      head={<Checkbox label={t('keys.show_revoked')} checked={all} onChange={(event) => setAll(event.target.checked)} />}
      actions={button}
    >
      <Listing
        pages={pages}
        empty={
          <Empty icon={<KeyRound />} title={t('keys.nothing')} action={button}>
            {t('keys.nothing_text')}
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label={t('frame.nav_keys')}
            columns={columns(t, setRevoking)}
            rows={shown(rows)}
            rowKey={(key) => key.id}
            current={current}
            onCurrent={setCurrent}
            onEnd={pages.onEnd}
            rowClass={(key) => stateOf(key) !== 'active' && css.over}
            foot={t('keys.count', { n: shown(rows).length })}
          />
        )}
      </Listing>
      {adding && <NewKey onClose={() => setAdding(false)} />}
      {revoking && <Revoke apiKey={revoking} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

function columns(t: Translate, onRevoke: (key: ApiKey) => void): Column<ApiKey>[] {
  return [
    {
      id: 'name',
      head: t('keys.name'),
      width: 'minmax(140px, 1.5fr)',
      cell: (key) => <span title={key.email ?? undefined}>{key.name}</span>,
    },
    { id: 'role', head: t('keys.role'), width: '110px', cell: (key) => t.name('common', 'role', key.role) },
    {
      id: 'state',
      head: t('keys.state'),
      width: '120px',
      cell: (key) => <Chip tone={TONES[stateOf(key)]}>{t(`keys.${stateOf(key)}`)}</Chip>,
    },
    { id: 'starts', head: t('keys.starts_with'), width: '140px', cell: (key) => <code>{key.starts_with}…</code> },
    {
      id: 'used',
      head: t('keys.used'),
      width: '170px',
      align: 'end',
      cell: (key) => (key.last_used_at ? <Ago at={key.last_used_at} /> : <span className={css.faint}>{t('keys.never_used')}</span>),
    },
    {
      id: 'ends',
      head: t('keys.ends'),
      width: '160px',
      align: 'end',
      cell: (key) =>
        key.expires_at ? <Time at={key.expires_at} style="date" /> : <span className={css.faint}>{t('keys.ends_never')}</span>,
    },
    {
      id: 'created',
      head: t('keys.created'),
      width: 'minmax(200px, 1.2fr)',
      cell: (key) => (
        <>
          <Time at={key.created_at} style="date" /> <span className={css.faint}>{t('keys.by', { name: key.created_by })}</span>
        </>
      ),
    },
    {
      id: 'revoke',
      head: <span className="sr">{t('keys.revoke')}</span>,
      width: '110px',
      align: 'end',
      cell: (key) =>
        key.revoked_at === null && (
          <Button size="small" kind="danger" aria-label={`${t('keys.revoke')} ${key.name}`} onClick={() => onRevoke(key)}>
            {t('keys.revoke')}
          </Button>
        ),
    },
  ];
}

function Revoke({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const t = useT();
  const { id, name } = apiKey;
  const act = async () => {
    await api.delete(path('/api/keys', id));
    toast({ tone: 'good', text: t('keys.revoke_done', { name }) });
    void queryClient.invalidateQueries({ queryKey: ['keys'] });
  };
  return (
    <Confirm
      title={t('keys.revoke_title', { name })}
      name={t('keys.revoke')}
      type={{ label: t.rich('keys.revoke_type', { name: <strong>{name}</strong> }), text: name }}
      act={act}
      aside={<CopyAs of={{ command: () => pawl('key revoke', [id]), curl: () => curl('DELETE', path('/api/keys', id)) }} />}
      onClose={onClose}
    >
      <p>{t('keys.revoke_text')}</p>
    </Confirm>
  );
}
