import { useT } from '../messages';
import { Dialog } from '../ui/Dialog';
import { allCommands, type Command } from './commands';
import css from './KeysHelp.module.css';
import { shownKeys } from './keys';

const GROUPS: Command['group'][] = ['page', 'go', 'settings'];

/** The keys of this page, out of the same table that makes them work. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  const t = useT();
  const commands = allCommands().filter((command) => command.keys);
  return (
    <Dialog title={t('frame.keys_help')} onClose={onClose} size="wide">
      <div className={css.groups}>
        {GROUPS.map((group) => {
          const list = commands.filter((command) => command.group === group);
          return list.length === 0 ? null : (
            <section key={group}>
              <h3 className={css.head}>{t(`frame.group_${group}`)}</h3>
              <dl className={css.list}>
                {list.map((command) => (
                  <div key={command.id} className={css.line}>
                    <dt>{command.name}</dt>
                    <dd>
                      {command.keys?.split('|').map((keys) => (
                        <kbd key={keys} className={css.key}>
                          {shownKeys(keys)}
                        </kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
      <p className={css.note}>{t('frame.keys_note')}</p>
    </Dialog>
  );
}
