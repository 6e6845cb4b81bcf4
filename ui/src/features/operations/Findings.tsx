import { useMemo } from 'react';
import type { Finding } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { Id } from '../../ui/Id';
import css from './Operations.module.css';

/** So many runs of one problem are listed; the number says how many there are. */
const SHOWN = 50;

/** By problem, each with its runs. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const t = useT();
  const groups = useMemo(() => [...Map.groupBy(findings, (finding) => finding.problem)], [findings]);
  return (
    <ul className={css.groups}>
      {groups.map(([problem, list]) => (
        <li key={problem}>
          <h3>
            {t.name('operations', 'problem', problem)} <Chip tone="bad">{list.length}</Chip>
          </h3>
          <ul className={css.findings}>
            {list.slice(0, SHOWN).map((finding) => (
              <li key={`${finding.execution_id}${finding.quota ?? ''}${finding.detail}`}>
                <Place finding={finding} /> <span className={css.faint}>{finding.detail}</span>
                {finding.fixed && <Chip tone="good">{t('operations.fixed')}</Chip>}
              </li>
            ))}
          </ul>
          {list.length > SHOWN && <p className={css.faint}>{t('common.more_items', { n: list.length - SHOWN })}</p>}
        </li>
      ))}
    </ul>
  );
}

function Place({ finding }: { finding: Finding }) {
  if (finding.execution_id)
    return (
      <Link href={`/runs/${finding.execution_id}`}>
        {finding.schema} <Id id={finding.execution_id} />
      </Link>
    );
  const at = finding.quota?.indexOf(':') ?? -1;
  if (!finding.quota || at < 0) return null;
  return (
    <Link href={`/quotas/${encodeURIComponent(finding.quota.slice(0, at))}/${encodeURIComponent(finding.quota.slice(at + 1))}`}>
      {finding.quota}
    </Link>
  );
}
