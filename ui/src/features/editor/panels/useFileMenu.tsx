import { Download, FileUp, SquareDashed, StickyNote } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { writeJson } from '../../../graph/document';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { download } from '../../../ui/copy';
import { Dialog } from '../../../ui/Dialog';
import type { MenuEntry } from '../../../ui/Menu';
import { CodeField } from '../code/CodeField';
import { yamlLanguage } from '../code/languages';
import type { View } from '../model/actions';
import { useEditor, useTools } from '../model/context';
import { importText } from '../model/importing';
import { svgOf } from '../model/svg';
import css from './TestRun.module.css';

/** Export, import, notes and groups. */
export function useFileMenu(view: () => View | null): [MenuEntry[], ReactNode] {
  const t = useT();
  const { store } = useTools();
  const readOnly = useEditor((state) => state.readOnly);
  const [importing, setImporting] = useState(false);
  const now = () => store.getState();
  const name = () => now().document.definition.name || 'schema';
  const addBox = (kind: 'note' | 'group') => {
    const shown = view();
    const id = Math.random().toString(36).slice(2, 10);
    const x = 0;
    const y = (shown?.layout.height ?? 0) + 48;
    const { layout, setLayout } = now();
    if (kind === 'note') setLayout({ ...layout, notes: [...layout.notes, { id, x, y, width: 224, height: 112, text: '' }] });
    else
      setLayout({
        ...layout,
        groups: [
          ...layout.groups,
          {
            id,
            x: x - 24,
            y: -56,
            width: (shown?.layout.width ?? 300) + 48,
            height: (shown?.layout.height ?? 100) + 80,
            title: t('editor.group'),
          },
        ],
      });
  };
  const items: MenuEntry[] = [
    !readOnly && { name: t('editor.add_note'), icon: <StickyNote />, act: () => addBox('note') },
    !readOnly && { name: t('editor.add_group'), icon: <SquareDashed />, act: () => addBox('group') },
    !readOnly && 'line',
    !readOnly && { name: t('editor.import'), icon: <FileUp />, act: () => setImporting(true) },
    {
      name: t('editor.export_yaml'),
      icon: <Download />,
      act: () => download(`${name()}.${now().document.json ? 'json' : 'yaml'}`, now().text),
    },
    { name: t('editor.export_json'), icon: <Download />, act: () => download(`${name()}.json`, writeJson(now().document.definition)) },
    {
      name: t('editor.export_svg'),
      icon: <Download />,
      act: () => {
        const shown = view();
        if (shown !== null) download(`${name()}.svg`, svgOf(shown.graph, shown.layout));
      },
    },
  ];
  return [items, importing ? <ImportDialog key="import" onClose={() => setImporting(false)} /> : null];
}

/** Another text in place of this one: one entry of the history. */
function ImportDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const { store, stored } = useTools();
  const [text, setText] = useState('');
  const imported = importText(text, stored);
  const take = () => {
    if (!imported.ok) return;
    const { layout } = store.getState();
    store.getState().replace(imported.text, { ...layout, positions: imported.positions });
    onClose();
  };
  return (
    <Dialog
      title={t('editor.import')}
      size="wide"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind="primary"
            disabledReason={text.trim() === '' ? t('editor.import_empty') : !imported.ok && imported.message}
            onClick={take}
          >
            {t('editor.import_take')}
          </Button>
        </>
      }
    >
      <div className={css.dialog}>
        <p className={css.about}>{t('editor.import_about')}</p>
        <input
          type="file"
          accept=".yaml,.yml,.json"
          aria-label={t('editor.import_file')}
          onChange={(event) => void event.target.files?.[0]?.text().then(setText)}
        />
        <CodeField value={text} onChange={setText} extensions={yamlLanguage} label={t('editor.import')} multiline />
        {imported.ok ? (
          <p className={css.about}>{t('editor.import_found', { n: imported.nodes })}</p>
        ) : (
          text.trim() !== '' && <p className={css.error}>{imported.message}</p>
        )}
      </div>
    </Dialog>
  );
}
