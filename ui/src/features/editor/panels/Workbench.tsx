import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { GraphView } from '../../../canvas/ViewSwitch';
import { Link } from '../../../frame/navigate';
import { useRole } from '../../../frame/session';
import { useT } from '../../../messages';
import { cx } from '../../../ui/cx';
import { Page } from '../../../ui/Page';
import { useNarrow } from '../../../ui/useNarrow';
import { CodePane } from '../code/CodePane';
import { chosenOf, useDataAt } from '../code/data';
import { type Actions, createActions, type View } from '../model/actions';
import { useEditorCommands } from '../model/commands';
import { useEditor, useTools } from '../model/context';
import { readPins, useDraftKeeping, useLeaveQuestion, useValidation } from '../model/hooks';
import { useNeighbours } from '../model/neighbours';
import type { Diagnostic, Pin } from '../model/wire';
import { Banners } from './Banners';
import { DataChip } from './DataChip';
import { DraftState } from './DraftState';
import { EditCanvas, useView } from './EditCanvas';
import { ProblemsPanel } from './ProblemsPanel';
import { SidePanel } from './SidePanel';
import { type Mode, Toolbar } from './Toolbar';
import { TypePalette } from './TypePalette';
import { type Adding, useAdding } from './useAdding';
import { useFileMenu } from './useFileMenu';
import { useSaving } from './useSaving';
import { type Testing, useTesting } from './useTesting';
import css from './Workbench.module.css';

interface TextPlace {
  line: number;
  column: number;
  at: number;
  pointer: string;
  node: string | null;
}

export interface WorkbenchProps {
  draftKey: string;
  mode: Mode;
  onMode: (mode: Mode) => void;
  /** The graph as a picture or as a list; unsaid, a list where there is no room for a picture. */
  view: GraphView | '';
  onView: (view: GraphView) => void;
  node: string;
  onNode: (node: string) => void;
  data: string;
  onData: (data: string) => void;
  /** A draft that was found when the editor was opened. */
  banner?: ReactNode;
}

export function Workbench({ draftKey, mode, onMode, view, onView, node, onNode, data, onData, banner }: WorkbenchProps) {
  const t = useT();
  const tools = useTools();
  const { store, stored } = tools;
  const definition = useEditor((state) => state.document.definition);
  const diagnostics = useEditor((state) => state.diagnostics);
  const one = useEditor((state) => (state.selection.nodes.length === 1 ? (state.selection.nodes[0] ?? null) : null));
  const [drawn, setDrawn] = useView();
  const actions = useMemo(() => createActions(tools, drawn), [tools, drawn]);
  const narrow = useNarrow();
  const graphView = view || (narrow ? 'outline' : 'canvas');
  const [showProblems, setShowProblems] = useState(false);
  const [place, setPlace] = usePlace(one, mode);
  const kept = useDraftKeeping(draftKey);
  const neighbours = useNeighbours(stored);
  const saving = useSaving(neighbours.tellSaved);
  const testing = useTesting(one, neighbours.tellSaved);
  const adding = useAdding(actions);
  const [menu, fileDialog] = useFileMenu(drawn);
  const { reason } = useRole();
  const toggleProblems = () => setShowProblems(!showProblems);
  useValidation();
  useLeaveQuestion();
  useSelectionInAddress(node, onNode);
  useChosenData(one, data);
  useEditorCommands({
    actions,
    onAdd: adding.byKey,
    onConnect: adding.connect,
    onMode,
    onSave: saving.start,
    onTest: testing.ask,
    onProblems: toggleProblems,
    onOutline: () => onView(graphView === 'canvas' ? 'outline' : 'canvas'),
    closeRun: testing.shown ? testing.close : null,
  });
  const goTo = (found: Diagnostic) => {
    if (found.node_id) store.getState().select({ nodes: [found.node_id], edges: [] });
    setPlace({ line: found.line ?? 0, column: found.column ?? 1, at: Date.now(), pointer: found.pointer, node: found.node_id ?? null });
    if (!found.node_id && mode === 'canvas' && found.line) onMode('split');
    requestAnimationFrame(() => focusField(found));
  };
  const count = (diagnostics ?? []).filter((found) => found.severity === 'error').length;
  const name = definition.name || t('editor.new_schema');
  const toolbar = (
    <Toolbar
      mode={mode}
      onMode={onMode}
      problemsOpen={showProblems}
      onProblems={toggleProblems}
      onTidy={actions.tidy}
      onTest={testing.ask}
      testReason={testing.reason}
      onSave={() => (saving.unused === null ? saving.start() : saving.use(saving.unused))}
      saveReason={reason('editor') ?? saving.reason}
      unused={saving.unused}
      menu={menu}
    />
  );
  const head = (
    <>
      <DraftState kept={kept} />
      <DataChip chosen={data} onChoose={onData} />
    </>
  );
  return (
    <Page
      title={<Title name={name} stored={stored} />}
      documentTitle={`${count > 0 ? `(${count}) ` : ''}${name}`}
      crumbs={<Link href="/schemas">{t('editor.schemas')}</Link>}
      head={head}
      actions={toolbar}
    >
      <div className={css.whole}>
        {banner}
        <Banners neighbours={neighbours} />
        <Bench
          mode={mode}
          view={graphView}
          onView={onView}
          still={narrow}
          actions={actions}
          setDrawn={setDrawn}
          adding={adding}
          testing={testing}
          place={place}
        >
          {showProblems && <ProblemsPanel actions={actions} onGo={goTo} />}
        </Bench>
      </div>
      {adding.dialogs}
      {testing.dialog}
      {saving.dialogs}
      {fileDialog}
    </Page>
  );
}

