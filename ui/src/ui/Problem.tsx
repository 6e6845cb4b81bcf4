import { OctagonX } from 'lucide-react';
import type { ReactNode } from 'react';
import { asApiError } from '../api/error';
import { write } from '../api/json';
import { useT } from '../messages';
import { Button } from './Button';
import { copyText } from './copy';
import { cx } from './cx';
import css from './Problem.module.css';

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
        <p className={css.message}>{problem.message}</p>
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
