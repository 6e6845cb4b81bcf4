import { Copy } from 'lucide-react';
import { type Translate, useT } from '../messages';
import { Button } from '../ui/Button';
import { copyText } from '../ui/copy';
import { Menu, type MenuEntry } from '../ui/Menu';

/** An action or a filter as lines for the terminal, made by `pawl()` and `curl()` of `frame/terminal` when they are asked for. */
export interface AsText {
  /** What it is, if there are several. */
  name?: string;
  /** Null: the command line has nothing for it; a list: it has nothing for these parts of it. */
  command: (() => string) | null | readonly string[];
  curl: () => string;
  /** Why there is nothing to copy yet, as for a form that is not filled in. */
  disabledReason?: string | false | null | undefined;
}

/** Entries for a menu. */
export function copyItems(t: Translate, of: AsText): MenuEntry[] {
  const { command, curl } = of;
  const made = typeof command === 'function' ? command : null;
  const parts = Array.isArray(command) && command.length > 0 ? t('common.no_command_for', { what: command.join(', ') }) : null;
  const none = made ? undefined : (parts ?? t('common.no_command'));
  return [
    of.name !== undefined && { group: of.name },
    {
      name: t('common.copy_command'),
      icon: <Copy />,
      disabledReason: of.disabledReason || none,
      act: () => made && void copyText(made()),
    },
    { name: t('common.copy_curl'), icon: <Copy />, disabledReason: of.disabledReason, act: () => void copyText(curl()) },
  ];
}

/** A quiet button for the foot of a dialog or the head of a page. */
export function CopyAs({ of, brief }: { of: AsText | readonly AsText[]; brief?: boolean }) {
  const t = useT();
  const list = Array.isArray(of) ? (of as readonly AsText[]) : [of as AsText];
  return (
    <Menu label={t('common.copy_as')} items={list.flatMap((one) => copyItems(t, one))}>
      <Button kind="quiet" icon={<Copy />} aria-label={t('common.copy_as')}>
        {!brief && t('common.copy')}
      </Button>
    </Menu>
  );
}
