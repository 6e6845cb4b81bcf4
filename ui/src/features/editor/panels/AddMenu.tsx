import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { NodeType } from '../../../api/model';
import { useT } from '../../../messages';
import { iconOf } from '../../../nodes';
import { cx } from '../../../ui/cx';
import { Input } from '../../../ui/Field';
import { useTools } from '../model/context';
import css from './AddMenu.module.css';

export const KINDS = ['flow', 'data', 'time', 'effects'];

export function matching(types: Iterable<NodeType>, text: string): NodeType[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (type: NodeType) => (type.type.startsWith(words[0] ?? '') || type.title.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  const fits = (type: NodeType) => words.every((word) => `${type.type} ${type.title} ${type.summary}`.toLowerCase().includes(word));
  const kind = (type: NodeType) => (KINDS.indexOf(type.category) + KINDS.length + 1) % (KINDS.length + 1);
  return [...types]
    .filter((type) => type.type !== 'start' && fits(type))
    .sort((a, b) => (words.length > 0 ? rank(a) - rank(b) : 0) || kind(a) - kind(b));
}

/** Where the focus was before the menu was there it is again after it, unless the person went elsewhere. */
function useFocusBack(box: RefObject<HTMLElement | null>) {
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(() => {
    const element = box.current;
    return () => {
      const now = document.activeElement;
      const lost = now === null || now === document.body || element?.contains(now);
      if (lost && before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, [box, before]);
}

/** Search for a type where the node is to be. Arrows choose, Enter adds, Esc closes. */
export function AddMenu({
  at,
  title,
  onPick,
  onClose,
}: {
  at: { x: number; y: number };
  title: string;
  onPick: (type: string) => void;
  onClose: () => void;
}) {
  const t = useT();
  const { types } = useTools();
  const [text, setText] = useState('');
  const [current, setCurrent] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useFocusBack(box);
  const found = useMemo(() => matching(types.values(), text), [types, text]);
  useEffect(() => {
    const away = (event: PointerEvent) => {
      if (!(event.target instanceof Node) || !box.current?.contains(event.target)) onClose();
    };
    document.addEventListener('pointerdown', away, true);
    return () => document.removeEventListener('pointerdown', away, true);
  }, [onClose]);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(found.length - 1, current + by));
    setCurrent(next);
    box.current?.querySelectorAll('[role=option]')[next]?.scrollIntoView({ block: 'nearest' });
  };
  const chosen = found[current];
  const keys = new Map([
    ['ArrowDown', () => move(1)],
    ['ArrowUp', () => move(-1)],
    ['Enter', () => chosen && onPick(chosen.type)],
    ['Escape', onClose],
  ]);
  const left = Math.max(8, Math.min(at.x, window.innerWidth - 312));
  const top = Math.max(8, Math.min(at.y, window.innerHeight - 372));
  return (
    <div ref={box} className={css.menu} style={{ left, top }} role="dialog" aria-label={title}>
      <Input
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls="add-menu-list"
        aria-activedescendant={found[current] ? `add-${found[current].type}` : undefined}
        aria-label={t('editor.search_types')}
        placeholder={t('editor.search_types')}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setCurrent(0);
        }}
        onKeyDown={(event) => {
          const act = keys.get(event.key);
          if (act === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          act();
        }}
      />
      <div id="add-menu-list" role="listbox" aria-label={title} className={css.list}>
        {found.map((type, index) => (
          <Option key={type.type} type={type} current={index === current} onPick={() => onPick(type.type)} />
        ))}
        {found.length === 0 && <p className={css.none}>{t('editor.no_types')}</p>}
      </div>
    </div>
  );
}

function Option({ type, current, onPick }: { type: NodeType; current: boolean; onPick: () => void }) {
  const t = useT();
  const Icon = iconOf(type.type);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
    <div
      id={`add-${type.type}`}
      role="option"
      tabIndex={-1}
      aria-selected={current}
      className={cx(css.option, current && css.current)}
      onClick={onPick}
    >
      <Icon aria-hidden />
      <span>
        <b>{t.maybe(`nodes.title_${type.type}`) ?? type.title}</b>
        <small>{t.maybe(`nodes.summary_${type.type}`) ?? type.summary}</small>
      </span>
    </div>
  );
}
