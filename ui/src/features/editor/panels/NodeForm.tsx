import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { DefinedNode } from '../../../graph/model';
import { setField } from '../../../graph/patch';
import { useT } from '../../../messages';
import { Field, Input, TextArea } from '../../../ui/Field';
import { Tabs } from '../../../ui/Tabs';
import type { CodeHandle } from '../code/CodeField';
import { pathText } from '../code/expression';
import { YamlWidget } from '../fields/AnyWidget';
import { FormContext, type FormTools } from '../fields/context';
import { FieldView } from '../fields/FieldView';
import { useSettled } from '../fields/PlainWidgets';
import { type Actions, idProblem } from '../model/actions';
import { useEditor, useTools } from '../model/context';
import { formOf, isShown } from '../model/fields';
import { quickFix } from '../model/problems';
import type { Diagnostic, Pin } from '../model/wire';
import { LastData } from './LastData';
import css from './NodeForm.module.css';
import { NodeHead } from './NodeHead';
import { Reliability } from './Reliability';

type FormTab = 'config' | 'reliability' | 'notes' | 'data';

export interface NodeFormProps {
  id: string;
  actions: Actions;
  pins: Pin[];
  onPins: () => void;
  /** The field of a problem that was clicked. */
  place: { pointer: string; node: string | null } | null;
}

/** The tab that has the field of a pointer like `/nodes/3/retry/delay`. */
function tabOf(pointer: string): FormTab {
  const field = pointer.split('/')[3] ?? 'config';
  if (field === 'name') return 'notes';
  return ['timeout', 'retry', 'on_error', 'on_interrupt', 'disabled', 'entry'].includes(field) ? 'reliability' : 'config';
}

export function NodeForm({ id, actions, pins, onPins, place }: NodeFormProps) {
  const t = useT();
  const tools = useTools();
  const index = useEditor((state) => state.document.definition.nodes.findIndex((node) => node.id === id));
  const node = useEditor((state) => state.document.definition.nodes[index]);
  const diagnostics = useEditor((state) => state.diagnostics);
  const readOnly = useEditor((state) => state.readOnly || state.problem !== null);
  const [tab, setTab] = useState<FormTab>('config');
  useEffect(() => {
    if (place !== null && place.node === id) setTab(tabOf(place.pointer));
  }, [place, id]);
  const last = useRef<{ handle: CodeHandle; mode: 'template' | 'url' | 'expression' } | null>(null);
  const problems = useMemo(() => problemsOf(diagnostics ?? [], index), [diagnostics, index]);
  const form = useMemo((): FormTools => {
    const remember: FormTools['remember'] = (handle, mode) => {
      if (handle !== null) last.current = { handle, mode };
    };
    return { owner: id, readOnly, problems, remember, act: (one) => quickFix(one, actions) };
  }, [id, readOnly, problems, actions]);
  const put = useCallback(
    (path: (string | number)[], value: unknown) => {
      const { store } = tools;
      store.getState().apply(setField(store.getState().document.definition, id, path, value), { join: `${id} ${path.join('.')}` });
    },
    [tools, id],
  );
  if (node === undefined) return null;
  const insert = (parts: (string | number)[]) => {
    const text = pathText(parts);
    setTab('config');
    if (last.current?.handle.view()) last.current.handle.insert(last.current.mode === 'expression' ? text : `{{${text}}}`);
  };
  const tabs = [
    { id: 'config' as const, name: t('editor.tab_config') },
    { id: 'reliability' as const, name: t('editor.tab_reliability') },
    { id: 'notes' as const, name: t('editor.tab_notes') },
    { id: 'data' as const, name: t('editor.tab_data') },
  ];
  return (
    <FormContext.Provider value={form}>
      <section className={css.form} aria-label={t('editor.form_of', { id })} data-node-form>
        <NodeHead node={node} actions={actions} readOnly={readOnly} />
        <Tabs tabs={tabs} value={tab} onChange={setTab} label={t('editor.form_of', { id })} className={css.panel}>
          {/* Stays in the page, so that a value of the last data can go where the cursor was. */}
          <div hidden={tab !== 'config'} className={css.fields}>
            <ConfigFields node={node} put={put} />
          </div>
          {tab === 'reliability' && <Reliability node={node} put={put} />}
          {tab === 'notes' && <NoteFields node={node} put={put} readOnly={readOnly} />}
          {tab === 'data' && <LastData node={node} onInsert={insert} pins={pins} onPins={onPins} />}
        </Tabs>
      </section>
    </FormContext.Provider>
  );
}

