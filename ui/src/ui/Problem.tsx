import { OctagonX } from 'lucide-react';
import type { ReactNode } from 'react';
import { type ApiError, asApiError } from '../api/error';
import { isObject, write } from '../api/json';
import { type Translate, useT } from '../messages';
import { refusalSaid } from '../messages/said';
import { Button } from './Button';
import { copyText } from './copy';
import { cx } from './cx';
import css from './Problem.module.css';

/** A 403 names both roles. */
function roleSentence({ status, details }: ApiError, t: Translate): string | null {
  if (status !== 403 || !isObject(details) || typeof details.needed !== 'string' || typeof details.role !== 'string') return null;
  return t('common.needs_role', { role: t.name('common', 'role', details.needed), own: t.name('common', 'role', details.role) });
}

/** Something failed: what, its code, what to do. The rest of the page stays. */
export function Problem({
  error,
  onRetry,
  title,
  children,
  compact,
}: {
  error: unknown;
  onRetry?: () => void;
  title?: string;
  children?: ReactNode;
  compact?: boolean;
}) {
  const t = useT();
  const problem = asApiError(error);
  const said = title ?? t.maybe(`errors.${problem.code}`);
  const details = () =>
    copyText(
      write({ error: problem.code, status: problem.status, message: problem.message, details: problem.details, call: problem.call }, 2),
    );
  return (
    <div className={cx(css.problem, compact && css.compact)} role="alert">
      <OctagonX aria-hidden className={css.icon} />
      <div className={css.body}>
        {said && <p className={css.title}>{said}</p>}
        <p className={css.message}>{roleSentence(problem, t) ?? refusalSaid(problem, t)}</p>
        {children}
        <div className={css.foot}>
          {onRetry && (
            <Button size="small" onClick={onRetry}>
              {t('common.try_again')}
            </Button>
          )}
          <Button size="small" kind="quiet" onClick={details}>
            {t('errors.copy_details')}
          </Button>
          <code className={css.code}>{problem.code}</code>
        </div>
      </div>
    </div>
  );
}
