import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import css from './Button.module.css';
import { cx } from './cx';
import { Tooltip } from './Tooltip';

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  kind?: 'plain' | 'primary' | 'quiet' | 'danger';
  size?: 'small' | 'normal';
  icon?: ReactNode;
  /** Why it cannot be used now. The button stays focusable, so that the reason can be read. */
  disabledReason?: string | false | null | undefined;
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  kind = 'plain',
  size = 'normal',
  icon,
  disabledReason,
  busy,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const off = Boolean(disabledReason) || busy;
  const button = (
    <button
      type="button"
      {...rest}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      className={cx(css.button, css[kind], size === 'small' && css.small, className)}
      onClick={off ? (event) => event.preventDefault() : onClick}
    >
      {icon}
      {children}
    </button>
  );
  return disabledReason ? <Tooltip text={disabledReason}>{button}</Tooltip> : button;
}

/** A button that is an icon; its name is the tooltip, unless `tip` is false. */
export function IconButton({
  name,
  hint,
  tip = true,
  className,
  ...rest
}: Omit<ButtonProps, 'children'> & { name: string; hint?: string; tip?: boolean; icon: ReactNode }) {
  const text = rest.disabledReason ? `${name}. ${rest.disabledReason}` : hint ? `${name}  ${hint}` : name;
  const { disabledReason, ...props } = rest;
  const off = Boolean(disabledReason) || props.busy;
  const button = (
    <button
      type="button"
      {...stripped(props)}
      aria-label={name}
      aria-disabled={off || undefined}
      className={cx(css.button, css[props.kind ?? 'quiet'], css.icon, props.size === 'small' && css.small, className)}
      onClick={off ? (event) => event.preventDefault() : props.onClick}
    >
      {props.icon}
    </button>
  );
  return tip ? <Tooltip text={text}>{button}</Tooltip> : button;
}

function stripped({ kind, size, icon, busy, ...html }: Omit<ButtonProps, 'disabledReason'>) {
  void kind;
  void size;
  void icon;
  return { ...html, 'aria-busy': busy || undefined };
}
