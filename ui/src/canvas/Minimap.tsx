import { useStoreApi } from '@xyflow/react';
import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { Layout } from '../graph/layout';
import type { Graph } from '../graph/model';
import css from './Canvas.module.css';
import { drawGraph } from './draw';
import { boundsOf } from './flow';
import type { Looks } from './looks';
import { prepared, usePalette } from './palette';
import type { View } from './useView';

const WIDTH = 176;
const HEIGHT = 104;
const EDGE = 6;

interface Props {
  graph: Graph;
  layout: Layout;
  looks: Looks;
  view: View;
}

/** Shown only while something of the graph is out of view. */
export function Minimap({ graph, layout, looks, view }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const store = useStoreApi();
  const colors = usePalette();
  const [shown, setShown] = useState(false);
  const scale = useMemo(() => scaleOf(layout), [layout]);
  useEffect(() => {
    const place = () => {
      const { width, height, transform } = store.getState();
      const seen = {
        x: -transform[0] / transform[2],
        y: -transform[1] / transform[2],
        width: width / transform[2],
        height: height / transform[2],
      };
      setShown(width > 600 && isCut(scale.bounds, seen));
      const element = frame.current;
      if (element === null) return;
      const left = Math.max(0, scale.x + seen.x * scale.zoom);
      const top = Math.max(0, scale.y + seen.y * scale.zoom);
      element.style.transform = `translate(${left}px, ${top}px)`;
      element.style.width = `${Math.max(3, Math.min(WIDTH, scale.x + (seen.x + seen.width) * scale.zoom) - left)}px`;
      element.style.height = `${Math.max(3, Math.min(HEIGHT, scale.y + (seen.y + seen.height) * scale.zoom) - top)}px`;
    };
    place();
    return store.subscribe(place);
  }, [store, scale]);
  useEffect(() => {
    if (!shown) return;
    let waiting = 0;
    const draw = () => {
      waiting = 0;
      const context = canvas.current === null ? null : prepared(canvas.current, WIDTH, HEIGHT);
      if (context !== null) drawGraph(context, graph, layout, looks, colors, { ...scale, width: WIDTH, height: HEIGHT });
    };
    const soon = () => {
      if (waiting === 0) waiting = requestAnimationFrame(draw);
    };
    draw();
    const stop = looks.onAny(soon);
    return () => {
      cancelAnimationFrame(waiting);
      stop();
    };
  }, [shown, graph, layout, looks, colors, scale]);
  const go = (event: PointerEvent<HTMLElement>) => {
    if (event.type === 'pointermove' && event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    view.center((event.clientX - box.left - scale.x) / scale.zoom, (event.clientY - box.top - scale.y) / scale.zoom);
  };
  return (
    <div className={css.minimap} hidden={!shown} onPointerDown={go} onPointerMove={go} aria-hidden>
      <canvas ref={canvas} className={css.picture} />
      <div ref={frame} className={css.frame} />
    </div>
  );
}

function scaleOf(layout: Layout) {
  const bounds = boundsOf(layout);
  const zoom = Math.min((WIDTH - 2 * EDGE) / bounds.width, (HEIGHT - 2 * EDGE) / bounds.height);
  return { bounds, zoom, x: (WIDTH - bounds.width * zoom) / 2 - bounds.x * zoom, y: (HEIGHT - bounds.height * zoom) / 2 - bounds.y * zoom };
}

type Box = { x: number; y: number; width: number; height: number };

function isCut(all: Box, seen: Box): boolean {
  return (
    seen.x > all.x + 1 || seen.y > all.y + 1 || seen.x + seen.width < all.x + all.width - 1 || seen.y + seen.height < all.y + all.height - 1
  );
}
