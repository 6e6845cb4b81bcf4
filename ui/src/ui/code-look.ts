/** How code looks everywhere: the tokens' colours, and the nonce that the page was given, without which CodeMirror's style would be refused. */
import { HighlightStyle } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export function codeNonce(): Extension {
  const value = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content;
  return value ? EditorView.cspNonce.of(value) : [];
}

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'transparent', fontSize: '12px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '4px 0' },
  '.cm-line': { padding: '0 8px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-ground)',
  },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--faint)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12px', maxHeight: '240px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-ground)', color: 'var(--ink)' },
  '.cm-completionDetail': { color: 'var(--faint)', fontStyle: 'normal', marginLeft: '12px' },
  '.cm-completionInfo': { whiteSpace: 'pre-wrap', fontFamily: 'var(--font)', maxWidth: '320px', padding: '8px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-diagnostic': { padding: '6px 10px', fontFamily: 'var(--font)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--info)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)', textUnderlineOffset: '3px' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--info)', textUnderlineOffset: '3px' },
  '.cm-panels': { backgroundColor: 'var(--sheet)', color: 'var(--ink)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-ground)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-ground)' },
  '.cm-placeholder': { color: 'var(--faint)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--idle-ground)', border: 'none', color: 'var(--soft)' },
});

/** Reached by keys whether it can be changed or only scrolled. */
export const codeLook: Extension = [look, EditorView.contentAttributes.of({ tabindex: '0' })];

export const codeHighlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null, tags.atom], color: 'var(--debug)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.literal], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment, tags.meta], color: 'var(--faint)', fontStyle: 'italic' },
  { tag: tags.function(tags.variableName), color: 'var(--accent)' },
  { tag: [tags.namespace, tags.definition(tags.propertyName), tags.typeName], color: 'var(--info)' },
  { tag: tags.brace, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.propertyName, color: 'var(--ink)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);
