/** A part of the line, drawn over with the pointer. A press without a way is a click as ever. */
import { type MouseEvent, type PointerEvent, useRef, useState } from 'react';

const LEAST_PX = 5;

interface Area {
  /** Where the line begins in the element, and how long it is. */
  left: number;
  width: number;
  onBrush: (from: number, to: number) => void;
}

export function useBrush({ left, width, onBrush }: Area) {
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
  const start = useRef<number | null>(null);
  const drawn = useRef(false);
  const placeOf = (event: MouseEvent) => event.clientX - event.currentTarget.getBoundingClientRect().left - left;
  const bounded = (x: number) => Math.min(width, Math.max(0, x));
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      drawn.current = false;
      const x = placeOf(event);
      start.current = event.button === 0 && event.pointerType !== 'touch' && x >= 0 && x <= width ? x : null;
    },
    onPointerMove: (event: PointerEvent) => {
      const from = start.current;
      if (from === null || event.buttons !== 1) return;
      const to = placeOf(event);
      if (!drawn.current && Math.abs(to - from) < LEAST_PX) return;
      if (!drawn.current) event.currentTarget.setPointerCapture(event.pointerId);
      drawn.current = true;
      setBrush({ from: bounded(Math.min(from, to)), to: bounded(Math.max(from, to)) });
    },
    onPointerUp: () => {
      if (drawn.current && brush !== null) onBrush(brush.from / width, brush.to / width);
      start.current = null;
      setBrush(null);
    },
    onPointerCancel: () => {
      start.current = null;
      setBrush(null);
    },
    /** The click at the end of a way is none. */
    onClickCapture: (event: MouseEvent) => {
      if (drawn.current && event.detail > 0) event.stopPropagation();
      drawn.current = false;
    },
  };
  return { brush, handlers };
}
