import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import type { Execution } from '../../../api/model';
import type { Looks } from '../../../canvas/looks';
import { Link } from '../../../frame/navigate';
import { useRole } from '../../../frame/session';
import type { Graph } from '../../../graph/model';
import { useT } from '../../../messages';
import { cx } from '../../../ui/cx';
import { Page } from '../../../ui/Page';
import { CodePane } from '../code/CodePane';
import { useDataAt } from '../code/data';
import { type AddAt, createActions } from '../model/actions';
import { useEditorCommands } from '../model/commands';
import { useEditor, useTools } from '../model/context';
import { readPins, useDraftKeeping, useLeaveQuestion, useValidation } from '../model/hooks';
import { useNeighbours } from '../model/neighbours';
import type { Diagnostic, Point } from '../model/wire';
import { AddMenu } from './AddMenu';
import { Banners } from './Banners';
import { ConnectMenu } from './ConnectMenu';
import { DataChip } from './DataChip';
import { DraftState } from './DraftState';
import { EditCanvas, useView } from './EditCanvas';
import { ProblemsPanel } from './ProblemsPanel';
import { SidePanel } from './SidePanel';
import { showRun } from './showRun';
import { TestDialog, type TrialResult, useTestRun } from './TestRun';
import { type Mode, Toolbar } from './Toolbar';
import { TypePalette } from './TypePalette';
import { useFileMenu } from './useFileMenu';
import { useSaving } from './useSaving';
import css from './Workbench.module.css';

export interface WorkbenchProps {
  draftKey: string;
  mode: Mode;
  onMode: (mode: Mode) => void;
  node: string;
  onNode: (node: string) => void;
  data: string;
  onData: (data: string) => void;
  /** A draft that was found when the editor was opened. */
  banner?: React.ReactNode;
}

