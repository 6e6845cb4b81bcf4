import { AlertTriangle, CircleX, Info } from 'lucide-react';
import { useMemo } from 'react';
import { useT } from '../../../messages';
import { faultSaid } from '../../../messages/said';
import { codeParts } from '../fields/codeParts';
import { FixButton } from '../fields/FieldView';
import type { Actions } from '../model/actions';
import { useEditor } from '../model/context';
import { quickFix, sorted } from '../model/problems';
import type { Diagnostic } from '../model/wire';
import css from './ProblemsPanel.module.css';

const ICONS = { error: CircleX, warning: AlertTriangle, note: Info };

/** Everything that the check found; a click goes to the node, the field and the line. */
export function ProblemsPanel({ actions, onGo }: { actions: Actions; onGo: (diagnostic: Diagnostic) => void }) {
  const t = useT();
  const diagnostics = useEditor((state) => state.diagnostics);
  const readOnly = useEditor((state) => state.readOnly);
  const problem = useEditor((state) => state.problem);
  const list = useMemo(() => sorted(diagnostics ?? []), [diagnostics]);
  return (
    <section className={css.panel} aria-label={t('editor.problems')}>
      {list.length === 0 && problem === null && (
        <p className={css.none}>{t(diagnostics === null ? 'editor.checking' : 'editor.no_problems')}</p>
      )}
      <ul>
        {list.map((one) => {
          const Icon = ICONS[one.severity];
          const fix = readOnly ? null : quickFix(one, actions);
          return (
            <li key={`${one.pointer} ${one.code} ${one.message}`} className={css.row}>
              <button type="button" className={css.go} onClick={() => onGo(one)}>
                <Icon aria-label={t.name('editor', 'severity', one.severity)} className={css[one.severity]} />
                <span className={css.message}>
                  {codeParts(faultSaid(one, t))}
                  {one.hint && <small>{codeParts(one.hint)}</small>}
                </span>
                <span className={css.place}>
                  {one.node_id ?? ''}
                  {one.line ? ` ${t('editor.line', { line: one.line })}` : ''}
                </span>
              </button>
              {fix && <FixButton hint={one.hint ?? ''} act={fix} />}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
