import { isObject, type Json, write } from '../../api/json';
import type { Explanation } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { formatNumber } from '../../ui/format';
import { Time } from '../../ui/Time';
import { factHref, holdersOf, quotaHref, quotasOf } from './facts';
import css from './Head.module.css';

/** What the engine knows about where a run stands; what has a page of its own is a link to it. */
export function Facts({ facts }: { facts: Explanation['facts'] }) {
  const t = useT();
  return (
    <dl className={css.facts}>
      {Object.entries(facts).map(
        ([name, value]) =>
          !isEmpty(value) && (
            <div key={name}>
              <dt>{t.maybe(`run.fact_${name}`) ?? name.replaceAll('_', ' ')}</dt>
              <dd>
                <Fact name={name} value={value} />
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

const isEmpty = (value: Json) => value === null || value === '' || (Array.isArray(value) && value.length === 0);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function Fact({ name, value }: { name: string; value: Json }) {
  const t = useT();
  if (name === 'held_by') return <Holders value={value} />;
  if (name === 'quotas') return <Quotas value={value} />;
  if (name === 'last_error' && isObject(value))
    return (
      <>
        <code>{String(value.code)}</code> {String(value.message ?? '')}
      </>
    );
  if (typeof value === 'boolean') return t(value ? 'common.yes' : 'common.no');
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value !== 'string') return <code>{write(value)}</code>;
  if (TIME.test(value)) return <Time at={value} />;
  if (name === 'status') return t.name('common', 'status', value);
  const href = factHref(name, value);
  if (href === null && /^(wait_kind|hold|priority)$/.test(name)) return t.name('run', 'value', value);
  return href === null ? value : <Link href={href}>{value}</Link>;
}

function Holders({ value }: { value: Json }) {
  const t = useT();
  return (
    <ul>
      {holdersOf(value).map(({ execution_id, since }) => (
        <li key={execution_id}>
          <Link href={`/runs/${execution_id}`}>{execution_id}</Link> {t('run.held_since')} <Time at={since} />
        </li>
      ))}
    </ul>
  );
}

function Quotas({ value }: { value: Json }) {
  const t = useT();
  return (
    <ul>
      {quotasOf(value).map(({ name, limit, used, waiting }) => (
        <li key={name}>
          <Link href={quotaHref(name)}>{name}</Link> {t('run.quota_use', { used, limit: limit ?? '∞', waiting })}
        </li>
      ))}
    </ul>
  );
}
