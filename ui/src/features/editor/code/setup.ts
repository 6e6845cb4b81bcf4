/** CodeMirror as the editor uses it. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, keymap } from '@codemirror/view';
import { codeHighlight, codeLook, codeNonce } from '../../../ui/code-look';

/** Tab moves the focus, unless the field says that it indents; then Esc and Tab move it. */
export function base(indents: boolean): Extension {
  return [
    codeNonce(),
    codeLook,
    syntaxHighlighting(codeHighlight),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    indentOnInput(),
    EditorView.lineWrapping,
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...(indents ? [indentWithTab] : [])]),
    autocompletion({ icons: false, activateOnTyping: true }),
  ];
}
