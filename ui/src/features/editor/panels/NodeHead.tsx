import type { DefinedNode } from '../../../graph/model';
import { useT } from '../../../messages';
import { iconOf } from '../../../nodes';
import { Chip } from '../../../ui/Chip';
import type { Actions } from '../model/actions';
import { useTools } from '../model/context';
import { IdInput } from './NodeForm';
import css from './NodeForm.module.css';

export function NodeHead({ node, actions, readOnly }: { node: DefinedNode; actions: Actions; readOnly: boolean }) {
  const t = useT();
  const { types } = useTools();
  const Icon = iconOf(node.type);
  const type = types.get(node.type);
  return (
    <header className={css.head}>
      <Icon aria-hidden className={css.icon} />
      <IdInput key={node.id} id={node.id} actions={actions} readOnly={readOnly} />
      <span className={css.type}>{t.maybe(`nodes.title_${node.type}`) ?? type?.title ?? node.type}</span>
      {node.disabled === true && <Chip tone="warn">{t('editor.disabled')}</Chip>}
    </header>
  );
}
