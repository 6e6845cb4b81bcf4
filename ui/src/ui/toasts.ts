import { create } from 'zustand';
import type { Tone } from './Chip';

export interface Toast {
  id: number;
  text: string;
  tone: Tone;
  action?: { name: string; act: () => void };
}

export const useToasts = create<{ list: Toast[] }>(() => ({ list: [] }));

let count = 0;

/** A sentence at the corner: 5 s, errors 12 s. */
export function toast({ text, tone = 'idle', action }: { text: string; tone?: Tone; action?: Toast['action'] }): void {
  count += 1;
  const id = count;
  useToasts.setState(({ list }) => ({ list: [...list.filter((one) => one.text !== text), { id, text, tone, action }].slice(-4) }));
  setTimeout(() => dismiss(id), tone === 'bad' || action ? 12_000 : 5_000);
}

export function dismiss(id: number): void {
  useToasts.setState(({ list }) => ({ list: list.filter((one) => one.id !== id) }));
}
