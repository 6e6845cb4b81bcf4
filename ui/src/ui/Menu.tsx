import * as Ariakit from '@ariakit/react';
import { Check } from 'lucide-react';
import type { KeyboardEvent, ReactElement, ReactNode } from 'react';
import { cx } from './cx';
import css from './Menu.module.css';

export interface MenuItem {
  name: string;
  icon?: ReactNode;
  hint?: string;
  danger?: boolean;
  checked?: boolean;
  /** Why it cannot be used now; the item stays in the list and says so. */
  disabledReason?: string | false | null | undefined;
  act: () => void;
}
export type MenuEntry = MenuItem | 'line' | { group: string } | false | null | undefined;

/** A button (`children`) that opens a list of actions. */
export function Menu({ children, items, label }: { children: ReactElement; items: MenuEntry[]; label?: string }) {
  const store = Ariakit.useMenuStore({ placement: 'bottom-start' });
  // The list stands at the end of the page; Tab goes on from the button, without the hidden stops that Ariakit puts in for it.
  const leave = (event: KeyboardEvent) => {
    if (event.key !== 'Tab') return;
    store.getState().disclosureElement?.focus();
    store.hide();
  };
  return (
    <Ariakit.MenuProvider store={store}>
      <Ariakit.MenuButton render={children} />
      <Ariakit.Menu className={css.menu} gutter={4} portal preserveTabOrder={false} onKeyDown={leave} unmountOnHide aria-label={label}>
        {items.map((item, at) => entry(item, at))}
      </Ariakit.Menu>
    </Ariakit.MenuProvider>
  );
}

function entry(item: MenuEntry, at: number) {
  if (!item) return null;
  // biome-ignore lint/suspicious/noArrayIndexKey: separators have no other identity
  if (item === 'line') return <Ariakit.MenuSeparator key={`line${at}`} className={css.line} />;
  if ('group' in item) {
    return (
      <div key={`group:${item.group}`} className={css.group}>
        {item.group}
      </div>
    );
  }
  return <Item key={`${at}:${item.name}`} item={item} />;
}

function Item({ item }: { item: MenuItem }) {
  return (
    <Ariakit.MenuItem
      className={cx(css.item, item.danger && css.danger)}
      disabled={Boolean(item.disabledReason)}
      accessibleWhenDisabled
      onClick={item.act}
      aria-checked={item.checked}
      role={item.checked === undefined ? 'menuitem' : 'menuitemradio'}
    >
      <span className={css.icon}>{item.checked ? <Check /> : item.icon}</span>
      <span className={css.name}>
        {item.name}
        {item.disabledReason && <small className={css.reason}>{item.disabledReason}</small>}
      </span>
      {item.hint && <kbd className={css.hint}>{item.hint}</kbd>}
    </Ariakit.MenuItem>
  );
}