export function Workbench({ draftKey, mode, onMode, node, onNode, data, onData, banner }: WorkbenchProps) {
  const t = useT();
  const tools = useTools();
  const { store, stored } = tools;
  const { reason } = useRole();
  const definition = useEditor((state) => state.document.definition);
  const readOnly = useEditor((state) => state.readOnly);
  const diagnostics = useEditor((state) => state.diagnostics);
  const selection = useEditor((state) => state.selection);
  const [view, setView] = useView();
  const actions = useMemo(() => createActions(tools, view), [tools, view]);
  const [adding, setAdding] = useState<{ where: AddAt; client: Point } | null>(null);
  const [connecting, setConnecting] = useState<string | null>(null);
  const [showProblems, setShowProblems] = useState(false);
  const [place, setPlace] = useState<{ line: number; column: number; at: number } | null>(null);
  const [testing, setTesting] = useState(false);
  const [run, setRun] = useState<Execution | null>(null);
  const [result, setResult] = useState<TrialResult | null>(null);
  const pins = useQuery({ queryKey: ['pins', stored], queryFn: ({ signal }) => readPins(stored ?? '', signal), enabled: stored !== null });
  const kept = useDraftKeeping(draftKey);
  const neighbours = useNeighbours(stored);
  const saving = useSaving(neighbours.tellSaved);
  const test = useTestRun(run?.id ?? null);
  useValidation();
  useLeaveQuestion();
  useSelectionInAddress(node, onNode);
  useChosenData(selection.nodes.length === 1 ? (selection.nodes[0] ?? null) : null, data);
  const paint = useMemo(
    () => (run === null ? undefined : (graph: Graph, looks: Looks) => showRun(graph, looks, test.run ?? run, test.steps)),
    [run, test.run, test.steps],
  );
  const onAdd = useCallback((where: AddAt, client: Point) => setAdding({ where, client }), []);
  const addBehind = useCallback((type: string) => actions.add(type, behind(actions, store.getState().selection.nodes)), [actions, store]);
  const goTo = (one: Diagnostic) => {
    if (one.node_id) store.getState().select({ nodes: [one.node_id], edges: [] });
    if (one.line) setPlace({ line: one.line, column: one.column ?? 1, at: Date.now() });
    if (!one.node_id && mode === 'canvas' && one.line) onMode('split');
    requestAnimationFrame(() => focusField(one));
  };
  const [menu, fileDialog] = useFileMenu(view);
  const openAdd = (before: boolean) => {
    const [id] = store.getState().selection.nodes;
    const where = before && id !== undefined ? { before: id } : behind(actions, store.getState().selection.nodes);
    setAdding({ where, client: { x: window.innerWidth / 2 - 152, y: 160 } });
  };
  useEditorCommands({
    actions,
    onAdd: openAdd,
    onConnect: setConnecting,
    onMode,
    onSave: saving.start,
    onTest: () => setTesting(true),
    onProblems: () => setShowProblems(!showProblems),
    closeRun: run === null && result === null ? null : () => (setRun(null), setResult(null)),
  });
  const count = (diagnostics ?? []).filter((one) => one.severity === 'error').length;
  const testReason =
    stored === null ? t('editor.save_first') : (reason('editor') ?? (count > 0 ? t('editor.has_errors', { n: count }) : undefined));
  const name = definition.name || t('editor.new_schema');
  return (
    <Page
      title={name}
      documentTitle={`${count > 0 ? `(${count}) ` : ''}${name}`}
      crumbs={
        <Link href={stored === null ? '/schemas' : `/schemas/${encodeURIComponent(stored)}`}>
          {stored === null ? t('editor.schemas') : stored}
        </Link>
      }
      head={
        <>
          <DraftState kept={kept} />
          <DataChip chosen={data} onChoose={onData} />
        </>
      }
      actions={
        <Toolbar
          mode={mode}
          onMode={onMode}
          problemsOpen={showProblems}
          onProblems={() => setShowProblems(!showProblems)}
          onTidy={actions.tidy}
          onTest={() => setTesting(true)}
          testReason={testReason}
          onSave={saving.start}
          saveReason={reason('editor') ?? saving.reason}
          menu={menu}
        />
      }
    >
      <div className={css.whole}>
        {banner}
        <Banners neighbours={neighbours} />
        <div className={cx(css.bench, readOnly && css.reading)}>
          {!readOnly && <TypePalette onAdd={addBehind} />}
          <div className={cx(css.center, mode === 'split' && css.split)}>
            {mode !== 'code' && (
              <EditCanvas
                actions={actions}
                onView={setView}
                onAdd={onAdd}
                onNodeMenu={(id) => store.getState().select({ nodes: [id], edges: [] })}
                pins={pins.data?.items ?? []}
                run={paint}
              />
            )}
            {mode !== 'canvas' && (
              <div className={css.code}>
                <CodePane go={place} />
              </div>
            )}
          </div>
          <div className={css.side}>
            <SidePanel
              actions={actions}
              run={run === null ? null : (test.run ?? run)}
              steps={test.steps}
              result={result}
              pins={pins.data?.items ?? []}
              onPins={() => void pins.refetch()}
              onClose={() => (setRun(null), setResult(null))}
            />
          </div>
          {showProblems && (
            <div className={css.low}>
              <ProblemsPanel actions={actions} onGo={goTo} />
            </div>
          )}
        </div>
      </div>
      {adding && (
        <AddMenu
          at={adding.client}
          title={t('editor.add_node')}
          onClose={() => setAdding(null)}
          onPick={(type) => (actions.add(type, adding.where), setAdding(null))}
        />
      )}
      {connecting !== null && <ConnectMenu id={connecting} actions={actions} onClose={() => setConnecting(null)} />}
      {testing && (
        <TestDialog
          node={selection.nodes.length === 1 ? (selection.nodes[0] ?? null) : null}
          onStarted={(started) => (setRun(started), setResult(null))}
          onResult={(made) => (setResult(made), setRun(null))}
          onSaved={neighbours.tellSaved}
          onClose={() => setTesting(false)}
        />
      )}
      {saving.dialogs}
      {fileDialog}
    </Page>
  );
}

function behind(actions: ReturnType<typeof createActions>, nodes: string[]): AddAt {
  const id = nodes.length === 1 ? nodes[0] : undefined;
  const exit = id === undefined ? null : actions.openExit(id);
  return id === undefined || exit === null ? {} : { from: { node: id, exit } };
}

/** `?node=` is the selected node, so an address shows the same to a colleague. */
function useSelectionInAddress(node: string, onNode: (node: string) => void) {
  const { store } = useTools();
  const selected = useEditor((state) => (state.selection.nodes.length === 1 ? (state.selection.nodes[0] ?? '') : ''));
  const [first] = useState(node);
  useEffect(() => {
    if (first !== '') store.getState().select({ nodes: [first], edges: [] });
  }, [first, store]);
  useEffect(() => {
    if (selected !== node) onNode(selected);
  }, [selected, node, onNode]);
}

function useChosenData(node: string | null, text: string) {
  const { store } = useTools();
  const [execution, seq] = text.split(':');
  const chosen = useMemo(() => (execution && seq ? { execution, seq: Number(seq) } : null), [execution, seq]);
  const data = useDataAt(node, chosen);
  useEffect(() => store.getState().set({ data }), [store, data]);
}

/** The field of a problem gets the focus, once the form of its node is there. */
function focusField(one: Diagnostic) {
  const rest = one.pointer.replace(/^\/nodes\/\d+/, '').replace(/^\/config/, '');
  const field = [...document.querySelectorAll<HTMLElement>('[data-field]')]
    .filter((element) => rest.startsWith(element.dataset.field ?? '#'))
    .at(-1);
  field?.scrollIntoView({ block: 'center' });
  field?.querySelector<HTMLElement>('input, select, textarea, [contenteditable=true]')?.focus();
}
