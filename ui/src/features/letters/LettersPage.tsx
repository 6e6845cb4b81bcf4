import { useQuery } from '@tanstack/react-query';
import { MailCheck, MailX, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../api/client';
import type { DeadLetter } from '../../api/model';
import { type Pages, usePages } from '../../api/pages';
import { useLiveQueries } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { go, Link, useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Empty } from '../../ui/Empty';
import { Select } from '../../ui/Field';
import { FilterInput } from '../../ui/FilterInput';
import { formatBytes } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Listing } from '../../ui/Listing';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import type { LetterCount } from './calls';
import css from './Letters.module.css';
import { RequeueAll } from './RequeueAll';
import { lettersSearch } from './search';

export default function LettersPage() {
  const t = useT();
  const { reason: missing } = useRole();
  const [search] = useSearch(lettersSearch);
  const [bulk, setBulk] = useState(false);
  const filter = { open: search.open === 'all' ? undefined : search.open, reason: search.reason };
  const pages = usePages<DeadLetter>(['letters'], '/api/dead-letters', { ...filter, order: search.order, limit: 100 });
  const count = useQuery({
    queryKey: ['letters', 'count', filter],
    queryFn: ({ signal }) => api.get<LetterCount>('/api/dead-letters/count', filter, signal),
  });
  useLiveQueries(['letters'], [['letters']]);
  const none = count.data?.count === 0 && t('letters.bulk_none');
  const can = missing('operator') ?? (search.open === 'false' ? t('letters.bulk_none') : none);
  // `pawl dlq list` begins with the oldest.
  const lacks = [
    (search.open === 'false' || search.reason !== '') && t('letters.filter'),
    search.order === 'newest' && `${t('letters.order')} (${t('letters.order_newest')})`,
  ].filter((name) => name !== false);
  return (
    <Page
      title={t('frame.nav_dead-letters')}
      head={<Filters />}
      actions={
        <>
          <CopyAs
            of={{
              command: lacks.length > 0 ? lacks : () => pawl('dlq list', [], { open: filter.open === 'true' }),
              curl: () => curl('GET', '/api/dead-letters', { query: { ...filter, order: search.order } }),
            }}
          />
          <Button icon={<RotateCw />} disabledReason={can} onClick={() => setBulk(true)}>
            {t('letters.requeue_all')}
          </Button>
        </>
      }
    >
      <Listing pages={pages} empty={<Nothing filtered={search.open !== 'true' || search.reason !== ''} />}>
        {(rows) => <Letters rows={rows} pages={pages} count={count.data} />}
      </Listing>
      {bulk && <RequeueAll reason={search.reason} onClose={() => setBulk(false)} />}
    </Page>
  );
}

function Filters() {
  const t = useT();
  const [search, set] = useSearch(lettersSearch);
  const states = (['true', 'false', 'all'] as const).map((value) => ({ value, name: t(`letters.show_${value}`) }));
  const orders = (['newest', 'oldest'] as const).map((value) => ({ value, name: t(`letters.order_${value}`) }));
  return (
    <div className={css.filters}>
      <FilterInput
        className={css.text}
        label={t('letters.filter')}
        value={search.reason}
        onValue={(reason) => set({ reason }, { replace: true })}
      />
      <Select
        aria-label={t('letters.show')}
        choices={states}
        value={search.open}
        onValue={(open) => set({ open: open as typeof search.open })}
      />
      <Select
        aria-label={t('letters.order')}
        choices={orders}
        value={search.order}
        onValue={(order) => set({ order: order as typeof search.order })}
      />
    </div>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  const t = useT();
  const [, set] = useSearch(lettersSearch);
  if (!filtered)
    return (
      <Empty icon={<MailCheck />} title={t('letters.nothing')}>
        {t('letters.nothing_text')}
      </Empty>
    );
  const clear = () => set({ open: 'true', reason: '' });
  return <Empty icon={<MailX />} title={t('letters.nothing_fits')} action={<Button onClick={clear}>{t('common.clear_filters')}</Button>} />;
}

function Letters({ rows, pages, count }: { rows: DeadLetter[]; pages: Pages<DeadLetter>; count: LetterCount | undefined }) {
  const t = useT();
  const [current, setCurrent] = useState(-1);
  const columns: Column<DeadLetter>[] = [
    {
      id: 'reason',
      head: t('letters.reason'),
      width: 'minmax(220px, 3fr)',
      cell: (letter) => (
        <Link className={css.reason} href={`/dead-letters/${letter.id}`}>
          {letter.reason}
        </Link>
      ),
    },
    {
      id: 'run',
      head: t('letters.run'),
      width: 'minmax(96px, 120px)',
      cell: ({ execution_id: id }) =>
        id ? (
          <Link href={`/runs/${id}`}>
            <Id id={id} />
          </Link>
        ) : (
          <span className={css.faint}>{t('letters.no_run')}</span>
        ),
    },
    {
      id: 'size',
      head: t('letters.size'),
      width: '96px',
      align: 'end',
      cell: ({ message_bytes: bytes }) =>
        bytes === null ? <span className={css.faint}>{t('letters.not_kept')}</span> : formatBytes(bytes),
    },
    { id: 'age', head: t('letters.age'), width: '128px', align: 'end', cell: (letter) => <Ago at={letter.created_at} /> },
    {
      id: 'as',
      head: t('letters.as'),
      width: 'minmax(110px, 160px)',
      cell: ({ requeued_at: at, requeued_as: as }) =>
        as ? (
          <Link href={`/runs/${as}`}>
            <Id id={as} />
          </Link>
        ) : (
          at && t('letters.state_requeued')
        ),
    },
  ];
  const said = count && (count.capped ? t('letters.count_capped', { count: count.count }) : t('letters.count', { n: count.count }));
  return (
    <Table
      label={t('frame.nav_dead-letters')}
      columns={columns}
      rows={rows}
      rowKey={(letter) => letter.id}
      current={current}
      onCurrent={setCurrent}
      onOpen={(letter) => go(`/dead-letters/${letter.id}`)}
      onEnd={pages.onEnd}
      foot={said}
    />
  );
}
