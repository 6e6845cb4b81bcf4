import { useMemo } from 'react';
import type { Json } from '../../../api/json';
import type { DefinedNode } from '../../../graph/model';
import { useT } from '../../../messages';
import { JsonTree } from '../../../ui/JsonTree';
import { useContextAt, useStepAt } from '../code/data';
import { valueAt } from '../code/expression';
import { useEditor } from '../model/context';
import type { Pin } from '../model/wire';
import css from './NodeForm.module.css';
import { PinButton } from './PinButton';

/** What the node could see, and what came of it. A click on a value puts its path where the cursor was. */
export function LastData({
  node,
  onInsert,
  pins,
  onPins,
}: {
  node: DefinedNode;
  onInsert: (parts: (string | number)[]) => void;
  pins: Pin[];
  onPins: () => void;
}) {
  const t = useT();
  const data = useEditor((state) => state.data);
  const seen = useContextAt(data);
  const context = useMemo(() => usefulFirst(seen), [seen]);
  const step = useStepAt(data);
  if (data === null) return <p className={css.fields}>{t('editor.no_data')}</p>;
  const pick = (pointer: string) => onInsert(partsOf(context, pointer));
  return (
    <div className={css.fields}>
      <p className={css.none}>{t('editor.click_inserts')}</p>
      <JsonTree value={context} label={t('editor.context')} onPick={pick} maxHeight={320} />
      {step.data && (
        <>
          <h3>{t('editor.output')}</h3>
          <JsonTree
            value={step.data.error === null ? step.data.output : (step.data.error as unknown as Json)}
            label={t('editor.output')}
            maxHeight={220}
          />
        </>
      )}
      <PinButton
        node={node.id}
        output={step.data && step.data.error === null ? step.data.output : undefined}
        handle={step.data?.handle ?? null}
        pin={pins.find((one) => one.node === node.id)}
        onPins={onPins}
      />
    </div>
  );
}

const FIRST = ['input', 'steps', 'variables'];

/** What expressions are mostly about stands first. */
function usefulFirst(context: Json): Json {
  if (context === null || typeof context !== 'object' || Array.isArray(context)) return context;
  const first = FIRST.flatMap((key) => (Object.hasOwn(context, key) ? [[key, context[key]] as const] : []));
  return Object.fromEntries([...first, ...Object.entries(context).filter(([key]) => !FIRST.includes(key))]) as Json;
}

function partsOf(context: Json, pointer: string): (string | number)[] {
  const parts: (string | number)[] = [];
  for (const raw of pointer.split('/').slice(1)) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    parts.push(Array.isArray(valueAt(context, parts) ?? null) ? Number(key) : key);
  }
  return parts;
}
