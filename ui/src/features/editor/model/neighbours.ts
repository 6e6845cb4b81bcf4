/** Other tabs that edit the same schema. Each says that it is there every 5 s; one that is silent for 12 s is gone. */
import { useEffect, useState } from 'react';

const BEAT = 5_000;
const SILENT = 12_000;

interface Hello {
  kind: 'here' | 'gone' | 'saved';
  schema: string;
  tab: string;
  version?: number;
}

export interface Neighbours {
  others: number;
  /** A version that another tab has stored since this one was opened. */
  savedElsewhere: number | null;
  tellSaved: (version: number) => void;
}

export function useNeighbours(schema: string | null): Neighbours {
  const [others, setOthers] = useState(0);
  const [savedElsewhere, setSaved] = useState<number | null>(null);
  const [channel, setChannel] = useState<BroadcastChannel | null>(null);
  const [tab] = useState(() => Math.random().toString(36).slice(2));
  useEffect(() => {
    if (schema === null) return;
    const opened = new BroadcastChannel('pawl-editor');
    const seen = new Map<string, number>();
    const count = () => {
      for (const [other, at] of seen) if (Date.now() - at > SILENT) seen.delete(other);
      setOthers(seen.size);
    };
    opened.onmessage = ({ data }: MessageEvent<Hello>) => {
      if (data.schema !== schema || data.tab === tab) return;
      if (data.kind === 'saved') setSaved(data.version ?? null);
      if (data.kind === 'gone') seen.delete(data.tab);
      else {
        if (!seen.has(data.tab)) opened.postMessage({ kind: 'here', schema, tab } satisfies Hello);
        seen.set(data.tab, Date.now());
      }
      count();
    };
    const here = () => {
      opened.postMessage({ kind: 'here', schema, tab } satisfies Hello);
      count();
    };
    here();
    const timer = setInterval(here, BEAT);
    setChannel(opened);
    return () => {
      clearInterval(timer);
      opened.postMessage({ kind: 'gone', schema, tab } satisfies Hello);
      opened.close();
      setChannel(null);
    };
  }, [schema, tab]);
  return {
    others,
    savedElsewhere,
    tellSaved: (version) => {
      setSaved(null);
      if (schema !== null) channel?.postMessage({ kind: 'saved', schema, tab, version } satisfies Hello);
    },
  };
}
