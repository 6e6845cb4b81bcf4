import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { curl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, Input } from '../../ui/Field';
import { Loaded } from '../../ui/Loaded';
import { Problem } from '../../ui/Problem';
import { BULK, type BulkAnswer, countForRequeue, NO_OUTCOMES, type Outcomes, requeueAll, requeueAllBody } from './calls';
import css from './Letters.module.css';

type State =
  | { at: 'asking' }
  | { at: 'doing'; sum: Outcomes }
  | { at: 'done'; sum: Outcomes; refused: BulkAnswer['refused'] }
  | { at: 'failed'; error: unknown };

/** The count first; over 100 the number must be typed. */
export function RequeueAll({ reason, onClose }: { reason: string; onClose: () => void }) {
  const t = useT();
  const [typed, setTyped] = useState('');
  const [state, setState] = useState<State>({ at: 'asking' });
  const count = useQuery({ queryKey: ['letters', 'bulk', reason], queryFn: () => countForRequeue(reason), staleTime: 0, gcTime: 0 });
  const matched = count.data?.matched ?? 0;
  const ready = matched > 0 && (matched <= 100 || typed.trim() === String(matched));
  const go = async () => {
    setState({ at: 'doing', sum: NO_OUTCOMES });
    try {
      const outcome = await requeueAll(reason, (sum) => setState({ at: 'doing', sum }));
      setState({ at: 'done', ...outcome });
    } catch (error) {
      setState({ at: 'failed', error });
    } finally {
      void queryClient.invalidateQueries({ queryKey: ['letters'] });
    }
  };
  const asking = state.at === 'asking';
  const doing = state.at === 'doing';
  return (
    <Dialog
      size="small"
      title={count.data && asking ? t('letters.bulk_title', { n: matched }) : t('letters.requeue_all')}
      onClose={onClose}
      actions={
        asking || doing ? (
          <>
            <CopyAs of={{ command: null, curl: () => curl('POST', BULK, { body: requeueAllBody(reason) }) }} />
            <Button onClick={onClose}>{t('common.cancel')}</Button>
            <Button
              kind="primary"
              busy={doing}
              disabledReason={!ready && (matched === 0 ? t('letters.bulk_none') : t('common.type_first'))}
              onClick={go}
            >
              {t('letters.requeue')}
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={onClose}>
            {t('letters.bulk_close')}
          </Button>
        )
      }
    >
      {asking && (
        <Loaded query={count} skeleton={<p>{t('letters.bulk_counting')}</p>}>
          {(answer) => <Question answer={answer} typed={typed} onTyped={setTyped} />}
        </Loaded>
      )}
      {doing && <p role="status">{t('letters.bulk_progress', { n: total(state.sum) })}</p>}
      {state.at === 'done' && <Outcome sum={state.sum} refused={state.refused} />}
      {state.at === 'failed' && <Problem compact error={state.error} />}
    </Dialog>
  );
}

function total(sum: Outcomes): number {
  return Object.values(sum).reduce((all, one: number) => all + one, 0);
}

function Question({ answer, typed, onTyped }: { answer: BulkAnswer; typed: string; onTyped: (text: string) => void }) {
  const t = useT();
  if (answer.matched === 0) return <p>{t('letters.bulk_none')}</p>;
  return (
    <div className={css.question}>
      <p>{t('letters.bulk_text')}</p>
      {answer.capped && <p>{t('letters.bulk_capped', { count: answer.matched })}</p>}
      {answer.matched > 100 && (
        <Field label={t.rich('letters.bulk_type', { count: <strong>{answer.matched}</strong> })}>
          {(ids) => <Input {...ids} inputMode="numeric" value={typed} onChange={(event) => onTyped(event.target.value)} />}
        </Field>
      )}
    </div>
  );
}

function Outcome({ sum, refused }: { sum: Outcomes; refused: BulkAnswer['refused'] }) {
  const t = useT();
  return (
    <div className={css.question} role="status">
      <p>{t('letters.bulk_done', { ...sum })}</p>
      {refused.length > 0 && (
        <>
          <h3>{t('letters.bulk_refused')}</h3>
          <ul className={css.refused}>
            {refused.map((one) => (
              <li key={one.id}>
                <code>{one.id}</code> {one.message}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
