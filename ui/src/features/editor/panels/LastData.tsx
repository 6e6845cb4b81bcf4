import { useMutation } from '@tanstack/react-query';
import { Pin as PinIcon } from 'lucide-react';
import { api, path } from '../../../api/client';
import type { Json } from '../../../api/json';
import { useRole } from '../../../frame/session';
import type { DefinedNode } from '../../../graph/model';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { JsonTree } from '../../../ui/JsonTree';
import { Problem } from '../../../ui/Problem';
import { useContextAt, useStepAt } from '../code/data';
import { valueAt } from '../code/expression';
import { useEditor, useTools } from '../model/context';
import { useTrials } from '../model/trials';
import type { Pin } from '../model/wire';
import css from './NodeForm.module.css';

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
  const context = useContextAt(data);
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
        node={node}
        output={step.data?.output}
        handle={step.data?.handle ?? null}
        pin={pins.find((one) => one.node === node.id)}
        onPins={onPins}
      />
    </div>
  );
}

function partsOf(context: Json, pointer: string): (string | number)[] {
  const parts: (string | number)[] = [];
  for (const raw of pointer.split('/').slice(1)) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    parts.push(Array.isArray(valueAt(context, parts) ?? null) ? Number(key) : key);
  }
  return parts;
}

/** A pinned output takes the place of running the node, in test runs only. */
function PinButton({
  node,
  output,
  handle,
  pin,
  onPins,
}: {
  node: DefinedNode;
  output: Json | undefined;
  handle: string | null;
  pin: Pin | undefined;
  onPins: () => void;
}) {
  const t = useT();
  const { stored } = useTools();
  const { reason } = useRole();
  const trials = useTrials();
  const where = path('/api/schemas', stored ?? '', 'pins', node.id);
  const change = useMutation({
    mutationFn: async () => {
      if (pin === undefined) await api.put<Pin>(where, { output: output ?? null, ...(handle === null ? {} : { handle }) });
      else await api.delete(where);
    },
    onSuccess: onPins,
  });
  if (stored === null || !trials) return null;
  return (
    <div className={css.source}>
      <Button
        size="small"
        icon={<PinIcon />}
        busy={change.isPending}
        disabledReason={reason('editor') ?? (pin === undefined && output === undefined && t('editor.no_output'))}
        onClick={() => change.mutate()}
      >
        {pin === undefined ? t('editor.pin') : t('editor.unpin')}
      </Button>
      <span>{pin === undefined ? t('editor.pin_about') : t('editor.pinned_by', { by: pin.updated_by })}</span>
      {change.error && <Problem compact error={change.error} />}
    </div>
  );
}
