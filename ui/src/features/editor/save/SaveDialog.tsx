import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { asApiError } from '../../../api/error';
import type { Schema } from '../../../api/model';
import { queries } from '../../../api/queries';
import { DifferenceCanvas } from '../../../canvas/DifferenceCanvas';
import { compareDefinitions, type DefinitionDifference, isSame } from '../../../graph/difference';
import type { SchemaDefinition } from '../../../graph/document';
import { SchemaText } from '../../../graph/document';
import { useT } from '../../../messages';
import { faultSaid } from '../../../messages/said';
import { Button } from '../../../ui/Button';
import { Dialog } from '../../../ui/Dialog';
import { Checkbox, Field, Input } from '../../../ui/Field';
import { Problem } from '../../../ui/Problem';
import { codeParts } from '../fields/codeParts';
import { useEditor, useTools } from '../model/context';
import { errorsOf } from '../model/problems';
import { ChangeList } from './ChangeList';
import css from './Save.module.css';
import { type SavedAnswer, saveText } from './save';

export interface SaveDialogProps {
  onSaved: (saved: SavedAnswer, text: string) => void;
  /** There is a newer version than the one that was opened. */
  onConflict: () => void;
  onClose: () => void;
}

/** What will be stored, what it starts at once, what changed, and why. */
export function SaveDialog({ onSaved, onConflict, onClose }: SaveDialogProps) {
  const t = useT();
  const { store, stored } = useTools();
  const { text, document, saved, diagnostics } = useEditor((state) => state);
  const latest = useQuery({ ...queries.schema(stored ?? ''), enabled: stored !== null });
  const [note, setNote] = useState('');
  const [publish, setPublish] = useState(true);
  const base = useMemo(() => definitionOf(saved.text), [saved.text]);
  const difference = useMemo(() => (base === null ? null : compareDefinitions(base, document.definition)), [base, document]);
  const version = (saved.version ?? 0) + 1;
  const save = useMutation({
    mutationFn: () => saveText({ stored, text: store.getState().text, version: saved.version, note, publish: publish || stored === null }),
    onSuccess: (answer) => onSaved(answer, text),
    onError: (thrown) => {
      if (asApiError(thrown).status === 412) onConflict();
    },
  });
  const warnings = (diagnostics ?? []).filter((one) => one.severity === 'warning');
  const errors = errorsOf(diagnostics);
  const go = () => errors.length === 0 && !save.isPending && save.mutate();
  return (
    <Dialog
      size={base === null ? 'normal' : 'wide'}
      title={stored === null ? t('editor.save_new', { name: document.definition.name }) : t('editor.save_as', { version })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind="primary"
            busy={save.isPending}
            disabledReason={errors.length > 0 && t('editor.has_errors', { n: errors.length })}
            onClick={go}
          >
            {t(publish || stored === null ? 'editor.save_and_use' : 'editor.save_only')}
          </Button>
        </>
      }
    >
      <div className={css.save}>
        <p className={css.starts}>{startsText(t, document.definition, latest.data, version, publish || stored === null)}</p>
        {stored !== null && (
          <Checkbox label={t('editor.publish')} checked={publish} onChange={(event) => setPublish(event.target.checked)} />
        )}
        <Field label={t('editor.note_of_version')}>
          {(ids) => (
            <Input
              {...ids}
              data-autofocus="true"
              maxLength={500}
              placeholder={t('editor.note_placeholder')}
              value={note}
              onChange={(event) => setNote(event.target.value)}
              onKeyDown={(event) => event.key === 'Enter' && go()}
            />
          )}
        </Field>
        {warnings.length > 0 && (
          <div className={css.warnings}>
            <h3>{t('editor.warnings', { n: warnings.length })}</h3>
            <ul>
              {warnings.map((one) => (
                <li key={one.pointer + one.code}>{codeParts(faultSaid(one, t))}</li>
              ))}
            </ul>
          </div>
        )}
        {base && difference && <Changes before={base} after={document.definition} difference={difference} />}
        {save.error && asApiError(save.error).status !== 412 && <Problem compact error={save.error} />}
      </div>
    </Dialog>
  );
}

/** What runs will do otherwise: the list of the changes, and their picture if nodes or edges are among them. */
function Changes({ before, after, difference }: { before: SchemaDefinition; after: SchemaDefinition; difference: DefinitionDifference }) {
  const t = useT();
  const [chosen, setChosen] = useState<string | null>(null);
  if (isSame(difference)) return <p className={css.faint}>{t('editor.text_only')}</p>;
  return (
    <>
      {difference.nodes.length + difference.edges.length > 0 && (
        <div className={css.picture}>
          <DifferenceCanvas
            before={before}
            after={after}
            difference={difference}
            label={t('editor.changes_picture')}
            chosen={chosen}
            onChoose={setChosen}
          />
        </div>
      )}
      <ChangeList difference={difference} chosen={chosen} />
    </>
  );
}

export function definitionOf(text: string): SchemaDefinition | null {
  const reading = SchemaText.read(text);
  return reading.ok ? reading.document.definition : null;
}

function startsText(
  t: ReturnType<typeof useT>,
  definition: SchemaDefinition,
  stored: Schema | undefined,
  version: number,
  publish: boolean,
): string {
  if (!publish) return t('editor.triggers_stay', { version: stored?.published_version ?? stored?.latest_version ?? version - 1 });
  const triggers = definition.triggers?.length ?? 0;
  if (stored?.active === false) return t('editor.is_inactive');
  return triggers === 0 ? t('editor.starts_by_hand', { version }) : t('editor.starts_triggers', { n: triggers, version });
}
