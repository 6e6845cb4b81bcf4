import { type Json, write } from '../../api/json';
import { useT } from '../../messages';
import { formatBytes } from '../../ui/format';
import css from './Operations.module.css';

/** What the store says of itself: names come as data. */
export function StoreFacts({ about }: { about: { [key: string]: Json } }) {
  const t = useT();
  return (
    <dl className={css.facts}>
      {Object.entries(about).map(([name, value]) => (
        <div key={name} className={css.fact}>
          <dt>{t.maybe(`operations.about_${name}`) ?? name.replaceAll('_', ' ')}</dt>
          <dd>{shown(name, value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function shown(name: string, value: Json): string {
  const text = typeof value === 'string' ? value : write(value);
  return name.endsWith('_bytes') && /^\d+$/.test(text) ? formatBytes(Number(text)) : text;
}
