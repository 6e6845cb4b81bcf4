import { useMutation } from '@tanstack/react-query';
import { Pin as PinIcon, PinOff } from 'lucide-react';
import { api, path } from '../../../api/client';
import type { Json } from '../../../api/json';
import { useRole } from '../../../frame/session';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { Problem } from '../../../ui/Problem';
import { useTools } from '../model/context';
import { useTrials } from '../model/trials';
import type { Pin } from '../model/wire';
import css from './NodeForm.module.css';

export interface PinButtonProps {
  node: string;
  /** Undefined: there is none, or the node failed. */
  output: Json | undefined;
  handle: string | null;
  pin: Pin | undefined;
  onPins: () => void;
}

/** A pinned output takes the place of running the node, in test runs only. */
export function PinButton({ node, output, handle, pin, onPins }: PinButtonProps) {
  const t = useT();
  const { stored } = useTools();
  const { reason } = useRole();
  const trials = useTrials();
  const where = path('/api/schemas', stored ?? '', 'pins', node);
  const change = useMutation({
    mutationFn: async (what: 'put' | 'remove') => {
      if (what === 'put') await api.put<Pin>(where, { output: output ?? null, ...(handle === null ? {} : { handle }) });
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
        busy={change.isPending && change.variables === 'put'}
        disabledReason={reason('editor') ?? (output === undefined && t('editor.no_output'))}
        onClick={() => change.mutate('put')}
      >
        {t(pin === undefined ? 'editor.pin' : 'editor.pin_instead')}
      </Button>
      {pin !== undefined && (
        <Button
          size="small"
          icon={<PinOff />}
          busy={change.isPending && change.variables === 'remove'}
          disabledReason={reason('editor')}
          onClick={() => change.mutate('remove')}
        >
          {t('editor.unpin')}
        </Button>
      )}
      <span>{pin === undefined ? t('editor.pin_about') : t('editor.pinned_by', { by: pin.updated_by })}</span>
      {change.error && <Problem compact error={change.error} />}
    </div>
  );
}
