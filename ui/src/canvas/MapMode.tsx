import { useStoreApi } from '@xyflow/react';
import { useEffect, useRef } from 'react';
import type { Layout } from '../graph/layout';
import type { Graph } from '../graph/model';
import css from './Canvas.module.css';
import { drawGraph } from './draw';
import type { Looks } from './looks';
import { prepared, usePalette } from './palette';

/** The whole graph as one picture, drawn at most once a frame. The pane below it takes the pointer. */
export function MapMode({ graph, layout, looks }: { graph: Graph; layout: Layout; looks: Looks }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const colors = usePalette();
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      const element = canvas.current;
      if (element === null) return;
      const { width, height, transform } = store.getState();
      const [x, y, zoom] = transform;
      const context = prepared(element, width, height);
      if (context !== null) drawGraph(context, graph, layout, looks, colors, { x, y, zoom, width, height });
    };
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const stops = [store.subscribe(soon), looks.onAny(soon)];
    draw();
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  }, [store, graph, layout, looks, colors]);
  return <canvas ref={canvas} className={css.map} aria-hidden />;
}
