/** Shapes of the calls that only the editor makes. */
import type { Json } from '../../../api/json';

export interface Diagnostic {
  severity: 'error' | 'warning' | 'note';
  code: string;
  message: string;
  /** What the message names, for other languages. */
  params?: { [name: string]: Json };
  hint?: string | null;
  line?: number | null;
  column?: number | null;
  length?: number | null;
  node_id?: string | null;
  pointer: string;
}

export interface Validation {
  valid: boolean;
  name: string | null;
  diagnostics: Diagnostic[];
}

export interface Point {
  x: number;
  y: number;
}

export interface CanvasNote {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  text: string;
  color?: string;
}

export interface CanvasGroup {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  color?: string;
}

export interface CanvasLayout {
  positions: Record<string, Point>;
  notes: CanvasNote[];
  groups: CanvasGroup[];
}

export const NO_LAYOUT: CanvasLayout = { positions: {}, notes: [], groups: [] };

export interface ExpressionFunction {
  name: string;
  signature: string;
  category: string;
  doc: string;
  example: string;
  result: string;
}

export interface Evaluation {
  ok: boolean;
  value?: Json;
  type?: string;
  cut?: boolean;
  bytes?: number;
  error?: { code: string; message: string; hint: string | null; start: number; end: number };
}

export interface Pin {
  node: string;
  output?: Json;
  handle: string | null;
  bytes: number;
  updated_by: string;
  updated_at: string;
}

/** Which step feeds completion and results: what a node after step `seq` sees. */
export interface DataAt {
  execution: string;
  seq: number;
  version: number;
  /** A test run. */
  trial: boolean;
  /** Whether the node that is edited was visited there. */
  visited: boolean;
  /** The step of the node itself. */
  step: number | null;
}
