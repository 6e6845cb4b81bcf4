import * as Ariakit from '@ariakit/react';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useT } from '../messages';
import { IconButton } from './Button';
import { cx } from './cx';
import css from './Dialog.module.css';

export interface DialogProps {
  title: ReactNode;
  open?: boolean;
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the foot, the primary one last. */
  actions?: ReactNode;
  size?: 'small' | 'normal' | 'wide' | 'full';
}

/** Takes the focus and gives it back; Esc closes it. */
export function Dialog({ title, open = true, onClose, children, actions, size = 'normal' }: DialogProps) {
  const t = useT();
  return (
    <Ariakit.Dialog
      open={open}
      onClose={onClose}
      unmountOnHide
      className={cx(css.dialog, css[size])}
      backdrop={<div className={css.veil} />}
    >
      <header className={css.head}>
        <Ariakit.DialogHeading className={css.title}>{title}</Ariakit.DialogHeading>
      </header>
      <div className={css.body}>{children}</div>
      {actions && <footer className={css.foot}>{actions}</footer>}
      {/* Last, so that the focus begins in what the dialog is about. Where it begins here, a tooltip would take the first Esc for itself. */}
      <IconButton tip={false} className={css.close} name={t('common.close')} icon={<X />} onClick={onClose} />
    </Ariakit.Dialog>
  );
}
