import { type ReactNode, useEffect } from 'react';
import { cx } from './cx';
import css from './Page.module.css';

/** The frame of every screen: breadcrumb and title at the left, actions (the primary one last) at the right, the body fills the rest. */
export function Page({
  title,
  crumbs,
  head,
  actions,
  children,
  documentTitle,
  scroll = false,
}: {
  title: ReactNode;
  /** Links before the title. */
  crumbs?: ReactNode;
  /** Beside the title: status, sentence. */
  head?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  documentTitle?: string;
  /** The body scrolls as a whole and has a margin; without it, the screen divides the place itself. */
  scroll?: boolean;
}) {
  const name = documentTitle ?? (typeof title === 'string' ? title : '');
  useEffect(() => {
    document.title = name ? `${name} · Pawl` : 'Pawl';
  }, [name]);
  return (
    <>
      <header className={css.head}>
        <div className={css.titles}>
          {crumbs && <nav className={css.crumbs}>{crumbs}</nav>}
          <h1 className={css.title}>{title}</h1>
        </div>
        {head && <div className={css.extra}>{head}</div>}
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      <div className={cx(css.body, scroll && css.scroll)}>{children}</div>
    </>
  );
}

/** A region of a page: a sheet with a small title. */
export function Panel({
  title,
  actions,
  children,
  className,
  flush,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
  flush?: boolean;
}) {
  return (
    <section className={cx(css.panel, className)}>
      <header className={css.panelHead}>
        <h2>{title}</h2>
        {actions}
      </header>
      <div className={flush ? css.flush : css.panelBody}>{children}</div>
    </section>
  );
}
