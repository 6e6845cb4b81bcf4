import { Pause, Play, RotateCcw, Square, X } from 'lucide-react';
import type { Ref } from 'react';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { formatNumber } from '../../ui/format';
import type { BulkAction } from './calls';
import css from './Runs.module.css';

const ACTIONS: { action: BulkAction; icon: React.ReactNode; kind?: 'danger' }[] = [
  { action: 'retry', icon: <RotateCcw /> },
  { action: 'pause', icon: <Pause /> },
  { action: 'resume', icon: <Play /> },
  { action: 'stop', icon: <Square />, kind: 'danger' },
];

/** What can be done with the ticked runs; `size` null means all that the filter finds. */
export function BulkBar({
  ref,
  size,
  total,
  loaded,
  onAll,
  onLoaded,
  onAct,
  onClear,
}: {
  ref?: Ref<HTMLElement>;
  size: number | null;
  total: { count: number; capped: boolean } | undefined;
  loaded: number;
  onAll: () => void;
  onLoaded: () => void;
  onAct: (action: BulkAction) => void;
  onClear: () => void;
}) {
  const t = useT();
  const { reason } = useRole();
  const all = total ? `${formatNumber(total.count)}${total.capped ? '+' : ''}` : '';
  return (
    <section ref={ref} className={css.bulk} aria-label={t('runs.bulk')}>
      <strong>{size === null ? t('runs.bulk_all', { all }) : t('runs.bulk_selected', { n: size })}</strong>
      {ACTIONS.map(({ action, icon, kind }) => (
        <Button key={action} size="small" icon={icon} kind={kind} disabledReason={reason('operator')} onClick={() => onAct(action)}>
          {t(`runs.do_${action}`)}
        </Button>
      ))}
      {size !== null && size < loaded && (
        <Button size="small" kind="quiet" onClick={onLoaded}>
          {t('runs.bulk_loaded', { n: loaded })}
        </Button>
      )}
      {size !== null && total && (total.capped || total.count > loaded) && (
        <Button size="small" kind="quiet" onClick={onAll}>
          {t('runs.bulk_take_all', { all })}
        </Button>
      )}
      <IconButton className={css.bulkEnd} size="small" name={t('runs.bulk_clear')} icon={<X />} onClick={onClear} />
    </section>
  );
}
