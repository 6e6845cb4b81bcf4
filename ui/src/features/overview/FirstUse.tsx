import { useMutation, useQuery } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { api } from '../../api/client';
import type { Execution } from '../../api/model';
import { go, Link } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Problem } from '../../ui/Problem';
import { overview } from './calls';
import css from './Overview.module.css';

const EXAMPLES = ['order-check', 'approval', 'onboarding'] as const;

/** Nothing has run yet: three examples, one click each. */
export function FirstUse() {
  const t = useT();
  const { reason } = useRole();
  const schemas = useQuery(overview.examples()).data?.items ?? [];
  const run = useMutation({
    mutationFn: (schema: string) => api.post<Execution>('/api/executions', { schema }),
    onSuccess: (started) => go(`/runs/${started.id}`),
  });
  const there = EXAMPLES.filter((name) => schemas.some((schema) => schema.name === name && schema.active));
  return (
    <section className={css.first} aria-label={t('overview.first')}>
      <h2>{t('overview.first')}</h2>
      <p className={css.firstText}>{there.length > 0 ? t('overview.first_text', { n: schemas.length }) : t('overview.first_bare')}</p>
      {run.error && <Problem compact error={run.error} />}
      <ul className={css.examples}>
        {there.map((name) => (
          <li key={name} className={css.example}>
            <Link href={`/schemas/${name}`} className={css.exampleName}>
              {name}
            </Link>
            <p>{t(`overview.example_${name}`)}</p>
            <Button
              kind="primary"
              icon={<Play />}
              aria-label={t('overview.run_example', { name })}
              busy={run.isPending && run.variables === name}
              disabledReason={reason('operator')}
              onClick={() => run.mutate(name)}
            >
              {t('overview.run')}
            </Button>
          </li>
        ))}
        {there.length === 0 && (
          <li>
            <Button kind="primary" onClick={() => go('/new/schema')}>
              {t('frame.new_schema')}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}
