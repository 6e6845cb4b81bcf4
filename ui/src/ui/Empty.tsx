import type { ReactNode } from 'react';
import css from './Empty.module.css';

/** Nothing is there: one sentence, one action. Never shown before an answer, and never for an error (that is `Problem`). */
export function Empty({ icon, title, children, action }: { icon?: ReactNode; title: ReactNode; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={css.empty}>
      {icon && <div className={css.icon}>{icon}</div>}
      <p className={css.title}>{title}</p>
      {children && <div className={css.text}>{children}</div>}
      {action && <div className={css.action}>{action}</div>}
    </div>
  );
}
