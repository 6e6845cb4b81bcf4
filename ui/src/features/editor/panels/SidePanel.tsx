import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import type { Actions } from '../model/actions';
import { useEditor } from '../model/context';
import type { Pin } from '../model/wire';
import { NodeForm } from './NodeForm';
import { SchemaForm } from './SchemaForm';
import { ResultPanel, TestPanel, type TestRunState } from './TestPanel';
import type { TrialResult } from './TestRun';
import css from './Workbench.module.css';

export interface SidePanelProps {
  actions: Actions;
  test: TestRunState | null;
  result: TrialResult | null;
  pins: Pin[];
  onPins: () => void;
  onClose: () => void;
  place: { pointer: string; node: string | null } | null;
}

/** The form of what is selected; a test run takes its place. */
export function SidePanel({ actions, test, result, pins, onPins, onClose, place }: SidePanelProps) {
  const selection = useEditor((state) => state.selection);
  const [first] = selection.nodes;
  if (result !== null) return <ResultPanel result={result} onClose={onClose} pins={pins} onPins={onPins} />;
  if (test !== null) return <TestPanel test={test} node={first ?? null} onClose={onClose} pins={pins} onPins={onPins} />;
  if (selection.nodes.length > 1) return <ManyNodes count={selection.nodes.length} actions={actions} />;
  if (first !== undefined) return <NodeForm key={first} id={first} actions={actions} pins={pins} onPins={onPins} place={place} />;
  if (selection.edges.length > 0) return <EdgeForm actions={actions} />;
  return <SchemaForm actions={actions} />;
}

function ManyNodes({ count, actions }: { count: number; actions: Actions }) {
  const t = useT();
  const readOnly = useEditor((state) => state.readOnly);
  return (
    <section className={css.many}>
      <h2>{t('editor.selected', { n: count })}</h2>
      {!readOnly && (
        <>
          {(['left', 'top', 'columns', 'rows'] as const).map((how) => (
            <Button key={how} size="small" onClick={() => actions.align(how)}>
              {t(`editor.align_${how}`)}
            </Button>
          ))}
          <Button size="small" onClick={() => actions.duplicate()}>
            {t('editor.duplicate')}
          </Button>
          <Button size="small" kind="danger" onClick={() => actions.remove(false)}>
            {t('common.delete')}
          </Button>
        </>
      )}
    </section>
  );
}

function EdgeForm({ actions }: { actions: Actions }) {
  const t = useT();
  const readOnly = useEditor((state) => state.readOnly);
  const edge = useEditor((state) => state.document.definition.edges[state.selection.edges[0] ?? -1]);
  if (edge === undefined) return null;
  return (
    <section className={css.many}>
      <h2>
        {edge.source}
        {edge.sourceHandle ? ` · ${edge.sourceHandle}` : ''} → {edge.target}
      </h2>
      {!readOnly && (
        <Button size="small" kind="danger" onClick={() => actions.remove(false)}>
          {t('editor.disconnect')}
        </Button>
      )}
    </section>
  );
}