/** Where a click on a problem leads; null again once form and text went there, so that no node selected later and no text shown later goes there too. */
function usePlace(one: string | null, mode: Mode) {
  const [place, setPlace] = useState<TextPlace | null>(null);
  const forText = place?.node === null;
  const arrived = place !== null && (forText ? mode !== 'canvas' || place.line === 0 : place.node === one);
  // Runs after the effects of the form and of the text.
  useEffect(() => {
    if (arrived) setPlace(null);
  }, [arrived]);
  return [place, setPlace] as const;
}

/** The way back to the screen of the schema. */
function Title({ name, stored }: { name: string; stored: string | null }) {
  if (stored === null) return name;
  return (
    <Link href={`/schemas/${encodeURIComponent(stored)}`} className={css.title}>
      {name}
    </Link>
  );
}

interface BenchProps {
  mode: Mode;
  view: GraphView;
  onView: (view: GraphView) => void;
  /** No room to move cards. */
  still: boolean;
  actions: Actions;
  setDrawn: (view: View | null) => void;
  adding: Adding;
  testing: Testing;
  place: TextPlace | null;
  children: ReactNode;
}

/** Palette, canvas or code or both, form; problems below. */
function Bench({ mode, view, onView, still, actions, setDrawn, adding, testing, place, children }: BenchProps) {
  const { store, stored } = useTools();
  const readOnly = useEditor((state) => state.readOnly);
  const query = useQuery({ queryKey: ['pins', stored], queryFn: ({ signal }) => readPins(stored ?? '', signal), enabled: stored !== null });
  const pins = query.data?.items ?? NO_PINS;
  return (
    <div className={cx(css.bench, readOnly && css.reading)}>
      {!readOnly && <TypePalette onAdd={adding.behind} />}
      <div className={cx(css.center, mode === 'split' && css.split)}>
        {mode !== 'code' && (
          <EditCanvas
            actions={actions}
            onDrawn={setDrawn}
            view={view}
            onView={onView}
            still={still}
            onAdd={adding.at}
            onHover={adding.hover}
            onNodeMenu={(id) => store.getState().select({ nodes: [id], edges: [] })}
            pins={pins}
            run={testing.paint}
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
          test={testing.test}
          result={testing.result}
          pins={pins}
          onPins={() => void query.refetch()}
          onClose={testing.close}
          place={place}
        />
      </div>
      {children && <div className={css.low}>{children}</div>}
    </div>
  );
}

const NO_PINS: Pin[] = [];

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
  const chosen = useMemo(() => chosenOf(text), [text]);
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
