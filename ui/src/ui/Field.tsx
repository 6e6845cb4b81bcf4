import { ChevronDown } from 'lucide-react';
import { type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react';
import { cx } from './cx';
import css from './Field.module.css';

interface Ids {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
}

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  /** Gets the ids that tie the control to its label, hint and error. */
  children: (ids: Ids) => ReactNode;
  inline?: boolean;
  className?: string;
}

export function Field({ label, hint, error, children, inline, className }: FieldProps) {
  const id = useId();
  const described = [error ? `${id}e` : '', hint ? `${id}h` : ''].filter(Boolean).join(' ');
  return (
    <div className={cx(css.field, inline && css.inline, className)}>
      <label className={css.label} htmlFor={id}>
        {label}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {error && (
        <p id={`${id}e`} className={css.error} role="alert">
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}h`} className={css.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

export function Input({
  className,
  mono,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { mono?: boolean; ref?: Ref<HTMLInputElement> }) {
  return <input autoComplete="off" spellCheck={false} {...rest} className={cx(css.input, mono && css.mono, className)} />;
}

export function TextArea({
  className,
  mono,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { mono?: boolean; ref?: Ref<HTMLTextAreaElement> }) {
  return <textarea spellCheck={false} rows={4} {...rest} className={cx(css.input, css.area, mono && css.mono, className)} />;
}

export interface Choice {
  value: string;
  name: string;
}

export function Select({
  choices,
  className,
  onValue,
  ...rest
}: Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> & { choices: readonly Choice[]; onValue: (value: string) => void }) {
  return (
    <span className={cx(css.select, className)}>
      <select {...rest} className={css.input} onChange={(event) => onValue(event.target.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
      <ChevronDown aria-hidden className={css.arrow} />
    </span>
  );
}

export function Checkbox({ label, className, ...rest }: InputHTMLAttributes<HTMLInputElement> & { label: ReactNode }) {
  return (
    <label className={cx(css.check, className)}>
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}
