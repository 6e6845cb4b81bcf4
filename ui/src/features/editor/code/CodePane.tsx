/** The whole text: one of the two views of the document. Its own undo is the editor's: one history. */

import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { foldGutter, foldKeymap } from '@codemirror/language';
import type { Diagnostic as Mark } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useMemo, useRef } from 'react';
import { type Translate, useT } from '../../../messages';
import { faultSaid } from '../../../messages/said';
import { useEditor, useTools } from '../model/context';
import type { Diagnostic } from '../model/wire';
import { CodeField, type CodeHandle } from './CodeField';
import css from './CodePane.module.css';

export function CodePane({ go }: { go: { line: number; column: number; at: number } | null }) {
  const t = useT();
  const { store } = useTools();
  const text = useEditor((state) => state.text);
  const readOnly = useEditor((state) => state.readOnly);
  const diagnostics = useEditor((state) => state.diagnostics);
  const problem = useEditor((state) => state.problem);
  const field = useRef<CodeHandle>(null);
  const isJson = useEditor((state) => state.document.json);
  const extensions = useMemo(() => extensionsOf(store, isJson), [store, isJson]);
  const marks = useMemo(() => {
    if (problem) return [{ from: problem.at, to: problem.at + 1, severity: 'error', message: problem.message } satisfies Mark];
    return marksOf(text, diagnostics ?? [], t);
  }, [diagnostics, problem, text, t]);
  useEffect(() => {
    if (go === null || go.line === 0) return;
    field.current?.focus(offsetOf(store.getState().text, go.line, go.column));
  }, [go, store]);
  const place = (offset: number) => {
    const { document, selection, select } = store.getState();
    const id = document.nodeAt(offset);
    if (id !== null && store.getState().problem === null && (selection.nodes.length !== 1 || selection.nodes[0] !== id))
      select({ nodes: [id], edges: [] });
  };
  return (
    <CodeField
      value={text}
      onChange={(value) => store.getState().setText(value)}
      extensions={extensions}
      label={t('editor.code')}
      readOnly={readOnly}
      multiline
      indents
      problems={marks}
      className={css.pane}
      handle={field}
      onPlace={place}
    />
  );
}

function extensionsOf(store: ReturnType<typeof useTools>['store'], isJson: boolean) {
  const history = [
    { key: 'Mod-z', run: () => done(store.getState().undo) },
    { key: 'Mod-y', run: () => done(store.getState().redo) },
    { key: 'Mod-Shift-z', run: () => done(store.getState().redo) },
  ];
  return [
    isJson ? json() : yaml(),
    lineNumbers(),
    foldGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    keymap.of([...history, ...searchKeymap, ...foldKeymap]),
  ];
}

function done(act: () => void): true {
  act();
  return true;
}

/** Lines and columns count from 1, columns in characters. */
export function offsetOf(text: string, line: number, column: number): number {
  let at = 0;
  for (let count = 1; count < line; count++) {
    const end = text.indexOf('\n', at);
    if (end < 0) return text.length;
    at = end + 1;
  }
  const end = text.indexOf('\n', at);
  const letters = [...text.slice(at, end < 0 ? undefined : end)].slice(0, Math.max(0, column - 1));
  return at + letters.join('').length;
}

function marksOf(text: string, diagnostics: Diagnostic[], t: Translate): Mark[] {
  return diagnostics.flatMap((one) => {
    if (!one.line) return [];
    const from = offsetOf(text, one.line, one.column ?? 1);
    const told = faultSaid(one, t);
    const message = one.hint ? `${told}\n${one.hint}` : told;
    return [
      {
        from,
        to: from + Math.max(1, one.length ?? 1),
        severity: one.severity === 'note' ? 'info' : one.severity,
        message,
        source: one.code,
      },
    ];
  });
}
