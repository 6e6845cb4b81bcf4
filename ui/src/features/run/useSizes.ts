/** Sizes of the regions, dragged by people and remembered by the browser. */
import { type KeyboardEvent, type PointerEvent, useCallback, useState } from 'react';

const PLACE = 'pawl.run.sizes';
const LIMITS = { inspector: [300, 760], drawer: [96, 520] } as const;
export type Region = keyof typeof LIMITS;
type Sizes = Record<Region, number>;
const STANDARD: Sizes = { inspector: 420, drawer: 190 };

const clamp = (region: Region, size: number) => Math.min(LIMITS[region][1], Math.max(LIMITS[region][0], Math.round(size)));

function read(): Sizes {
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? '{}') as Partial<Sizes>;
    return { inspector: clamp('inspector', kept.inspector ?? STANDARD.inspector), drawer: clamp('drawer', kept.drawer ?? STANDARD.drawer) };
  } catch {
    // Storage can be forbidden or hold something else.
    return STANDARD;
  }
}

export function useSizes() {
  const [sizes, setSizes] = useState(read);
  const set = useCallback((region: Region, size: number) => {
    setSizes((before) => {
      const next = { ...before, [region]: clamp(region, size) };
      try {
        localStorage.setItem(PLACE, JSON.stringify(next));
      } catch {
        // Not kept for the next visit; it holds for this one.
      }
      return next;
    });
  }, []);
  return { sizes, set };
}

/** The handlers of a bar between two regions; the region after it grows when the bar goes up or left. */
export function barHandlers(region: Region, size: number, set: (region: Region, size: number) => void) {
  const along = region === 'inspector' ? 'clientX' : 'clientY';
  return {
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      event.preventDefault();
      const begin = event[along];
      const bar = event.currentTarget;
      bar.setPointerCapture(event.pointerId);
      bar.onpointermove = (move) => set(region, size + begin - move[along]);
      bar.onpointerup = () => {
        bar.onpointermove = null;
        bar.onpointerup = null;
      };
    },
    onKeyDown: (event: KeyboardEvent) => {
      const step = { ArrowLeft: 16, ArrowUp: 16, ArrowRight: -16, ArrowDown: -16 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      set(region, size + step);
    },
    'aria-valuemin': LIMITS[region][0],
    'aria-valuemax': LIMITS[region][1],
  };
}
