import { CircleCheck, CircleX, Ellipsis, LayoutGrid, Play, Redo2, Save, Undo2 } from 'lucide-react';
import { useT } from '../../../messages';
import { Button, IconButton } from '../../../ui/Button';
import { Menu, type MenuEntry } from '../../../ui/Menu';
import { useEditor } from '../model/context';
import { isDirty } from '../model/store';
import css from './Toolbar.module.css';

export type Mode = 'canvas' | 'split' | 'code';

export interface ToolbarProps {
  mode: Mode;
  onMode: (mode: Mode) => void;
  problemsOpen: boolean;
  onProblems: () => void;
  onTidy: () => void;
  onTest: () => void;
  testReason: string | undefined;
  onSave: () => void;
  saveReason: string | undefined | false;
  unused: number | null;
  menu: MenuEntry[];
}

export function Toolbar(props: ToolbarProps) {
  const t = useT();
  const history = useEditor((state) => state.history);
  const undo = useEditor((state) => state.undo);
  const redo = useEditor((state) => state.redo);
  const readOnly = useEditor((state) => state.readOnly);
  const version = useEditor((state) => state.saved.version);
  const sameText = useEditor((state) => state.text === state.saved.text);
  const dirty = useEditor(isDirty);
  const diagnostics = useEditor((state) => state.diagnostics);
  const broken = useEditor((state) => state.problem !== null);
  const count = (diagnostics ?? []).filter((one) => one.severity !== 'note').length + (broken && (diagnostics ?? []).length === 0 ? 1 : 0);
  const errors = broken || (diagnostics ?? []).some((one) => one.severity === 'error');
  const saveName =
    props.unused !== null
      ? t('editor.use_version', { version: props.unused })
      : dirty && sameText && version !== null
        ? t('editor.save_layout')
        : t('editor.save_version', { version: (version ?? 0) + 1 });
  return (
    <>
      <div className={css.modes} role="group" aria-label={t('editor.view')}>
        {(['canvas', 'split', 'code'] as const).map((one) => (
          <button key={one} type="button" aria-pressed={props.mode === one} onClick={() => props.onMode(one)}>
            {t(`editor.view_${one}`)}
          </button>
        ))}
      </div>
      {!readOnly && (
        <>
          <IconButton
            name={t('editor.undo')}
            hint="Ctrl Z"
            icon={<Undo2 />}
            disabledReason={history.past.length === 0 && t('editor.nothing_to_undo')}
            onClick={undo}
          />
          <IconButton
            name={t('editor.redo')}
            hint="Ctrl Y"
            icon={<Redo2 />}
            disabledReason={history.future.length === 0 && t('editor.nothing_to_redo')}
            onClick={redo}
          />
          <IconButton name={t('editor.tidy')} hint="Shift T" icon={<LayoutGrid />} onClick={props.onTidy} />
        </>
      )}
      <Button
        kind="quiet"
        aria-expanded={props.problemsOpen}
        className={errors ? css.bad : count > 0 ? css.warn : undefined}
        icon={count > 0 ? <CircleX /> : <CircleCheck />}
        onClick={props.onProblems}
      >
        {t('editor.problems_n', { n: count })}
      </Button>
      <Menu label={t('common.more')} items={props.menu}>
        <IconButton name={t('common.more')} icon={<Ellipsis />} />
      </Menu>
      <Button icon={<Play />} disabledReason={props.testReason} onClick={props.onTest}>
        {t('editor.test_run')}
      </Button>
      <Button kind="primary" icon={<Save />} disabledReason={props.saveReason} onClick={props.onSave}>
        {saveName}
      </Button>
    </>
  );
}
