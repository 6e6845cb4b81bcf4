/** Maps, lists and objects: fields inside of a field. */
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { useT } from '../../../messages';
import { Button, IconButton } from '../../../ui/Button';
import { Input } from '../../../ui/Field';
import type { FieldSpec } from '../model/fields';
import { useForm, type WidgetProps } from './context';
import css from './Fields.module.css';
import { FieldView } from './FieldView';
import { useSettled } from './PlainWidgets';

const ANY: FieldSpec = {
  name: '',
  title: '',
  description: '',
  widget: 'any',
  required: false,
  templated: false,
  numeric: false,
  choices: [],
  default: undefined,
};

export function MapWidget({ spec, value, onChange, path, label }: WidgetProps) {
  const t = useT();
  const { readOnly } = useForm();
  const entries = Object.entries((value ?? {}) as Record<string, unknown>);
  const put = (next: [string, unknown][]) => onChange(next.length === 0 && !spec.required ? undefined : Object.fromEntries(next));
  const taken = new Set(entries.map(([key]) => key));
  const rename = (at: number, key: string) => {
    if (key !== '' && !taken.has(key)) put(entries.map(([old, inner], index) => [index === at ? key : old, inner]));
  };
  return (
    <div className={css.rows}>
      {entries.map(([key, inner], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a key that is being renamed is the same row
        <div key={at} className={css.mapRow}>
          <KeyInput value={key} label={`${label}: ${t('editor.key')}`} onChange={(next) => rename(at, next)} readOnly={readOnly} />
          <div className={css.mapValue}>
            <FieldView
              spec={{ ...(spec.item ?? ANY), title: key }}
              value={inner}
              path={[...path, key]}
              bare
              onChange={(next) => put(entries.map(([old, was], index) => [old, index === at ? (next ?? '') : was]))}
            />
          </div>
          {!readOnly && (
            <IconButton
              size="small"
              name={`${t('common.remove')}: ${key}`}
              icon={<Trash2 />}
              onClick={() => put(entries.filter((_, index) => index !== at))}
            />
          )}
        </div>
      ))}
      {!readOnly && (
        <Button size="small" kind="quiet" icon={<Plus />} onClick={() => put([...entries, [freeKey(taken), '']])}>
          {t('common.add')}
        </Button>
      )}
    </div>
  );
}

function freeKey(taken: Set<string>): string {
  for (let number = 1; ; number++) {
    const key = number === 1 ? 'name' : `name_${number}`;
    if (!taken.has(key)) return key;
  }
}

function KeyInput({
  value,
  label,
  onChange,
  readOnly,
}: {
  value: string;
  label: string;
  onChange: (value: string) => void;
  readOnly: boolean;
}) {
  const { text, setText, settle, reset } = useSettled(value, onChange);
  return (
    <Input
      mono
      aria-label={label}
      value={text}
      disabled={readOnly}
      onChange={(event) => setText(event.target.value)}
      onBlur={settle}
      onKeyDown={(event) => {
        if (event.key === 'Enter') settle();
        if (event.key === 'Escape') reset();
      }}
    />
  );
}

export function ListWidget({ spec, label, value, onChange, path }: WidgetProps) {
  const t = useT();
  const { readOnly } = useForm();
  const items = Array.isArray(value) ? value : [];
  const item = spec.item ?? ANY;
  const put = (next: unknown[]) => onChange(next.length === 0 && !spec.required ? undefined : next);
  const move = (at: number, by: number) => {
    const next = [...items];
    const [one] = next.splice(at, 1);
    next.splice(at + by, 0, one);
    put(next);
  };
  return (
    <div className={css.rows}>
      {items.map((inner, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items of a list have no other identity
        <div key={at} className={css.listRow}>
          <header className={css.listHead}>
            <span>{at + 1}</span>
            {!readOnly && (
              <>
                <IconButton
                  size="small"
                  name={t('editor.move_up')}
                  icon={<ArrowUp />}
                  disabledReason={at === 0 && t('editor.is_first')}
                  onClick={() => move(at, -1)}
                />
                <IconButton
                  size="small"
                  name={t('editor.move_down')}
                  icon={<ArrowDown />}
                  disabledReason={at === items.length - 1 && t('editor.is_last')}
                  onClick={() => move(at, 1)}
                />
                <IconButton
                  size="small"
                  name={t('common.remove')}
                  icon={<Trash2 />}
                  onClick={() => put(items.filter((_, index) => index !== at))}
                />
              </>
            )}
          </header>
          <FieldView
            spec={{ ...item, title: `${label} ${at + 1}`, required: true }}
            value={inner}
            path={[...path, at]}
            bare
            onChange={(next) => put(items.map((was, index) => (index === at ? next : was)))}
          />
        </div>
      ))}
      {!readOnly && (
        <Button size="small" kind="quiet" icon={<Plus />} onClick={() => put([...items, freshItem(item, items)])}>
          {t('common.add')}
        </Button>
      )}
    </div>
  );
}

function freshItem(item: FieldSpec, items: unknown[]): unknown {
  if (item.fields === undefined) return '';
  const number = items.length + 1;
  const named = (field: FieldSpec) => (field.name === 'name' ? `case_${number}` : field.name === 'id' ? `statement_${number}` : '');
  return Object.fromEntries(item.fields.filter((field) => field.required).map((field) => [field.name, named(field)]));
}

export function ObjectWidget({ spec, value, onChange, path }: WidgetProps) {
  const t = useT();
  const { readOnly } = useForm();
  if (value === undefined && !spec.required) {
    if (readOnly) return <p className={css.hint}>{t('editor.not_set')}</p>;
    return (
      <Button size="small" kind="quiet" icon={<Plus />} className={css.start} onClick={() => onChange(beginning(spec))}>
        {t('common.add')}
      </Button>
    );
  }
  const object = (value ?? {}) as Record<string, unknown>;
  const put = (name: string, inner: unknown) => {
    const { [name]: _old, ...rest } = object;
    const next = inner === undefined ? rest : { ...object, [name]: inner };
    onChange(Object.keys(next).length === 0 && !spec.required ? undefined : next);
  };
  return (
    <div className={css.object}>
      {!readOnly && !spec.required && (
        <Button size="small" kind="quiet" icon={<Trash2 />} className={css.start} onClick={() => onChange(undefined)}>
          {t('common.remove')}
        </Button>
      )}
      {(spec.fields ?? []).map((field) => (
        <FieldView
          key={field.name}
          spec={field}
          value={object[field.name]}
          path={[...path, field.name]}
          onChange={(next) => put(field.name, next)}
        />
      ))}
    </div>
  );
}

/** What an object needs to be read at all. */
function beginning(spec: FieldSpec): Record<string, unknown> {
  const needed = (spec.fields ?? []).filter((field) => field.required);
  return Object.fromEntries(needed.map((field) => [field.name, field.choices[0] ?? '']));
}