type Put = (path: (string | number)[], value: unknown) => void;

function ConfigFields({ node, put }: { node: DefinedNode; put: Put }) {
  const t = useT();
  const { types } = useTools();
  const type = types.get(node.type);
  const fields = useMemo(() => (type === undefined ? [] : formOf(type)), [type]);
  const config = (node.config ?? {}) as Record<string, unknown>;
  const unknown = Object.keys(config).filter((name) => !fields.some((field) => field.name === name));
  if (type === undefined) {
    const spec = {
      name: 'config',
      title: t('editor.config'),
      description: '',
      widget: 'any' as const,
      required: false,
      templated: false,
      numeric: false,
      choices: [],
      default: undefined,
    };
    return (
      <>
        <p className={css.warn}>{t('editor.unknown_type', { type: node.type })}</p>
        <YamlWidget
          spec={spec}
          value={node.config ?? undefined}
          onChange={(value) => put(['config'], value)}
          path={[]}
          id="config"
          label={spec.title}
          invalid={false}
        />
      </>
    );
  }
  return (
    <>
      {fields
        .filter((field) => isShown(field, fields, config))
        .map((field) => (
          <FieldView
            key={`${node.id} ${field.name}`}
            spec={field}
            value={config[field.name]}
            path={[field.name]}
            onChange={(value) => put(['config', field.name], value)}
          />
        ))}
      {unknown.map((name) => (
        <FieldView
          key={`${node.id} ${name}`}
          spec={{
            name,
            title: name,
            description: '',
            widget: 'any',
            required: false,
            templated: false,
            numeric: false,
            choices: [],
            default: undefined,
          }}
          value={config[name]}
          path={[name]}
          onChange={(value) => put(['config', name], value)}
        />
      ))}
      {fields.length + unknown.length === 0 && <p className={css.none}>{t('editor.no_config')}</p>}
    </>
  );
}

function NoteFields({ node, put, readOnly }: { node: DefinedNode; put: Put; readOnly: boolean }) {
  const t = useT();
  const { types } = useTools();
  const type = types.get(node.type);
  return (
    <div className={css.fields}>
      <Field label={t('editor.name')}>
        {(ids) => (
          <TextArea
            {...ids}
            rows={2}
            disabled={readOnly}
            value={node.name ?? ''}
            onChange={(event) => put(['name'], event.target.value || undefined)}
          />
        )}
      </Field>
      {type && (
        <>
          <h3>{type.title}</h3>
          <p className={css.doc}>{type.doc}</p>
          <h3>{t('editor.output')}</h3>
          <p className={css.doc}>{type.output}</p>
          <h3>{t('editor.example')}</h3>
          <pre className={css.example}>{type.example}</pre>
        </>
      )}
    </div>
  );
}

/** Problems of a node by the place of the field below its config. */
function problemsOf(diagnostics: Diagnostic[], index: number): Map<string, Diagnostic[]> {
  const found = new Map<string, Diagnostic[]>();
  for (const one of diagnostics) {
    const prefix = `/nodes/${index}/`;
    if (!one.pointer.startsWith(prefix)) continue;
    const rest = one.pointer.slice(prefix.length - 1);
    const place = rest.startsWith('/config/') ? rest.slice('/config'.length) : rest;
    found.set(place, [...(found.get(place) ?? []), one]);
  }
  return found;
}

export function IdInput({ id, actions, readOnly }: { id: string; actions: Actions; readOnly: boolean }) {
  const t = useT();
  const tools = useTools();
  const { text, setText, settle, reset } = useSettled(id, (next) => idProblem(tools, id, next) === null && actions.rename(id, next));
  const problem = idProblem(tools, id, text);
  const renaming = text === id || problem !== null ? null : actions.renaming(id, text);
  return (
    <div className={css.id}>
      <Input
        mono
        aria-label={t('editor.id')}
        aria-invalid={problem !== null || undefined}
        disabled={readOnly}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => (problem === null ? settle() : reset())}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && problem === null) settle();
          if (event.key === 'Escape') reset();
        }}
      />
      {problem !== null && <p className={css.error}>{t.name('editor', 'id', problem)}</p>}
      {renaming && <p className={css.count}>{t('editor.renames', { edges: renaming.edges, references: renaming.references })}</p>}
    </div>
  );
}
