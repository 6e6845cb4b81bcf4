import { X } from 'lucide-react';
import { useT } from '../messages';
import { Button, IconButton } from './Button';
import { cx } from './cx';
import css from './Toast.module.css';
import { dismiss, useToasts } from './toasts';

/** The place of the toasts; once, in the frame. */
export function Toasts() {
  const t = useT();
  const list = useToasts((state) => state.list);
  return (
    <section className={css.place} aria-label={t('common.notifications')} aria-live="polite">
      {list.map((one) => (
        <div key={one.id} className={cx(css.toast, css[one.tone])}>
          <p className={css.text}>{one.text}</p>
          {one.action && (
            <Button
              size="small"
              onClick={() => {
                one.action?.act();
                dismiss(one.id);
              }}
            >
              {one.action.name}
            </Button>
          )}
          <IconButton size="small" name={t('common.dismiss')} icon={<X />} onClick={() => dismiss(one.id)} />
        </div>
      ))}
    </section>
  );
}
