import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { defaultHighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef, useState } from 'react';
import { useT } from '../../messages';
import css from './Versions.module.css';

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'transparent', fontSize: '12px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--faint)', border: 'none' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-ground)' },
  '&.cm-merge-b .cm-changedLine, .cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-ground)' },
  '.cm-changedText, .cm-deletedText': { background: 'none', fontWeight: '700' },
  '.cm-collapsedLines': { background: 'var(--idle-ground)', color: 'var(--soft)' },
});

function base(isJson: boolean): Extension {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content;
  return [
    nonce ? EditorView.cspNonce.of(nonce) : [],
    look,
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
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
  const [wide, setWide] = useState(() => window.innerWidth > 1000);
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const collapse = { margin: 3, minSize: 6 };
    const extensions = base(isJson);
    if (wide) {
      const view = new MergeView({
        a: { doc: before, extensions },
        b: { doc: after, extensions },
        parent,
        collapseUnchanged: collapse,
        gutter: true,
      });
      return () => view.destroy();
    }
    const unified = unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: collapse });
    const view = new EditorView({ parent, doc: after, extensions: [extensions, unified] });
    return () => view.destroy();
  }, [before, after, wide, isJson]);
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
