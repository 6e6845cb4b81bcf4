/** What the form means and what the engine says of it, a moment after the last key. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api } from '../../api/client';
import { asApiError } from '../../api/error';
import { isObject, type Json, write } from '../../api/json';
import type { Page } from '../../api/model';
import type { DraftField } from './draft';
import type { Spec } from './model';

export interface Finding {
  pointer: string;
  message: string;
  hint: string | null;
}

export interface Preview {
  times: string[] | undefined;
  findings: Finding[];
  /** Something else than the specification is wrong. */
  error: unknown;
  /** What is shown is about what was typed before. */
  old: boolean;
}

const AFTER_MS = 250;

export function usePreview(spec: Spec | null): Preview {
  const text = spec === null ? null : write({ spec, count: 20 });
  const settled = useSettled(text);
  const preview = useQuery({
    queryKey: ['schedules', 'preview', settled],
    queryFn: ({ signal }) =>
      api.post<Page<string>>('/api/scheduled-actions/preview', undefined, {
        signal,
        text: { type: 'application/json', content: settled ?? '' },
      }),
    enabled: settled !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 10_000,
  });
  const findings = preview.error ? findingsOf(preview.error) : [];
  return {
    times: preview.error || settled === null ? undefined : preview.data?.items,
    findings,
    error: preview.error && findings.length === 0 ? preview.error : null,
    old: settled !== text || preview.isPlaceholderData,
  };
}

function useSettled(text: string | null): string | null {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function findingsOf(thrown: unknown): Finding[] {
  const { details } = asApiError(thrown);
  if (!Array.isArray(details)) return [];
  return details.filter(isObject).map((one) => ({
    pointer: said(one.pointer),
    message: said(one.message),
    hint: typeof one.hint === 'string' ? one.hint : null,
  }));
}

function said(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

const PLACES: [RegExp, DraftField][] = [
  [/\/start_at$/, 'start'],
  [/\/deadline$/, 'deadline'],
  [/\/cron\/expr$/, 'expr'],
  [/\/cron\/timezone$/, 'zone'],
  [/\/periodic\/period$/, 'period'],
  [/\/retry\/max_retries$/, 'retries'],
  [/\/retry\/min$/, 'min'],
  [/\/retry\/max$/, 'max'],
  [/\/retry\/scale$/, 'scale'],
  [/\/retry\/backoff$/, 'backoff'],
  [/\/start_execution\/schema$/, 'schema'],
  [/\/start_execution\/input/, 'input'],
  [/\/http_callback\/url$/, 'url'],
  [/\/http_callback\/method$/, 'method'],
  [/\/http_callback\/headers/, 'headers'],
  [/\/http_callback\/body/, 'body'],
  [/\/http_callback\/timeout$/, 'timeout'],
  [/\/rabbitmq_publish\/connection$/, 'connection'],
  [/\/rabbitmq_publish\/exchange$/, 'exchange'],
  [/\/rabbitmq_publish\/routing_key$/, 'routingKey'],
  [/\/rabbitmq_publish\/message/, 'message'],
];

/** The field of the form that a finding is about. */
export function fieldOf(pointer: string): DraftField | null {
  return PLACES.find(([place]) => place.test(pointer))?.[1] ?? null;
}
