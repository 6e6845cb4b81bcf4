/** What the API says, as far as every screen needs it. Types of one feature's own calls stand beside that feature. */
import type { Json } from './json';

export const STATUSES = [
  'pending',
  'queued',
  'running',
  'sleeping',
  'waiting',
  'paused',
  'waiting_debug',
  'completed',
  'failed',
  'stopped',
  'failed_stuck',
] as const;
export type Status = (typeof STATUSES)[number];
export const OPEN: readonly Status[] = ['pending', 'queued', 'running', 'sleeping', 'waiting', 'paused', 'waiting_debug'];
export type StepStatus = 'success' | 'failed' | 'skipped';
export const ROLES = ['viewer', 'operator', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Failure {
  code: string;
  message: string;
  retryable?: boolean;
  details?: Json;
}

export interface Try {
  attempt: number;
  started_at: string;
  finished_at: string;
  error: Failure | null;
}

export interface Wait {
  kind: string;
  name: string | null;
  wake_at: string | null;
}

export interface Note {
  text: string;
  written_by?: string;
  written_at?: string;
  [key: string]: Json | undefined;
}

export interface Execution {
  id: string;
  schema_id: string;
  schema: string;
  version: number;
  status: Status;
  current_node_id: string;
  current_step_id: string | null;
  seq: number;
  output: Json;
  error: Failure | null;
  created_by: string;
  created_at: string;
  queued_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  debug_mode: boolean;
  priority: string;
  tenant: string | null;
  labels: { [key: string]: Json };
  quotas: string[];
  correlation_id: string;
  idempotency_key: string | null;
  retry_of: string | null;
  retried_as: string | null;
  forked_from: string | null;
  base_seq: number;
  wait: Wait | null;
  hold: string | null;
  stop_requested: boolean;
  attempt: number;
  last_error: Failure | null;
  recoveries: number;
  deadline_at: string;
  event_version: number;
  notes?: Note[];
  warnings?: string[];
  /** A16. */
  entered_at?: string;
  tries?: Try[];
  lease?: { owner: string; until: string } | null;
  initial?: { input: Json; webhook: Json; variables: { [key: string]: Json } };
  /** A19. */
  trial?: boolean;
}

export interface Step {
  seq: number;
  node_id: string;
  node_type: string;
  status: StepStatus;
  input: Json;
  output: Json;
  changes: { [key: string]: Json } | null;
  error: Failure | null;
  attempts: Try[] | null;
  prev_node_id: string | null;
  next_node_id: string | null;
  started_at: string;
  finished_at: string;
  duration_ms: number;
  inherited?: boolean;
  handle?: string | null;
}

export interface Change {
  op: 'added' | 'removed' | 'changed';
  path: string;
  before?: Json;
  after?: Json;
}

export interface Explanation {
  reason: string;
  sentence: string;
  /** What the sentence names, as data. */
  params?: { [key: string]: Json };
  facts: { [key: string]: Json };
}

export interface DefinedNode {
  id: string;
  type: string;
  name?: string;
  config?: { [key: string]: Json };
  timeout?: Json;
  retry?: { [key: string]: Json };
  on_error?: string;
  on_interrupt?: string;
  disabled?: boolean;
  [key: string]: Json | undefined;
}

export interface DefinedEdge {
  source: string;
  target: string;
  sourceHandle?: string;
}

export interface Definition {
  name: string;
  description?: string;
  external_id?: number;
  settings?: { [key: string]: Json };
  triggers?: { [key: string]: Json }[];
  /** A JSON Schema of what executions start with. */
  input?: Json;
  nodes: DefinedNode[];
  edges?: DefinedEdge[];
}

export interface Schema {
  id: string;
  name: string;
  description: string | null;
  external_id: number | null;
  active: boolean;
  version: number;
  latest_version: number;
  published_version?: number;
  created_at: string;
  updated_at: string;
  language?: number;
  hash?: string;
  created_by?: string;
  definition?: Definition;
  /** A12. */
  source?: string | null;
  source_format?: 'yaml' | 'json' | null;
  note?: string | null;
}

export interface NodeType {
  type: string;
  title: string;
  category: string;
  summary: string;
  doc: string;
  pure: boolean;
  handles: string[];
  config_schema: { [key: string]: Json };
  output: string;
  example: string;
  /** A13. */
  exits_from?: string;
  output_schema?: { [key: string]: Json };
}

/** A1. */
export interface Me {
  created_by: string;
  user: { id: string; name: string; email?: string };
  role: Role;
  login: 'none' | 'key' | 'session';
  mode: 'dev' | 'server';
  version: string;
  ui_build: string;
  server_time: string;
  limits: { request_body: number; schema: number; page: number; wait_seconds: number; bulk: number; watched_runs: number };
}

export interface ScheduledAction {
  id: string;
  guid: string;
  generation: number;
  meta: { [key: string]: Json };
  spec: { policy: { [key: string]: Json }; action: { [key: string]: Json }; start_at?: string; deadline?: string };
  status: { [key: string]: Json };
  scheduled_at: string | null;
  finished_at: string | null;
}

export interface DeadLetter {
  id: number;
  execution_id: string | null;
  reason: string;
  message_bytes: number | null;
  created_at: string;
  requeued_at: string | null;
  requeued_as: string | null;
}

export interface Worker {
  id: string;
  roles: string[];
  node_types: string[];
  slots: number;
  busy: number;
  doing: string[];
  version: string;
  started_at: string;
  heartbeat_at: string;
}

export interface Finding {
  execution_id: string;
  schema: string;
  quota?: string;
  problem: string;
  detail: string;
  fixed: boolean;
}

export interface DoctorReport {
  healthy: boolean;
  open_executions: number;
  findings: Finding[];
  about: { [key: string]: Json };
}
