import { Plus, Trash2 } from 'lucide-react';
import { useT } from '../../../messages';
import { Button, IconButton } from '../../../ui/Button';
import { Menu } from '../../../ui/Menu';
import { useForm } from '../fields/context';
import fields from '../fields/Fields.module.css';
import { FieldView } from '../fields/FieldView';
import type { FieldSpec, Widget } from '../model/fields';

type Put = (path: (string | number)[], value: unknown) => void;
type Trigger = Record<string, unknown>;

const FORMS: Record<string, [string, Widget, Partial<FieldSpec>?][]> = {
  cron: [
    ['name', 'text'],
    ['cron', 'text', { required: true }],
    ['timezone', 'text', { default: 'UTC' }],
    ['input', 'any'],
    ['overlap', 'enum', { choices: ['skip', 'queue', 'allow', 'cancel_previous'], default: 'skip' }],
    ['catch_up', 'enum', { choices: ['none', 'last', 'all'], default: 'last' }],
  ],
  webhook: [
    ['name', 'text'],
    ['path', 'text'],
    ['method', 'enum', { choices: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], default: 'POST' }],
    ['respond', 'enum', { choices: ['immediately', 'last_node', 'respond_node'], default: 'immediately' }],
    ['auth', 'any'],
    ['rate', 'text'],
  ],
};
const FRESH: Record<string, Trigger> = {
  cron: { type: 'cron', cron: '0 9 * * MON-FRI' },
  webhook: { type: 'webhook', name: 'call' },
};

/** What starts the schema by itself. */
export function Triggers({ triggers, put }: { triggers: Trigger[]; put: Put }) {
  const t = useT();
  const { readOnly } = useForm();
  const add = (kind: string) => put(['triggers'], [...triggers, FRESH[kind] ?? { type: kind }]);
  return (
    <>
      <h3>{t('editor.triggers')}</h3>
      {triggers.length === 0 && <p className={fields.hint}>{t('editor.no_triggers')}</p>}
      <div className={fields.rows}>
        {triggers.map((trigger, at) => (
          <TriggerView
            key={keyOf(trigger, at)}
            trigger={trigger}
            at={at}
            put={put}
            onRemove={() => put(['triggers'], triggers.length === 1 ? undefined : triggers.filter((_, index) => index !== at))}
          />
        ))}
        {!readOnly && (
          <Menu
            label={t('editor.add_trigger')}
            items={Object.keys(FORMS).map((kind) => ({ name: t.name('editor', 'trigger', kind), act: () => add(kind) }))}
          >
            <Button size="small" kind="quiet" icon={<Plus />}>
              {t('editor.add_trigger')}
            </Button>
          </Menu>
        )}
      </div>
    </>
  );
}

const keyOf = (trigger: Trigger, at: number) => `${String(trigger.type)} ${at}`;

function TriggerView({ trigger, at, put, onRemove }: { trigger: Trigger; at: number; put: Put; onRemove: () => void }) {
  const t = useT();
  const { readOnly } = useForm();
  const kind = String(trigger.type ?? '');
  const known = FORMS[kind] ?? [];
  const others = Object.keys(trigger).filter((name) => name !== 'type' && !known.some(([one]) => one === name));
  const all: [string, Widget, Partial<FieldSpec>?][] = [...known, ...others.map((name): [string, Widget] => [name, 'any'])];
  return (
    <div className={fields.listRow}>
      <header className={fields.listHead}>
        <span>{t.name('editor', 'trigger', kind)}</span>
        {!readOnly && <IconButton size="small" name={t('common.remove')} icon={<Trash2 />} onClick={onRemove} />}
      </header>
      <div className={fields.object}>
        {all.map(([name, widget, more]) => {
          const spec: FieldSpec = {
            name,
            title: t.name('editor', 'field', name),
            description: '',
            widget,
            required: false,
            templated: false,
            numeric: false,
            choices: [],
            default: undefined,
            ...more,
          };
          return (
            <FieldView
              key={name}
              spec={spec}
              value={trigger[name]}
              path={['triggers', at, name]}
              onChange={(value) => put(['triggers', at, name], value)}
            />
          );
        })}
      </div>
    </div>
  );
}
