/** What a node looks like: an icon by type, one line about its config. A type without an entry works. */
import {
  BellRing,
  Box,
  Braces,
  Calculator,
  CirclePlay,
  Database,
  Flag,
  GitFork,
  Globe,
  type LucideIcon,
  Moon,
  OctagonX,
  PencilLine,
  Reply,
  ScrollText,
  Send,
  Shuffle,
  Split,
  Variable,
} from 'lucide-react';

const ICONS: Record<string, LucideIcon> = {
  start: CirclePlay,
  end: Flag,
  fail: OctagonX,
  log: ScrollText,
  respond: Reply,
  condition: Split,
  switch: GitFork,
  code: Braces,
  math: Calculator,
  transform: Shuffle,
  variable_set: Variable,
  sleep: Moon,
  wait_event: BellRing,
  http_request: Globe,
  rabbitmq_publish: Send,
  sql: Database,
  $edit: PencilLine,
};

export function iconOf(type: string): LucideIcon {
  return Object.hasOwn(ICONS, type) ? (ICONS[type] as LucideIcon) : Box;
}

/** Types that act on the outside: done again after a fork, they happen again. */
const EFFECTS = new Set(['http_request', 'rabbitmq_publish', 'sql']);

export const hasEffects = (type: string) => EFFECTS.has(type);

export { summaryOf } from './summaries';
