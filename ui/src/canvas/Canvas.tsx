import { ReactFlow, ReactFlowProvider, useStore } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { type ReactNode, useEffect, useId, useMemo, useRef } from 'react';
import type { Layout } from '../graph/layout';
import type { Graph } from '../graph/model';
import { useT } from '../messages';
import { cx } from '../ui/cx';
import { nodeName } from './a11y';
import css from './Canvas.module.css';
import { EdgeLine } from './EdgeLine';
import type { CardNode, LineEdge } from './flow';
import type { Looks } from './looks';
import { MapMode } from './MapMode';
import { Minimap } from './Minimap';
import { NodeCard } from './NodeCard';
import { type Editing, useFlow } from './useFlow';
import { useCanvasKeys } from './useKeys';
import { useView } from './useView';
import { ZoomBar } from './ZoomBar';

export type { Editing } from './useFlow';

const NODE_TYPES = { card: NodeCard };
const EDGE_TYPES = { line: EdgeLine };
const NO_NODES: CardNode[] = [];
const NO_EDGES: LineEdge[] = [];
/** Below this zoom a picture takes the place of the cards. */
export const MAP_ZOOM = 0.3;
/** From here on only what is in view is drawn. Small graphs are drawn whole, so that no line is cut while panning. */
const MANY = 150;

export interface CanvasProps {
  graph: Graph;
  layout: Layout;
  looks: Looks;
  /** What the canvas is, for screen readers. */
  label: string;
  selected?: string | null;
  onSelect?: (id: string | null) => void;
  onOpen?: (id: string) => void;
  /** This node is kept in view whenever it changes. */
  follow?: string | null;
  /** Where to look first if the whole does not fit. */
  focus?: string | null;
  editing?: Editing;
  /** Drawn over the canvas. */
  children?: ReactNode;
  className?: string;
}

export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function Inner({
  graph,
  layout,
  looks,
  label,
  selected = null,
  onSelect,
  onOpen,
  follow,
  focus,
  editing,
  children,
  className,
}: CanvasProps) {
  const t = useT();
  const host = useRef<HTMLDivElement>(null);
  const id = useId();
  const flow = useFlow(graph, layout, looks, editing);
  const view = useView(host, graph, layout, focus ?? follow ?? null, editing !== undefined);
  const far = useStore((state) => state.transform[2] < MAP_ZOOM);
  const index = selected === null ? -1 : (graph.byId.get(selected) ?? -1);
  useEffect(() => looks.select(index), [looks, index]);
  const followed = follow === null || follow === undefined ? -1 : (graph.byId.get(follow) ?? -1);
  useEffect(() => {
    if (followed >= 0) view.reveal(followed);
  }, [followed, view]);
  const onKeyDown = useCanvasKeys({ graph, view, index, onSelect, onOpen });
  const pick = (event: { clientX: number; clientY: number }) => onSelect?.(far ? view.nodeUnder(event) : null);
  const keys = useMemo(
    () =>
      editing ? { multiSelectionKeyCode: 'Shift', selectionKeyCode: 'Shift' } : { multiSelectionKeyCode: null, selectionKeyCode: null },
    [editing],
  );
  return (
    <div
      ref={host}
      className={cx(css.canvas, className)}
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      aria-label={label}
      aria-roledescription={t('canvas.role')}
      aria-describedby={`${id}keys`}
      aria-activedescendant={index >= 0 ? `${id}active` : undefined}
      onKeyDown={onKeyDown}
    >
      <p id={`${id}keys`} className="sr">
        {t('canvas.keys')}
      </p>
      <ActiveNode id={`${id}active`} graph={graph} looks={looks} index={index} />
      <ReactFlow
        nodes={far ? NO_NODES : flow.nodes}
        edges={far ? NO_EDGES : flow.edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        {...flow.handlers}
        {...keys}
        onNodeClick={(event, node) => !(editing && event.shiftKey) && onSelect?.(node.id)}
        onNodeDoubleClick={(_event, node) => onOpen?.(node.id)}
        onPaneClick={pick}
        onlyRenderVisibleElements={graph.nodes.length > MANY}
        minZoom={view.minZoom}
        maxZoom={2}
        nodesDraggable={editing !== undefined}
        nodesConnectable={editing !== undefined}
        elementsSelectable={editing !== undefined}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        panActivationKeyCode={null}
        zoomActivationKeyCode={null}
        zoomOnDoubleClick={false}
        selectNodesOnDrag={false}
        proOptions={{ hideAttribution: true }}
      />
      {far && <MapMode graph={graph} layout={layout} looks={looks} />}
      <Minimap graph={graph} layout={layout} looks={looks} view={view} />
      <ZoomBar view={view} />
      {children}
    </div>
  );
}

/** What a screen reader says for the node that has the focus, whether it is drawn or not. */
function ActiveNode({ id, graph, looks, index }: { id: string; graph: Graph; looks: Looks; index: number }) {
  const t = useT();
  if (index < 0) return null;
  return <span id={id} role="img" className="sr" aria-label={nodeName(graph, looks, index, t)} />;
}
