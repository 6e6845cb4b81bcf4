/** One table of all screens: path, search codec, role, lazy page. A new screen is a folder and a line here. */
import type { ComponentType } from 'react';
import type { Role } from './api/model';
import { compareSearch } from './features/compare/search';
import { editorSearch } from './features/editor/search';
import { lettersSearch } from './features/letters/search';
import { loginSearch } from './features/login/search';
import { overviewSearch } from './features/overview/search';
import { runSearch } from './features/run/search';
import { runsSearch } from './features/runs/search';
import { scheduleSearch, schedulesSearch } from './features/schedules/search';
import { schemaSearch, schemasSearch } from './features/schemas/search';
import { diffSearch } from './features/versions/search';
import { type Codec, noSearch } from './frame/search';

export interface Route {
  /** `$name` is a part read with `useParam('name')`. */
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the table holds codecs of every screen
  search: Codec<any>;
  /** What it takes to look at the screen; null: no role. */
  role: Role | null;
  page: () => Promise<{ default: ComponentType }>;
  /** Without the frame around it. */
  bare?: boolean;
}

export const ROUTES: readonly Route[] = [
  { path: '/login', search: loginSearch, role: null, bare: true, page: () => import('./features/login/LoginPage') },
  { path: '/', search: overviewSearch, role: 'viewer', page: () => import('./features/overview/OverviewPage') },
  { path: '/runs', search: runsSearch, role: 'viewer', page: () => import('./features/runs/RunsPage') },
  { path: '/runs/$id', search: runSearch, role: 'viewer', page: () => import('./features/run/RunPage') },
  { path: '/runs/$id/compare', search: compareSearch, role: 'viewer', page: () => import('./features/compare/ComparePage') },
  { path: '/schemas', search: schemasSearch, role: 'viewer', page: () => import('./features/schemas/SchemasPage') },
  { path: '/schemas/$name', search: schemaSearch, role: 'viewer', page: () => import('./features/schemas/SchemaPage') },
  { path: '/schemas/$name/edit', search: editorSearch, role: 'viewer', page: () => import('./features/editor/EditorPage') },
  { path: '/new/schema', search: editorSearch, role: 'viewer', page: () => import('./features/editor/EditorPage') },
  { path: '/schemas/$name/diff', search: diffSearch, role: 'viewer', page: () => import('./features/versions/DiffPage') },
  { path: '/schedules', search: schedulesSearch, role: 'viewer', page: () => import('./features/schedules/SchedulesPage') },
  { path: '/schedules/$id', search: scheduleSearch, role: 'viewer', page: () => import('./features/schedules/SchedulePage') },
  { path: '/new/schedule', search: noSearch, role: 'editor', page: () => import('./features/schedules/ScheduleFormPage') },
  { path: '/dead-letters', search: lettersSearch, role: 'viewer', page: () => import('./features/letters/LettersPage') },
  { path: '/dead-letters/$id', search: noSearch, role: 'viewer', page: () => import('./features/letters/LetterPage') },
  { path: '/workers', search: noSearch, role: 'viewer', page: () => import('./features/operations/WorkersPage') },
  { path: '/quotas', search: noSearch, role: 'viewer', page: () => import('./features/operations/QuotasPage') },
  { path: '/quotas/$kind/$name', search: noSearch, role: 'viewer', page: () => import('./features/operations/QuotaPage') },
  { path: '/doctor', search: noSearch, role: 'viewer', page: () => import('./features/operations/DoctorPage') },
  { path: '/keys', search: noSearch, role: 'admin', page: () => import('./features/keys/KeysPage') },
  { path: '/settings', search: noSearch, role: null, page: () => import('./features/settings/SettingsPage') },
];
