/** The keys of the editor. All of them are in the palette and in the list of keys too. */
import { useEffect } from 'react';
import { type Command, useCommands } from '../../../frame/commands';
import { useT } from '../../../messages';
import type { Mode } from '../panels/Toolbar';
import type { Actions } from './actions';
import { useEditor, useTools } from './context';

export interface CommandTargets {
  actions: Actions;
  onAdd: (before: boolean) => void;
  onConnect: (id: string) => void;
  onMode: (mode: Mode) => void;
  onSave: () => void;
  onTest: () => void;
  onProblems: () => void;
  onOutline: () => void;
  closeRun: (() => void) | null;
}

export function useEditorCommands({
  actions,
  onAdd,
  onConnect,
  onMode,
  onSave,
  onTest,
  onProblems,
  onOutline,
  closeRun,
}: CommandTargets): void {
  const t = useT();
  const { types, store } = useTools();
  const readOnly = useEditor((state) => state.readOnly);
  const selected = useEditor((state) => state.selection.nodes);
  const any = useEditor((state) => state.selection.nodes.length + state.selection.edges.length > 0);
  const state = store.getState();
  const locked = readOnly ? t('editor.is_read_only') : undefined;
  const needs = locked ?? (any ? undefined : t('editor.select_first'));
  const one = locked ?? (selected.length === 1 ? undefined : t('editor.select_one'));
  const page = (id: string, name: string, keys: string | undefined, act: () => void, disabledReason?: string): Command => ({
    id: `editor.${id}`,
    name,
    group: 'page',
    keys,
    act,
    disabledReason,
  });
  const step = (id: string, keys: string, x: number, y: number): Command => ({
    ...page(id, t('editor.move'), keys, () => actions.nudge({ x, y }), needs),
    keyOnly: true,
  });
  const connectFrom = () => selected[0] !== undefined && onConnect(selected[0]);
  useCommands([
    { ...page('save', t('common.save'), 'Ctrl+S', onSave, locked), everywhere: true },
    page('undo', t('editor.undo'), 'Ctrl+Z', state.undo, locked),
    page('redo', t('editor.redo'), 'Ctrl+Y|Ctrl+Shift+Z', state.redo, locked),
    page('add', t('editor.add_node'), 'a', () => onAdd(false), locked),
    page('add_before', t('editor.add_before'), 'Shift+A', () => onAdd(true), one),
    page('connect', t('editor.connect'), 'c', connectFrom, one),
    page('remove', t('common.delete'), 'Delete|Backspace', () => actions.remove(false), needs),
    page('remove_join', t('editor.remove_join'), 'Ctrl+Delete|Ctrl+Backspace', () => actions.remove(true), needs),
    page('duplicate', t('editor.duplicate'), 'Ctrl+D', () => actions.duplicate(), needs),
    page('disable', t('editor.disable'), 'd', () => actions.toggleDisabled(), needs),
    page('all', t('editor.select_all'), 'Ctrl+A', () => actions.selectAll()),
    page('upstream', t('editor.select_up'), 'Alt+ArrowUp', () => actions.selectReachable('up'), one),
    page('downstream', t('editor.select_down'), 'Alt+ArrowDown', () => actions.selectReachable('down'), one),
    page('tidy', t('editor.tidy'), 'Shift+T', () => actions.tidy(), locked),
    page('test', t('editor.test_run'), 'Ctrl+Enter', onTest, locked),
    page('outline', t('editor.picture_or_list'), 'o', onOutline),
    page('problems', t('editor.problems'), 'p', onProblems),
    ...(['canvas', 'split', 'code'] as const).map((mode, at) =>
      page(`mode_${mode}`, t(`editor.view_${mode}`), String(at + 1), () => onMode(mode)),
    ),
    step('left', 'Shift+ArrowLeft', -8, 0),
    step('right', 'Shift+ArrowRight', 8, 0),
    step('up', 'Shift+ArrowUp', 0, -8),
    step('down', 'Shift+ArrowDown', 0, 8),
    step('left40', 'Ctrl+Shift+ArrowLeft', -40, 0),
    step('right40', 'Ctrl+Shift+ArrowRight', 40, 0),
    step('up40', 'Ctrl+Shift+ArrowUp', 0, -40),
    step('down40', 'Ctrl+Shift+ArrowDown', 0, 40),
    ...(closeRun === null ? [] : [page('close_run', t('editor.back_to_editing'), 'Escape', closeRun)]),
    ...[...types.values()]
      .filter((type) => type.type !== 'start')
      .map((type) =>
        page(`add_${type.type}`, `${t('editor.add_node')}: ${type.title}`, undefined, () => addOf(actions, selected, type.type), locked),
      ),
  ]);
  useClipboard(actions, readOnly);
}

function addOf(actions: Actions, selected: string[], type: string) {
  const [id] = selected;
  const exit = id === undefined ? null : actions.openExit(id);
  actions.add(type, id === undefined || exit === null ? {} : { from: { node: id, exit } });
}

/** The clipboard's own events: no permission is asked for, and text in fields stays the field's. */
function useClipboard(actions: Actions, readOnly: boolean): void {
  const { store } = useTools();
  useEffect(() => {
    const own = () => {
      const active = document.activeElement;
      const typing = active instanceof HTMLElement && (active.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName));
      return !typing && document.querySelector('[role=dialog]:not([hidden])') === null && getSelection()?.type !== 'Range';
    };
    const copy = (event: ClipboardEvent) => {
      if (!own() || store.getState().selection.nodes.length === 0) return;
      event.clipboardData?.setData('text/plain', actions.copied());
      event.preventDefault();
      if (event.type === 'cut' && !readOnly) actions.remove(false);
    };
    const paste = (event: ClipboardEvent) => {
      if (!own() || readOnly) return;
      if (actions.pasteText(event.clipboardData?.getData('text/plain') ?? '') > 0) event.preventDefault();
    };
    document.addEventListener('copy', copy);
    document.addEventListener('cut', copy);
    document.addEventListener('paste', paste);
    return () => {
      document.removeEventListener('copy', copy);
      document.removeEventListener('cut', copy);
      document.removeEventListener('paste', paste);
    };
  }, [actions, readOnly, store]);
}
