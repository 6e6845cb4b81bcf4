import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { syntaxHighlighting } from '@codemirror/language';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef, useState } from 'react';
import { useT } from '../../messages';
import { codeHighlight, codeLook, codeNonce } from '../../ui/code-look';
import css from './Versions.module.css';

const diffLook = EditorView.theme({
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-ground)' },
  '&.cm-merge-b .cm-changedLine, .cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-ground)' },
  '.cm-changedText, .cm-deletedText': { background: 'none', fontWeight: '700' },
  '.cm-collapsedLines': { background: 'var(--idle-ground)', color: 'var(--soft)', padding: '2px 8px' },
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '"⋯"', margin: '0 8px' },
});

function base(isJson: boolean, unchanged: string): Extension {
  return [
    codeNonce(),
    codeLook,
    diffLook,
    syntaxHighlighting(codeHighlight),
    EditorState.phrases.of({ '$ unchanged lines': unchanged }),
    isJson ? json() : yaml(),
    lineNumbers(),
    EditorView.lineWrapping,
    EditorState.readOnly.of(true),
  ];
}

/** Side by side where there is room, else one below the other; what is the same folds. */
export function TextDiff({ before, after, json: isJson }: { before: string; after: string; json: boolean }) {
  const t = useT();
  const place = useRef<HTMLDivElement>(null);
  const [unchanged, older, newer] = [t('versions.unchanged'), t('versions.text_from'), t('versions.text_to')];
  const [wide, setWide] = useState(() => window.innerWidth > 1000);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const collapse = { margin: 3, minSize: 6 };
    const extensions = base(isJson, unchanged);
    const named = (name: string) => [extensions, EditorView.contentAttributes.of({ 'aria-label': name })];
    if (wide) {
      const view = new MergeView({
        a: { doc: before, extensions: named(older) },
        b: { doc: after, extensions: named(newer) },
        parent,
        collapseUnchanged: collapse,
        gutter: true,
      });
      return () => view.destroy();
    }
    const unified = unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: collapse });
    const view = new EditorView({ parent, doc: after, extensions: [named(newer), unified] });
    return () => view.destroy();
  }, [before, after, wide, isJson, unchanged, older, newer]);
  return (
    <div className={css.text}>
      <div className={css.bar}>
        <label>
          <input type="checkbox" checked={wide} onChange={(event) => setWide(event.target.checked)} /> {t('versions.side_by_side')}
        </label>
        {before === after && <span className={css.faint}>{t('versions.same')}</span>}
      </div>
      <div ref={place} className={css.merge} />
    </div>
  );
}
