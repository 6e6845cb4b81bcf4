import * as Ariakit from '@ariakit/react';
import { CalendarClock, Play, Workflow } from 'lucide-react';
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { useT } from '../messages';
import { Status } from '../ui/Status';
import { allCommands, type Command } from './commands';
import { shownKeys } from './keys';
import { go } from './navigate';
import css from './Palette.module.css';
import { rank, usePlaces } from './places';

interface Item {
  id: string;
  name: string;
  icon?: ReactNode;
  hint?: ReactNode;
  group: string;
  disabledReason?: string;
  act: () => void;
}

/** Search and commands: `Ctrl K`. */
export function Palette({ onClose }: { onClose: () => void }) {
  const t = useT();
  const [text, setText] = useState('');
  const items = useItems(useDeferredValue(text), text);
  const pick = (item: Item) => {
    if (item.disabledReason) return;
    onClose();
    item.act();
  };
  return (
    <Ariakit.Dialog
      open
      onClose={onClose}
      unmountOnHide
      className={css.dialog}
      aria-label={t('frame.search')}
      backdrop={<div className={css.veil} />}
    >
      <Ariakit.ComboboxProvider open focusLoop setValue={setText} resetValueOnHide={false}>
        <Ariakit.Combobox autoSelect="always" placeholder={t('frame.palette_hint')} aria-label={t('frame.search')} className={css.input} />
        <Ariakit.ComboboxList className={css.list} alwaysVisible>
          {items.map((item, at) => (
            <div key={item.id} role="presentation">
              {item.group !== items[at - 1]?.group && (
                <div className={css.group} aria-hidden>
                  {item.group}
                </div>
              )}
              <Ariakit.ComboboxItem
                className={css.item}
                aria-disabled={item.disabledReason ? true : undefined}
                hideOnClick={false}
                setValueOnClick={false}
                focusOnHover
                onClick={() => pick(item)}
              >
                <span className={css.icon}>{item.icon}</span>
                <span className={css.name}>
                  {item.name}
                  {item.disabledReason && <small className={css.reason}>{item.disabledReason}</small>}
                </span>
                <span className={css.hint}>{item.hint}</span>
              </Ariakit.ComboboxItem>
            </div>
          ))}
          {items.length === 0 && <p className={css.none}>{t('frame.palette_nothing', { text })}</p>}
        </Ariakit.ComboboxList>
      </Ariakit.ComboboxProvider>
    </Ariakit.Dialog>
  );
}

function useItems(search: string, typed: string): Item[] {
  const t = useT();
  const places = usePlaces(search);
  const commands = useMemo(() => allCommands().filter((one) => !one.keyOnly), []);
  const groupOf = (command: Command) => t(`frame.group_${command.group}`);
  const own = commands.map((command) => ({
    id: command.id,
    name: command.name,
    icon: command.icon,
    hint: command.keys && <kbd>{shownKeys(command.keys)}</kbd>,
    group: groupOf(command),
    disabledReason: command.disabledReason || undefined,
    act: command.act,
  }));
  const runs: Item[] = places.runs.map((run) => ({
    id: `run:${run.id}`,
    name: `${run.schema} v${run.version} · ${run.id}`,
    icon: <Play />,
    hint: <Status status={run.status} />,
    group: t('frame.nav_runs'),
    act: () => go(`/runs/${run.id}`),
  }));
  const schemas: Item[] = places.schemas.map((schema) => ({
    id: `schema:${schema.id}`,
    name: schema.name,
    icon: <Workflow />,
    hint: schema.description?.slice(0, 48),
    group: t('frame.nav_schemas'),
    act: () => go(`/schemas/${schema.name}`),
  }));
  const schedules: Item[] = places.schedules.map((action) => ({
    id: `schedule:${action.id}`,
    name: action.id,
    icon: <CalendarClock />,
    group: t('frame.nav_schedules'),
    act: () => go(`/schedules/${encodeURIComponent(action.id)}`),
  }));
  const needle = typed.trim();
  const fitting = needle === '' ? own : rank(own, needle, (item) => item.name);
  const groups = ['page', 'go', 'settings'] as const;
  const byGroup = groups.flatMap((group) => fitting.filter((item) => item.group === t(`frame.group_${group}`)));
  if (needle === '') return [...byGroup, ...schemas.slice(0, 5)];
  return [...runs, ...rank(schemas, needle, (item) => item.name).slice(0, 8), ...rank(schedules, needle, (item) => item.name), ...byGroup];
}
