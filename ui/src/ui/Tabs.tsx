import * as Ariakit from '@ariakit/react';
import type { ReactNode } from 'react';
import { cx } from './cx';
import css from './Tabs.module.css';

export interface TabItem<T extends string> {
  id: T;
  name: ReactNode;
  count?: number;
}

export interface TabsProps<T extends string> {
  tabs: readonly TabItem<T>[];
  value: T;
  onChange: (tab: T) => void;
  label: string;
  children: ReactNode;
  className?: string;
  /** At the right end of the row of tabs. */
  end?: ReactNode;
}

/** The children are the panel of the chosen tab. */
export function Tabs<T extends string>({ tabs, value, onChange, label, children, className, end }: TabsProps<T>) {
  return (
    <Ariakit.TabProvider selectedId={value} setSelectedId={(id) => id && id !== value && onChange(id as T)}>
      <div className={css.row}>
        <Ariakit.TabList className={css.list} aria-label={label}>
          {tabs.map((tab) => (
            <Ariakit.Tab key={tab.id} id={tab.id} className={css.tab}>
              {tab.name}
              {tab.count !== undefined && <span className={css.count}>{tab.count}</span>}
            </Ariakit.Tab>
          ))}
        </Ariakit.TabList>
        {end}
      </div>
      <Ariakit.TabPanel tabId={value} className={cx(css.panel, className)}>
        {children}
      </Ariakit.TabPanel>
    </Ariakit.TabProvider>
  );
}
