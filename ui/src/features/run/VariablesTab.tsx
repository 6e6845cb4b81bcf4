import { useQuery } from '@tanstack/react-query';
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import { isObject, type Json, write } from '../../api/json';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Input } from '../../ui/Field';
import { escapePointer } from '../../ui/json-lines';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { runQueries } from './api';
import { useRun } from './context';
import css from './Inspector.module.css';
import { parsed } from './JsonField';

/** Variables as they are now; an edit is staged and set with the next step, where the history shows it. */
export function VariablesTab() {
  const t = useT();
  const { run, staged } = useRun();
  const context = useQuery(runQueries.context(run.id, run.seq, 'after', '', 262_144));
  if (context.error) return <Problem error={context.error} onRetry={() => void context.refetch()} compact />;
  if (context.data === undefined) return <Skeleton rows={4} height={28} />;
  const all = isObject(context.data.value) && isObject(context.data.value.variables) ? context.data.value.variables : {};
  const names = [...new Set([...Object.keys(all), ...staged.keys()])].sort();
  const cut = new Set(context.data.cut);
  return (
    <div className={css.step}>
      <p className={css.quiet}>{staged.size === 0 ? t('run.edit_variables') : t('run.staged', { n: staged.size })}</p>
      {names.length === 0 && <p className={css.quiet}>{t('run.no_variables')}</p>}
      <ul className={css.variables}>
        {names.map((name) => (
          <Variable
            key={`${run.seq}${name}`}
            name={name}
            value={all[name]}
            cut={[...cut].some((place) => `${place}/`.startsWith(`/value/variables/${escapePointer(name)}/`))}
          />
        ))}
      </ul>
      <NewVariable />
    </div>
  );
}

function Variable({ name, value, cut }: { name: string; value: Json | undefined; cut: boolean }) {
  const t = useT();
  const { staged, stage } = useRun();
  const now = staged.has(name) ? staged.get(name) : value;
  const [text, setText] = useState(() => write(now ?? null));
  const typed = parsed(text);
  const edit = (next: string) => {
    setText(next);
    const { value: given } = parsed(next);
    if (given !== undefined) stage(name, write(given) === write(value ?? null) && value !== undefined ? undefined : given);
  };
  return (
    <li className={staged.has(name) ? css.staged : undefined}>
      <label htmlFor={`variable-${name}`}>{name}</label>
      <Input
        id={`variable-${name}`}
        mono
        value={cut ? t('run.too_large_to_edit') : text}
        readOnly={cut}
        aria-invalid={typed.error !== null || undefined}
        title={typed.error ?? undefined}
        onChange={(event) => edit(event.target.value)}
      />
      {staged.has(name) && (
        <IconButton
          size="small"
          name={t('run.unstage')}
          icon={<Undo2 />}
          onClick={() => {
            stage(name, undefined);
            setText(write(value ?? null));
          }}
        />
      )}
    </li>
  );
}

function NewVariable() {
  const t = useT();
  const { stage } = useRun();
  const [name, setName] = useState('');
  return (
    <form
      className={css.new}
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '') stage(name.trim(), null);
        setName('');
      }}
    >
      <Input
        mono
        aria-label={t('run.new_variable')}
        placeholder={t('run.new_variable')}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" disabledReason={name.trim() === '' && t('run.name_first')}>
        {t('common.add')}
      </Button>
    </form>
  );
}
