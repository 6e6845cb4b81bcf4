import { useEffect, useRef, useState } from 'react';
import { api, call } from '../../../api/client';
import { asApiError } from '../../../api/error';
import { useEditor, useTools } from './context';
import { drafts } from './drafts';
import { isDirty } from './store';
import type { Diagnostic, Validation } from './wire';

/** The engine's check of the whole text, 400 ms after a change; an older answer never replaces a newer one. */
export function useValidation(): void {
  const { store } = useTools();
  const text = useEditor((state) => state.text);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const type = text.trimStart().startsWith('{') ? ('application/json' as const) : ('application/yaml' as const);
      call<Validation>('POST', '/api/schemas/validate', { text: { type, content: text }, signal: abort.signal })
        .then(({ data }) => store.getState().set({ diagnostics: data.diagnostics }))
        .catch((thrown: unknown) => {
          if (abort.signal.aborted) return;
          const { code, message } = asApiError(thrown);
          store.getState().set({ diagnostics: [{ severity: 'warning', code, message, pointer: '' } satisfies Diagnostic] });
        });
    }, 400);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, store]);
}

/** What is not saved is kept in the browser every second; what is saved needs no draft. */
export function useDraftKeeping(key: string): number | null {
  const { store } = useTools();
  const [kept, setKept] = useState<number | null>(null);
  const last = useRef<{ text: string; layout: unknown } | null>(null);
  const was = useRef(false);
  useEffect(() => {
    const keep = () => {
      const state = store.getState();
      if (state.readOnly) return;
      if (!isDirty(state)) {
        if (was.current) void drafts.remove(key).catch(() => undefined);
        was.current = false;
        last.current = null;
        return;
      }
      if (last.current?.text === state.text && last.current.layout === state.layout) return;
      last.current = { text: state.text, layout: state.layout };
      was.current = true;
      const at = Date.now();
      drafts
        .write({ key, text: state.text, layout: state.layout, version: state.saved.version, at })
        .then(() => setKept(at))
        .catch(() => setKept(null));
    };
    const timer = setInterval(keep, 1000);
    addEventListener('pagehide', keep);
    return () => {
      keep();
      clearInterval(timer);
      removeEventListener('pagehide', keep);
    };
  }, [store, key]);
  return kept;
}

/** The browser asks before a tab with unsaved work is closed. */
export function useLeaveQuestion(): void {
  const dirty = useEditor((state) => isDirty(state) && !state.readOnly);
  useEffect(() => {
    if (!dirty) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [dirty]);
}

export const readPins = (schema: string, signal?: AbortSignal) =>
  api.get<{ items: import('./wire').Pin[] }>(`/api/schemas/${encodeURIComponent(schema)}/pins`, undefined, signal);
