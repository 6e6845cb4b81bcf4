import { type ReactNode, useId, useState } from 'react';
import { type Translate, useT } from '../../../messages';
import { faultSaid } from '../../../messages/said';
import { Button } from '../../../ui/Button';
import { cx } from '../../../ui/cx';
import type { FieldSpec, Widget } from '../model/fields';
import type { Diagnostic } from '../model/wire';
import { AnyWidget, SourceWidget, YamlWidget } from './AnyWidget';
import { ListWidget, MapWidget, ObjectWidget } from './Collections';
import { codeParts } from './codeParts';
import { useForm, type WidgetProps } from './context';
import css from './Fields.module.css';
import { BooleanWidget, DurationWidget, EnumWidget, NumberWidget, PlainTextWidget } from './PlainWidgets';
import { TextWidget } from './TextWidget';

export interface FieldViewProps {
  spec: FieldSpec;
  value: unknown;
  onChange: (value: unknown) => void;
  path: (string | number)[];
  /** Without label and description: inside a list. */
  bare?: boolean;
}

/** One field: its name, the widget that fits its value, what the check says, what it is for. */
export function FieldView({ spec, value, onChange, path, bare = false }: FieldViewProps) {
  const t = useT();
  const id = useId();
  const { problems, readOnly } = useForm();
  const { title, description } = wordsOf(spec, t);
  const isTemplate = typeof value === 'string' && value.includes('{{');
  const [wantsTemplate, setWants] = useState(false);
  const template = spec.templated && (isTemplate || wantsTemplate);
  const found = problems.get(pointerOf(path)) ?? [];
  const described = [found.length > 0 ? `${id}e` : '', description && !bare ? `${id}h` : ''].filter(Boolean).join(' ');
  const props: WidgetProps = {
    spec,
    value,
    onChange,
    path,
    id,
    label: title,
    describedBy: described || undefined,
    invalid: found.some((one) => one.severity === 'error'),
  };
  const toggle = () => {
    setWants(!template);
    if (template) onChange(undefined);
  };
  return (
    <div className={cx(css.field, bare && css.bare)} data-field={pointerOf(path)}>
      {!bare && !(spec.widget === 'boolean' && !spec.templated) && (
        <div className={css.head}>
          <label className={css.label} htmlFor={id}>
            {title}
            {spec.required && (
              <span className={css.required} title={t('editor.required')}>
                *
              </span>
            )}
          </label>
          {spec.templated && !readOnly && (
            <button type="button" className={css.toggle} aria-pressed={template} title={t('editor.use_expression')} onClick={toggle}>
              {'{{ }}'}
            </button>
          )}
        </div>
      )}
      {template ? <TextWidget {...props} mode="template" /> : widget(props)}
      {found.length > 0 && <Problems id={`${id}e`} found={found} />}
      {!bare && description && (
        <p id={`${id}h`} className={css.hint}>
          {codeParts(description)}
        </p>
      )}
    </div>
  );
}

/** Of a list's item the title says which of them it is. */
function wordsOf({ key, title, description }: FieldSpec, t: Translate): { title: string; description: string } {
  if (key === undefined) return { title, description };
  return { title: t.maybe(`fields.title_${key}`) ?? title, description: t.maybe(`fields.text_${key}`) ?? description };
}

export const pointerOf = (path: (string | number)[]) =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const WIDGETS: Record<Widget, (props: WidgetProps) => ReactNode> = {
  text: (props) => <PlainTextWidget {...props} />,
  template: (props) => <TextWidget {...props} mode="template" />,
  url: (props) => <TextWidget {...props} mode="url" />,
  expression: (props) => <TextWidget {...props} mode="expression" />,
  enum: (props) => <EnumWidget {...props} />,
  boolean: (props) => <BooleanWidget {...props} />,
  number: (props) => <NumberWidget {...props} />,
  duration: (props) => <DurationWidget {...props} />,
  map: (props) => <MapWidget {...props} />,
  list: (props) => <ListWidget {...props} />,
  object: (props) => <ObjectWidget {...props} />,
  any: (props) => <AnyWidget {...props} />,
  javascript: (props) => <SourceWidget {...props} />,
  sql: (props) => <SourceWidget {...props} />,
};

/** A value of another shape than the widget's is shown as YAML: nothing is hidden, nothing is lost. */
function widget(props: WidgetProps): ReactNode {
  return fits(props.spec.widget, props.value) ? WIDGETS[props.spec.widget](props) : <YamlWidget {...props} />;
}

function fits(kind: Widget, value: unknown): boolean {
  if (value === undefined || kind === 'any') return true;
  if (kind === 'list') return Array.isArray(value);
  const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
  if (kind === 'map' || kind === 'object') return isObject;
  if (kind === 'boolean') return typeof value === 'boolean';
  return value === null || typeof value !== 'object';
}

function Problems({ id, found }: { id: string; found: Diagnostic[] }) {
  const { act, readOnly } = useForm();
  const t = useT();
  return (
    <div id={id} className={css.problems}>
      {found.map((one) => {
        const fix = readOnly ? null : act(one);
        return (
          <p key={one.code + one.message} className={one.severity === 'error' ? css.error : css.warning}>
            {codeParts(faultSaid(one, t))}
            {one.hint && <span className={css.fixHint}> {codeParts(one.hint)}</span>}
            {fix && <FixButton hint={one.hint ?? ''} act={fix} />}
          </p>
        );
      })}
    </div>
  );
}

export function FixButton({ hint, act }: { hint: string; act: () => void }) {
  const t = useT();
  const name = /`([^`]+)`/.exec(hint)?.[1] ?? '';
  return (
    <Button size="small" className={css.fix} onClick={act}>
      {t('editor.fix_to', { name })}
    </Button>
  );
}
