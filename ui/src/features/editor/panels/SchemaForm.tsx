/** Nothing is selected: the fields of the schema itself. */
import { useMemo } from 'react';
import { setTop } from '../../../graph/patch';
import { useT } from '../../../messages';
import { faultSaid } from '../../../messages/said';
import { Field, Input, TextArea } from '../../../ui/Field';
import { FormContext, type FormTools } from '../fields/context';
import { FieldView } from '../fields/FieldView';
import type { Actions } from '../model/actions';
import { useEditor, useTools } from '../model/context';
import type { FieldSpec, Widget } from '../model/fields';
import { quickFix } from '../model/problems';
import type { Diagnostic } from '../model/wire';
import css from './NodeForm.module.css';
import { Triggers } from './Triggers';

export function SchemaForm({ actions }: { actions: Actions }) {
  const t = useT();
  const { store, stored } = useTools();
  const definition = useEditor((state) => state.document.definition);
  const readOnly = useEditor((state) => state.readOnly || state.problem !== null);
  const diagnostics = useEditor((state) => state.diagnostics);
  const problems = useMemo(() => topProblems(diagnostics ?? []), [diagnostics]);
  const form = useMemo(
    (): FormTools => ({ owner: 'schema', readOnly, problems, remember: () => undefined, act: (one) => quickFix(one, actions) }),
    [readOnly, problems, actions],
  );
  const put = (path: (string | number)[], value: unknown) =>
    store.getState().apply(setTop(store.getState().document.definition, path, value), { join: `top ${path.join('.')}` });
  const settings = definition.settings ?? {};
  const nameFault = problems.get('/name')?.[0];
  return (
    <FormContext.Provider value={form}>
      <section className={css.form} aria-label={t('editor.schema_form')}>
        <div className={css.panel}>
          <div className={css.fields}>
            <h2>{t('editor.schema_form')}</h2>
            <Field
              label={t('editor.schema_name')}
              hint={stored === null ? undefined : t('editor.name_is_fixed')}
              error={nameFault && faultSaid(nameFault, t)}
            >
              {(ids) => (
                <Input
                  {...ids}
                  mono
                  disabled={readOnly || stored !== null}
                  value={definition.name}
                  onChange={(event) => put(['name'], event.target.value)}
                />
              )}
            </Field>
            <Field label={t('editor.description')}>
              {(ids) => (
                <TextArea
                  {...ids}
                  rows={2}
                  disabled={readOnly}
                  value={definition.description ?? ''}
                  onChange={(event) => put(['description'], event.target.value || undefined)}
                />
              )}
            </Field>
            <Triggers triggers={definition.triggers ?? []} put={put} />
            <h3>{t('editor.settings')}</h3>
            {SETTINGS.map(([name, widget, more]) => {
              const spec: FieldSpec = {
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
              };
              return (
                <FieldView
                  key={name}
                  spec={spec}
                  value={settings[name]}
                  path={['settings', name]}
                  onChange={(value) => put(['settings', name], value)}
                />
              );
            })}
          </div>
        </div>
      </section>
    </FormContext.Provider>
  );
}

const SETTINGS: [string, Widget, Partial<FieldSpec>?][] = [
  ['max_duration', 'duration', { default: '365d' }],
  ['max_steps', 'number', { default: 10_000, minimum: 1, maximum: 10_000_000 }],
  ['node_timeout', 'duration', { default: '30s' }],
  ['max_calls', 'number', { minimum: 1, maximum: 10_000_000 }],
  ['priority', 'enum', { choices: ['high', 'normal', 'low'], default: 'normal' }],
  ['on_stuck', 'enum', { choices: ['requeue', 'fail'], default: 'requeue' }],
  ['tenant', 'template'],
  ['concurrency', 'any'],
  ['retention', 'duration', { default: '' }],
];

function topProblems(diagnostics: Diagnostic[]): Map<string, Diagnostic[]> {
  const found = new Map<string, Diagnostic[]>();
  for (const one of diagnostics) if (!one.pointer.startsWith('/nodes/')) found.set(one.pointer, [...(found.get(one.pointer) ?? []), one]);
  return found;
}
