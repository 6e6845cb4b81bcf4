import { Trash2 } from 'lucide-react';
import { removeFilter, useSavedFilters } from '../../frame/filters';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { IconButton } from '../../ui/Button';
import { Panel } from '../../ui/Page';
import css from './Settings.module.css';

/** Those that were saved in the list of runs. */
export function Filters() {
  const t = useT();
  const list = useSavedFilters((state) => state.list);
  return (
    <Panel title={t('settings.filters')}>
      {list.length === 0 && <p className={css.note}>{t('settings.filters_none')}</p>}
      <ul className={css.filters}>
        {list.map(({ name, search }) => (
          <li key={name}>
            <Link href={`/runs${search}`}>{name}</Link>
            <IconButton size="small" name={t('settings.filter_remove', { name })} icon={<Trash2 />} onClick={() => removeFilter(name)} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
