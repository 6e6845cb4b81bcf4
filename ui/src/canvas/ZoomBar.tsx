import { Maximize, Minus, Plus } from 'lucide-react';
import { useT } from '../messages';
import { IconButton } from '../ui/Button';
import css from './Canvas.module.css';
import type { View } from './useView';

export function ZoomBar({ view }: { view: View }) {
  const t = useT();
  return (
    <div className={css.zoom}>
      <IconButton name={t('canvas.zoom_in')} hint="+" icon={<Plus />} onClick={() => view.zoom(1.25)} />
      <IconButton name={t('canvas.zoom_out')} hint="−" icon={<Minus />} onClick={() => view.zoom(0.8)} />
      <IconButton name={t('canvas.fit')} hint="0" icon={<Maximize />} onClick={view.fit} />
    </div>
  );
}
