/** The colours of the tokens for 2D canvases, which cannot read `var()`. Read again when theme or contrast change. */
import { useSyncExternalStore } from 'react';

const NAMES = [
  'ground',
  'sheet',
  'raised',
  'ink',
  'soft',
  'faint',
  'line',
  'edge',
  'accent',
  'on-accent',
  'good',
  'bad',
  'warn',
  'info',
  'debug',
  'idle',
] as const;
export type ColorName = (typeof NAMES)[number];
export type Palette = Record<ColorName, string>;

let known: Palette | null = null;
const listeners = new Set<() => void>();
let watching = false;

function readPalette(): Palette {
  const probe = document.createElement('span');
  document.body.append(probe);
  const colors = {} as Palette;
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    colors[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colors;
}

function changed() {
  known = null;
  for (const listener of listeners) listener();
}

function watch() {
  if (watching) return;
  watching = true;
  new MutationObserver(changed).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}

function subscribe(listener: () => void) {
  watch();
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function current(): Palette {
  known ??= readPalette();
  return known;
}

export function usePalette(): Palette {
  return useSyncExternalStore(subscribe, current);
}

/** Sizes a canvas for the screen's pixels and clears it; null without a 2D context. */
export function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext('2d');
  if (context === null) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
