import { useEffect, useRef, useState } from 'react';
import { api, path } from '../../api/client';
import { type ApiError, asApiError } from '../../api/error';
import { queryClient } from '../../api/queries';
import { parseTime, serverNow } from '../../api/time';
import { useT } from '../../messages';
import { toast } from '../../ui/toasts';
import { type Draft, type DraftField, EMPTY, type Faults, fromSpec, toSpec } from './draft';
import type { Schedule, Spec } from './model';
import { readSpec, specText } from './text';
import { fieldOf, findingsOf, usePreview } from './usePreview';

export const SAVE_MODES = ['meta_and_spec_only', 'all'] as const;
export type SaveMode = (typeof SAVE_MODES)[number];

const ID = /^(?!preview$)[A-Za-z0-9._@-]{1,200}$/;

/** The state of the form: two ways to write one specification, what the engine says of it, and the saving. */
export function useScheduleForm(schedule: Schedule | undefined, onDone: (id: string | null) => void) {
  const t = useT();
  const first = schedule ? fromSpec(schedule.spec) : EMPTY;
  const unshown = useRef(first ? null : (schedule?.spec ?? null));
  const [id, setId] = useState(schedule?.id ?? '');
  const [mode, setShown] = useState<'form' | 'text'>(first ? 'form' : 'text');
  const [draft, setDraft] = useState<Draft>(first ?? EMPTY);
  const [text, setText] = useState('');
  const [keep, setKeep] = useState<SaveMode>('meta_and_spec_only');
  const written = useWritten(mode, draft, text, schedule?.spec);
  const saving = useSaving({ schedule, id, keep, spec: written.spec, onDone });
  const preview = usePreview(written.spec && previewed(written.spec, schedule));
  useEffect(() => {
    // Once: later readings of the schedule must not write over what is typed.
    if (unshown.current) void specText(unshown.current).then(setText);
  }, []);
  const setMode = async (next: 'form' | 'text') => {
    if (next === 'text') {
      const { spec } = await toSpec(draft, schedule?.spec);
      setText(await specText(spec));
      return setShown('text');
    }
    const shown = written.spec && fromSpec(written.spec);
    if (shown) {
      setDraft(shown);
      return setShown('form');
    }
    toast({ tone: 'warn', text: t('schedules.not_form', { message: written.textError ?? '' }) });
  };
  const findings = preview.findings.length > 0 ? preview.findings : saving.error ? findingsOf(saving.error) : [];
  const errors: { [F in DraftField]?: string } = {};
  for (const [field, fault] of Object.entries(written.faults))
    errors[field as DraftField] =
      fault.kind === 'bad_json' ? t('schedules.bad_json', { message: fault.message }) : t(`schedules.${fault.kind}`);
  const named = (pointer: string) => (mode === 'form' ? fieldOf(pointer) : null);
  for (const { pointer, message, hint } of findings) {
    const field = named(pointer);
    if (field && isTouched(draft, field)) errors[field] ??= hint ? `${message}. ${hint}` : message;
  }
  const wrong = id !== '' && !ID.test(id) && !schedule;
  const broken = Object.keys(written.faults).length > 0 || written.textError !== null || preview.findings.length > 0;
  const lacks = missing(written.spec);
  const problems = broken ? t('schedules.problems', { n: Math.max(1, findings.length) }) : undefined;
  const why = !schedule && !ID.test(id) ? t('schedules.form_id_wrong') : (problems ?? (lacks ? t(`schedules.${lacks}`) : undefined));
  return {
    id,
    setId,
    idWrong: wrong,
    mode,
    setMode,
    draft,
    set: (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })),
    errors,
    text,
    setText,
    textError: written.textError,
    spec: written.spec,
    keep,
    setKeep,
    preview,
    general: findings.filter(({ pointer }) => named(pointer) === null || !isTouched(draft, named(pointer))),
    why,
    busy: saving.busy,
    saveError: saving.error,
    exists: saving.exists,
    save: saving.save,
    body: saving.body,
  };
}

/** An empty field that is needed is named in the list beside the form, not in red before anything was typed. */
function isTouched(draft: Draft, field: DraftField | null): boolean {
  return field !== null && draft[field] !== '';
}

interface Written {
  spec: Spec | null;
  faults: Faults;
  textError: string | null;
}

function useWritten(mode: 'form' | 'text', draft: Draft, text: string, was: Spec | undefined): Written {
  const [written, setWritten] = useState<Written>({ spec: null, faults: {}, textError: null });
  useEffect(() => {
    let current = true;
    const read = async (): Promise<Written> => {
      if (mode === 'form') return { ...(await toSpec(draft, was)), textError: null };
      try {
        return { spec: await readSpec(text), faults: {}, textError: null };
      } catch (thrown) {
        return { spec: null, faults: {}, textError: thrown instanceof Error ? thrown.message : String(thrown) };
      }
    };
    void read().then((found) => current && setWritten(found));
    return () => {
      current = false;
    };
  }, [mode, draft, text, was]);
  return written;
}

/** A form that is not complete yet: that is said at the button, not in red. */
function missing(spec: Spec | null): 'missing_schema' | 'missing_url' | null {
  if (spec?.action?.start_execution?.schema === '') return 'missing_schema';
  return spec?.action?.http_callback?.url === '' ? 'missing_url' : null;
}

/** The times do not depend on the action: they are told before there is one. */
function previewed(given: Spec, schedule: Schedule | undefined): Spec {
  const spec = missing(given) === null ? given : { ...given, action: { start_execution: { schema: '-' } } };
  return withStart(spec, schedule);
}

/** A beginning that is long past is refused; what it stands for is the next planned time. */
function withStart(spec: Spec, schedule: Schedule | undefined): Spec {
  if (!schedule || !spec.start_at || spec.start_at !== schedule.spec.start_at) return spec;
  const { start_at, ...rest } = spec;
  if (parseTime(start_at).ms > serverNow()) return spec;
  return schedule.status.planned_at ? { ...rest, start_at: schedule.status.planned_at } : rest;
}

function useSaving({
  schedule,
  id,
  keep,
  spec,
  onDone,
}: {
  schedule: Schedule | undefined;
  id: string;
  keep: SaveMode;
  spec: Spec | null;
  onDone: (id: string) => void;
}) {
  const t = useT();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const exists = !schedule && error?.status === 409;
  const override = schedule || exists ? keep : 'none';
  const body = spec && { spec: sent(spec, schedule), override, meta: notesOf(schedule) };
  const save = async () => {
    if (body === null) return;
    setBusy(true);
    setError(null);
    try {
      await api.put(path('/api/scheduled-actions', id), body);
      toast({ tone: 'good', text: t('schedules.saved', { id }) });
      await queryClient.invalidateQueries({ queryKey: ['schedules'] });
      onDone(id);
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return { busy, error, exists, save, body };
}

/** An untouched beginning that is past is left out: it stays, or is now. */
function sent(spec: Spec, schedule: Schedule | undefined): Spec {
  if (!schedule || !spec.start_at || spec.start_at !== schedule.spec.start_at) return spec;
  if (parseTime(spec.start_at).ms > serverNow()) return spec;
  const { start_at: _, ...rest } = spec;
  return rest;
}

/** The writer's own notes stay; what Pawl adds is not sent back. */
function notesOf(schedule: Schedule | undefined) {
  if (!schedule) return undefined;
  const { created_at: _c, updated_at: _u, written_by: _w, ...notes } = schedule.meta;
  return notes;
}
