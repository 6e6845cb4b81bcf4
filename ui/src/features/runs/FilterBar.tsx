import { useQuery } from '@tanstack/react-query';
import { Bookmark, BookmarkPlus, ListFilter, Pin, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { STATUSES, type Status } from '../../api/model';
import { copyItems } from '../../frame/CopyAs';
import { useSavedFilters } from '../../frame/filters';
import { go, type SetSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip, type Tone } from '../../ui/Chip';
import { Input, Select } from '../../ui/Field';
import { formatNumber } from '../../ui/format';
import { Menu } from '../../ui/Menu';
import { StatusIcon, toneOf } from '../../ui/Status';
import { counts, filterOf, hasRelativeTime, isFiltered, pinned, schemaNames } from './calls';
import css from './FilterBar.module.css';
import { listCommand, listCurl, withoutOption } from './lines';
import { isMore, MoreFilters, type MoreName, usedMore } from './MoreFilters';
import { SaveFilter } from './SaveFilter';
import { type RunsSearch, runsSearch } from './search';

const SINCE = ['', '1h', '24h', '7d', '30d'] as const;

/** All of the filter is in the address; nothing is kept anywhere else. */
export function FilterBar({ search, set }: { search: RunsSearch; set: SetSearch<RunsSearch> }) {
  const t = useT();
  const [asked, setAsked] = useState<readonly MoreName[]>([]);
  const more = [...new Set([...usedMore(search), ...asked])];
  const filter = filterOf(search);
  const lacks = withoutOption(filter).map((name) => (isMore(name) ? t(`runs.more_${name}`) : name));
  const saved = useSavedFilters((state) => state.list);
  const [saving, setSaving] = useState(false);
  const clear = () => {
    setAsked([]);
    set({ ...runsSearch.read({}).value, sel: search.sel });
  };
  return (
    <div className={css.bar}>
      <Statuses search={search} set={set} />
      <div className={css.fields}>
        <SchemaChoice search={search} set={set} />
        <SinceChoice search={search} set={set} />
        <TextFilter search={search} set={set} />
        <MoreFilters search={search} set={set} shown={more} onShow={(name) => setAsked([...asked, name])} />
        {isFiltered(filter) && (
          <Button kind="quiet" icon={<X />} onClick={clear}>
            {t('common.clear_filters')}
          </Button>
        )}
        <Menu
          label={t('runs.filter_actions')}
          items={[
            saved.length > 0 && { group: t('runs.saved_filters') },
            ...saved.map((one) => ({ name: one.name, icon: <Bookmark />, act: () => go(`/runs${one.search}`) })),
            saved.length > 0 && 'line',
            {
              name: t('runs.save_filter'),
              icon: <BookmarkPlus />,
              disabledReason: !isFiltered(filter) && t('runs.no_filter'),
              act: () => setSaving(true),
            },
            ...copyItems(t, { command: lacks.length > 0 ? lacks : () => listCommand(filter), curl: () => listCurl(filter) }),
            {
              name: t('runs.pin'),
              icon: <Pin />,
              disabledReason: !hasRelativeTime(search) && t('runs.pin_nothing'),
              act: () => set(pinned(search)),
            },
          ]}
        >
          <Button kind="quiet" icon={<ListFilter />} aria-label={t('runs.filter_actions')} />
        </Menu>
        {saving && <SaveFilter search={addressOf(search)} onClose={() => setSaving(false)} />}
      </div>
    </div>
  );
}

/** Only the filter: neither a dialog nor the run in the panel. */
function addressOf(search: RunsSearch): string {
  const { sel: _sel, start: _start, from: _from, bulk: _bulk, of: _of, ...filter } = search;
  return runsSearch.write(filter);
}

interface Part {
  search: RunsSearch;
  set: SetSearch<RunsSearch>;
}

/** Counts are of the other filters, so a chip says what a click on it would show. */
function Statuses({ search, set }: Part) {
  const t = useT();
  const { status: _, ...others } = filterOf(search);
  const found = useQuery(counts(others)).data;
  const toggle = (status: Status) => {
    const chosen = search.status.includes(status) ? search.status.filter((one) => one !== status) : [...search.status, status];
    set({ status: STATUSES.filter((one) => chosen.includes(one)) });
  };
  return (
    <fieldset className={css.statuses}>
      <legend className="sr">{t('runs.status')}</legend>
      {STATUSES.map((status) => {
        const group = found?.groups.find((one) => one.key === status);
        const on = search.status.includes(status);
        const empty = found !== undefined && !group && !on;
        return (
          <Chip key={status} tone={toneOf(status) as Tone} on={on} onToggle={() => toggle(status)} faint={empty}>
            <StatusIcon status={status} size={14} />
            {t.name('common', 'status', status)}
            {group && <span className={css.count}>{`${formatNumber(group.count)}${group.capped ? '+' : ''}`}</span>}
          </Chip>
        );
      })}
    </fieldset>
  );
}

function SchemaChoice({ search, set }: Part) {
  const t = useT();
  const names = useQuery(schemaNames()).data?.items.map((schema) => schema.name) ?? [];
  const all = search.schema && !names.includes(search.schema) ? [search.schema, ...names] : names;
  return (
    <Select
      className={css.schema}
      aria-label={t('runs.schema')}
      value={search.schema}
      onValue={(schema) => set({ schema })}
      choices={[{ value: '', name: t('runs.any_schema') }, ...all.map((name) => ({ value: name, name }))]}
    />
  );
}

function SinceChoice({ search, set }: Part) {
  const t = useT();
  const known = SINCE.includes(search.since as (typeof SINCE)[number]);
  const choices = SINCE.map((value) => ({ value, name: t(`runs.since_${value === '' ? 'any' : value}`) }));
  return (
    <Select
      aria-label={t('runs.since')}
      value={search.since}
      onValue={(since) => set({ since })}
      choices={known ? choices : [...choices, { value: search.since, name: t('runs.since_at', { time: search.since }) }]}
    />
  );
}

/** Typing goes to the address after a pause, and over the same history entry. */
function TextFilter({ search, set }: Part) {
  const t = useT();
  const [text, setText] = useState(search.q);
  useEffect(() => setText(search.q), [search.q]);
  useEffect(() => {
    if (text === search.q) return;
    const timer = setTimeout(() => set({ q: text }, { replace: search.q !== '' }), 300);
    return () => clearTimeout(timer);
  }, [text, search.q, set]);
  return (
    <Input
      className={css.text}
      type="search"
      data-filter
      aria-label={t('runs.text')}
      placeholder={t('runs.text')}
      title={t('runs.text_hint')}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
