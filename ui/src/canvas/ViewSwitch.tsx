import { ListTree, Workflow } from 'lucide-react';
import { useT } from '../messages';
import { IconButton } from '../ui/Button';
import css from './ViewSwitch.module.css';

export type GraphView = 'canvas' | 'outline';

/** The graph as a picture, or as a list of the same nodes; in the corner of either. */
export function ViewSwitch({ view, onView }: { view: GraphView; onView: (view: GraphView) => void }) {
  const t = useT();
  return (
    <div className={css.views}>
      <IconButton
        name={t('canvas.view_canvas')}
        hint="o"
        aria-pressed={view === 'canvas'}
        icon={<Workflow />}
        onClick={() => onView('canvas')}
      />
      <IconButton
        name={t('canvas.view_outline')}
        hint="o"
        aria-pressed={view === 'outline'}
        icon={<ListTree />}
        onClick={() => onView('outline')}
      />
    </div>
  );
}
