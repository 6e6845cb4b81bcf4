import { useEffect, useState } from 'react';
import { Input } from './Field';

const AFTER_MS = 250;

/** A text filter: what is typed goes to the address after a pause; what the address says (back, reload) is shown at once. */
export function FilterInput({
  label,
  value,
  onValue,
  className,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  className?: string;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onValue(text), AFTER_MS);
    return () => clearTimeout(timer);
  }, [text, value, onValue]);
  return (
    <Input
      data-filter
      type="search"
      className={className}
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
