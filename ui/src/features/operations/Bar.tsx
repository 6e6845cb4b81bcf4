import { cx } from '../../ui/cx';
import css from './Operations.module.css';

/** How much of something is in use. Over the limit is possible: a quota that was lowered. */
export function Bar({ used, of, text }: { used: number; of: number | null; text: string }) {
  const share = of === null || of === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / of);
  const full = of !== null && used >= of;
  return (
    <span className={css.barCell}>
      <svg className={cx(css.bar, full && css.full)} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect className={css.track} width="100" height="6" rx="3" />
        <rect className={css.fill} width={share * 100} height="6" rx="3" />
      </svg>
      <span>{text}</span>
    </span>
  );
}
