import { Plus, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { SetSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Input } from '../../ui/Field';
import { Menu } from '../../ui/Menu';
import css from './FilterBar.module.css';
import type { RunsSearch } from './search';

const TEXTS = [
  'tenant',
  'label',
  'by',
  'code',
  'node',
  'until',
  'retry_of',
  'forked_from',
  'version',
  'longer_than',
  'finished_since',
] as const;
const FLAGS = ['unresolved', 'trial'] as const;
export type MoreName = (typeof TEXTS)[number];

export function isMore(name: string): name is MoreName {
  return (TEXTS as readonly string[]).includes(name);
}

/** Those that say something: they are shown without being asked for. */
export function usedMore(search: RunsSearch): MoreName[] {
  return TEXTS.filter((name) => search[name] !== '');
}

export function MoreFilters({
  search,
  set,
  shown,
  onShow,
}: {
  search: RunsSearch;
  set: SetSearch<RunsSearch>;
  shown: readonly MoreName[];
  onShow: (name: MoreName) => void;
}) {
  const t = useT();
  return (
    <>
      {shown.map((name) => (
        <TextPart key={name} name={name} value={search[name]} onChange={(value) => set({ [name]: value })} />
      ))}
      {FLAGS.filter((name) => search[name]).map((name) => (
        <span key={name} className={css.more}>
          {t(`runs.more_${name}`)}
          <IconButton size="small" name={t('common.remove')} icon={<X />} onClick={() => set({ [name]: false })} />
        </span>
      ))}
      <Menu
        label={t('runs.more')}
        items={[
          ...TEXTS.map((name) => ({
            name: t(`runs.more_${name}`),
            disabledReason: shown.includes(name) && t('runs.more_used'),
            act: () => onShow(name),
          })),
          ...FLAGS.map((name) => ({ name: t(`runs.more_${name}`), checked: search[name], act: () => set({ [name]: !search[name] }) })),
        ]}
      >
        <Button icon={<Plus />}>{t('runs.more')}</Button>
      </Menu>
    </>
  );
}

function TextPart({ name, value, onChange }: { name: MoreName; value: string; onChange: (value: string) => void }) {
  const t = useT();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const save = () => text.trim() !== value && onChange(text.trim());
  return (
    <span className={css.more}>
      {t(`runs.more_${name}`)}
      <Input
        // biome-ignore lint/a11y/noAutofocus: it was just asked for
        autoFocus={value === ''}
        aria-label={t(`runs.more_${name}`)}
        placeholder={t(`runs.hint_${name}`)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => event.key === 'Enter' && save()}
      />
      {value !== '' && <IconButton size="small" name={t('common.remove')} icon={<X />} onClick={() => onChange('')} />}
    </span>
  );
}
