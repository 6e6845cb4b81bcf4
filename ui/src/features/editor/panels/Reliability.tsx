import type { DefinedNode } from '../../../graph/model';
import { useT } from '../../../messages';
import { Checkbox } from '../../../ui/Field';
import { formatDuration } from '../../../ui/format';
import { useForm } from '../fields/context';
import { FieldView, pointerOf } from '../fields/FieldView';
import { useTools } from '../model/context';
import type { FieldSpec, Widget } from '../model/fields';
import { delays } from '../model/retry';
import css from './NodeForm.module.css';

type Put = (path: (string | number)[], value: unknown) => void;

/** What happens when the node fails, takes too long, or is interrupted. */
export function Reliability({ node, put }: { node: DefinedNode; put: Put }) {
  const t = useT();
  const { types } = useTools();
  const { readOnly } = useForm();
  const effectful = types.get(node.type)?.pure === false;
  const spec = (name: string, widget: Widget, more: Partial<FieldSpec> = {}): FieldSpec => ({
    name,
    title: t.name('editor', 'field', name),
    description: t.name('editor', 'about', name),
    widget,
    required: false,
    templated: false,
    numeric: false,
    choices: [],
    default: undefined,
    ...more,
  });
  const retry = node.retry ?? null;
  const fields: FieldSpec[] = effectful ? [spec('timeout', 'duration')] : [];
  const after: FieldSpec[] = [spec('on_error', 'enum', { choices: ['fail', 'continue'], default: 'fail' })];
  if (effectful) after.push(spec('on_interrupt', 'enum', { choices: ['rerun', 'fail'], default: 'rerun' }));
  const flags = ['disabled', 'entry'].filter((name) => node.type !== 'start' || name !== 'disabled');
  const values = node as unknown as Record<string, unknown>;
  return (
    <div className={css.fields}>
      {fields.map((field) => (
        <FieldView
          key={field.name}
          spec={field}
          value={values[field.name]}
          path={[field.name]}
          onChange={(value) => put([field.name], value)}
        />
      ))}
      {effectful && (
        <>
          <Checkbox
            label={t('editor.retry')}
            disabled={readOnly}
            checked={retry !== null}
            onChange={(event) => put(['retry'], event.target.checked ? { max_attempts: 3, delay: '5s' } : undefined)}
          />
          {retry !== null && <Retry retry={retry} put={put} spec={spec} />}
        </>
      )}
      {!effectful && <p className={css.none}>{t('editor.pure_node')}</p>}
      {after.map((field) => (
        <FieldView
          key={field.name}
          spec={field}
          value={values[field.name]}
          path={[field.name]}
          onChange={(value) => put([field.name], value)}
        />
      ))}
      {flags.map((name) => (
        <FieldView
          key={name}
          spec={spec(name, 'boolean', { default: false })}
          value={values[name] ?? undefined}
          path={[name]}
          onChange={(value) => put([name], value || undefined)}
        />
      ))}
    </div>
  );
}

function Retry({
  retry,
  put,
  spec,
}: {
  retry: Record<string, unknown>;
  put: Put;
  spec: (name: string, widget: Widget, more?: Partial<FieldSpec>) => FieldSpec;
}) {
  const t = useT();
  const fields = [
    spec('max_attempts', 'number', { default: 3, minimum: 1, maximum: 1000 }),
    spec('delay', 'duration', { default: '5s' }),
    spec('backoff', 'enum', { choices: ['exponential', 'linear', 'fixed'], default: 'exponential' }),
    spec('max_delay', 'duration', { default: '1m' }),
    spec('jitter', 'boolean', { default: true }),
  ];
  const preview = delays(retry);
  return (
    <div className={css.group} data-field={pointerOf(['retry'])}>
      {fields.map((field) => (
        <FieldView
          key={field.name}
          spec={field}
          value={retry[field.name]}
          path={['retry', field.name]}
          onChange={(value) => put(['retry', field.name], value)}
        />
      ))}
      {preview !== null && (
        <p className={css.delays}>
          {t('editor.delays', {
            list: preview.shown.map((ms) => formatDuration(ms)).join(', ') + (preview.more ? ' …' : ''),
            total: formatDuration(preview.total),
          })}
        </p>
      )}
    </div>
  );
}
