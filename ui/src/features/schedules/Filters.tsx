import { parseSpan, serverNow } from '../../api/time';
import { useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Select } from '../../ui/Field';
import { FilterInput } from '../../ui/FilterInput';
import css from './Schedules.module.css';
import { schedulesSearch } from './search';

export type Search = ReturnType<typeof schedulesSearch.read>['value'];

export function isFiltered(search: Search): boolean {
  return schedulesSearch.write(search) !== '';
}

/** The end of the span, to the minute: the same request within a minute. */
export function dueBefore(due: Search['due']): string | undefined {
  const span = due === undefined ? null : parseSpan(due);
  return span === null ? undefined : new Date(Math.ceil((serverNow() + span) / 60_000) * 60_000).toISOString();
}

export function Filters() {
  const t = useT();
  const [search, set] = useSearch(schedulesSearch);
  return (
    <div className={css.filters}>
      <FilterInput
        className={css.prefix}
        label={t('schedules.filter')}
        value={search.prefix}
        onValue={(prefix) => set({ prefix }, { replace: true })}
      />
      <Select
        aria-label={t('schedules.show')}
        choices={[
          { value: '', name: t('schedules.show_open') },
          { value: 'true', name: t('schedules.show_finished') },
        ]}
        value={search.finished === 'true' ? 'true' : ''}
        onValue={(value) => set({ finished: value === 'true' ? 'true' : undefined })}
      />
      <Select
        aria-label={t('schedules.due')}
        choices={[
          { value: '', name: t('schedules.due_any') },
          ...(['1h', '24h', '7d'] as const).map((value) => ({ value, name: t(`schedules.due_${value}`) })),
        ]}
        value={search.due ?? ''}
        onValue={(value) => set({ due: (value || undefined) as Search['due'] })}
      />
      <Select
        aria-label={t('schedules.kind')}
        choices={[
          { value: '', name: t('schedules.kind_any') },
          ...(['start_execution', 'http_callback', 'rabbitmq_publish'] as const).map((value) => ({
            value,
            name: t(`schedules.kind_${value}`),
          })),
        ]}
        value={search.kind ?? ''}
        onValue={(value) => set({ kind: (value || undefined) as Search['kind'] })}
      />
      <Select
        aria-label={t('schedules.pauses')}
        choices={[
          { value: '', name: t('schedules.pauses_any') },
          { value: 'true', name: t('schedules.pauses_true') },
          { value: 'false', name: t('schedules.pauses_false') },
        ]}
        value={search.paused ?? ''}
        onValue={(value) => set({ paused: (value || undefined) as Search['paused'] })}
      />
    </div>
  );
}
