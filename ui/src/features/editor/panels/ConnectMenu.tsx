import { useState } from 'react';
import { exitOf } from '../../../graph/patch';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { Dialog } from '../../../ui/Dialog';
import { Field, Input, Select } from '../../../ui/Field';
import type { Actions } from '../model/actions';
import { useEditor, useTools } from '../model/context';
import { exitsOf } from '../model/fields';

/** Connecting with the keyboard: the exit, then where it leads. */
export function ConnectMenu({ id, actions, onClose }: { id: string; actions: Actions; onClose: () => void }) {
  const t = useT();
  const { types } = useTools();
  const definition = useEditor((state) => state.document.definition);
  const node = definition.nodes.find((one) => one.id === id);
  const exits = node === undefined ? [] : exitsOf(types.get(node.type), node, true);
  const [exit, setExit] = useState(() => actions.openExit(id) ?? exits[0] ?? '');
  const present = definition.edges.find((edge) => edge.source === id && exitOf(edge, node?.type) === exit)?.target ?? '';
  const [target, setTarget] = useState('');
  const known = definition.nodes.some((one) => one.id === target);
  const make = () => {
    if (!known) return;
    actions.connect({ node: id, exit }, target);
    onClose();
  };
  return (
    <Dialog
      size="small"
      title={t('editor.connect_from', { id })}
      onClose={onClose}
      actions={
        <>
          {present !== '' && (
            <Button
              onClick={() => {
                actions.disconnect({ node: id, exit });
                onClose();
              }}
            >
              {t('editor.disconnect')}
            </Button>
          )}
          <Button kind="primary" disabledReason={!known && t('editor.choose_target')} onClick={make}>
            {t('editor.connect')}
          </Button>
        </>
      }
    >
      <Field label={t('editor.exit')}>
        {(ids) => <Select {...ids} value={exit} onValue={setExit} choices={exits.map((one) => ({ value: one, name: one }))} />}
      </Field>
      <Field label={t('editor.leads_to')} hint={present === '' ? t('editor.leads_nowhere') : t('editor.leads_now', { id: present })}>
        {(ids) => (
          <>
            <Input
              {...ids}
              mono
              list="connect-targets"
              value={target}
              onChange={(event) => setTarget(event.target.value)}
              onKeyDown={(event) => event.key === 'Enter' && make()}
            />
            <datalist id="connect-targets">
              {definition.nodes
                .filter((one) => one.type !== 'start')
                .map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name ?? one.type}
                  </option>
                ))}
            </datalist>
          </>
        )}
      </Field>
    </Dialog>
  );
}
