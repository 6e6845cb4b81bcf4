/** A text in CodeMirror that is controlled by its owner. */
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension, type StateEffect } from '@codemirror/state';
import { EditorView, placeholder as placeholderOf } from '@codemirror/view';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { cx } from '../../../ui/cx';
import css from './CodeField.module.css';
import { base } from './setup';

export interface CodeHandle {
  /** Puts a text where the cursor is. */
  insert: (text: string) => void;
  focus: (at?: number) => void;
  view: () => EditorView | null;
}

export interface CodeFieldProps {
  value: string;
  onChange: (value: string) => void;
  /** Not compared: make it outside of rendering, or once. */
  extensions: Extension;
  label: string;
  readOnly?: boolean;
  multiline?: boolean;
  /** Tab indents: for the fields whose text is code of its own. */
  indents?: boolean;
  placeholder?: string;
  problems?: Diagnostic[];
  invalid?: boolean;
  className?: string;
  describedBy?: string;
  handle?: Ref<CodeHandle>;
  onFocus?: () => void;
  /** Where the cursor went. */
  onPlace?: (offset: number) => void;
}

export function CodeField(props: CodeFieldProps) {
  const { value, label, readOnly = false, multiline = false, problems, invalid, className, describedBy, handle } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const locked = useRef(new Compartment());

  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const made = new EditorView({
      parent,
      state: EditorState.create({ doc: latest.current.value, extensions: extensionsOf(latest, locked.current) }),
    });
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, []);
  useEffect(() => takeOver(view.current, value), [value]);
  useEffect(() => {
    view.current?.dispatch({ effects: locked.current.reconfigure(lock(readOnly)) as StateEffect<unknown> });
  }, [readOnly]);
  useEffect(() => {
    const current = view.current;
    if (current === null || problems === undefined) return;
    const end = current.state.doc.length;
    const inside = problems.map((one) => ({ ...one, from: Math.min(one.from, end), to: Math.min(Math.max(one.to, one.from), end) }));
    current.dispatch(setDiagnostics(current.state, inside));
  }, [problems]);
  useEffect(() => {
    const content = view.current?.contentDOM;
    content?.setAttribute('aria-label', label);
    if (invalid) content?.setAttribute('aria-invalid', 'true');
    else content?.removeAttribute('aria-invalid');
    if (describedBy) content?.setAttribute('aria-describedby', describedBy);
  }, [label, invalid, describedBy]);
  useImperativeHandle(handle, () => handleOf(view), []);
  return (
    <div ref={place} className={cx(css.field, multiline && css.multiline, invalid && css.invalid, readOnly && css.locked, className)} />
  );
}

const lock = (readOnly: boolean) => [EditorState.readOnly.of(readOnly), EditorView.editable.of(true)];

function extensionsOf(latest: { current: CodeFieldProps }, locked: Compartment): Extension {
  const { indents = false, placeholder, readOnly = false, extensions } = latest.current;
  return [
    base(indents),
    extensions,
    linter(null),
    placeholder ? placeholderOf(placeholder) : [],
    locked.of(lock(readOnly)),
    EditorView.updateListener.of((update) => {
      const own = update.transactions.some((one) => one.isUserEvent('takeover'));
      if (update.docChanged && !own) latest.current.onChange(update.state.doc.toString());
      if (update.focusChanged && update.view.hasFocus) latest.current.onFocus?.();
      if (update.selectionSet && !own) latest.current.onPlace?.(update.state.selection.main.head);
    }),
  ];
}

/** The owner's text, with the smallest change, so that the cursor stays. */
function takeOver(view: EditorView | null, value: string) {
  if (view === null) return;
  const present = view.state.doc.toString();
  if (present === value) return;
  let from = 0;
  while (from < present.length && from < value.length && present[from] === value[from]) from++;
  let end = 0;
  while (end < present.length - from && end < value.length - from && present[present.length - 1 - end] === value[value.length - 1 - end])
    end++;
  view.dispatch({ changes: { from, to: present.length - end, insert: value.slice(from, value.length - end) }, userEvent: 'takeover' });
}

function handleOf(view: { current: EditorView | null }): CodeHandle {
  return {
    insert: (text) => {
      const current = view.current;
      if (current === null) return;
      const { from, to } = current.state.selection.main;
      current.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: 'input.paste' });
      current.focus();
    },
    focus: (at) => {
      const current = view.current;
      if (current === null) return;
      current.focus();
      if (at === undefined) return;
      const head = Math.min(at, current.state.doc.length);
      current.dispatch({ selection: { anchor: head }, effects: EditorView.scrollIntoView(head, { y: 'center' }) });
    },
    view: () => view.current,
  };
}
