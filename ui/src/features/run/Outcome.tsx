import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { hasEnded } from '../../api/queries';
import { useT } from '../../messages';
import { Ago } from '../../ui/Time';
import { Value } from '../../ui/Value';
import { useFile, useRun } from './context';
import css from './Inspector.module.css';
import { LastGood } from './LastGood';

/** How the run ended, and what people wrote on it. */
export function Outcome() {
  const t = useT();
  const { run, scrub } = useRun();
  const file = useFile();
  const [open, setOpen] = useState(true);
  const notes = run.notes ?? [];
  if (!hasEnded(run)) return notes.length === 0 ? null : <Notes />;
  const failed = run.error !== null;
  // The failed step below says the same.
  const said = scrub.step(scrub.last)?.status === 'failed';
  return (
    <section className={failed ? css.failed : css.ended}>
      <button type="button" className={css.fold} aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden />
        {t.name('run', 'outcome', run.status)}
        {run.finished_at !== null && (
          <span className={css.when}>
            <Ago at={run.finished_at} />
          </span>
        )}
      </button>
      {open && run.error !== null && !said && (
        <p className={css.message}>
          <code>{run.error.code}</code> {run.error.message}
        </p>
      )}
      {open && <Value name={t('run.run_output')} value={run.output} maxHeight={160} file={file} />}
      {open && <LastGood run={run} />}
      {notes.length > 0 && <Notes />}
    </section>
  );
}

function Notes() {
  const t = useT();
  const { run } = useRun();
  return (
    <ul className={css.notes} aria-label={t('run.notes')}>
      {(run.notes ?? []).map((note) => (
        <li key={`${String(note.created_at ?? '')}${note.text}`}>
          {note.text}
          <span className={css.when}>{String(note.created_by ?? '')}</span>
        </li>
      ))}
    </ul>
  );
}
