/** Notes and groups: what people write beside the nodes. They belong to the layout, not to the definition. */
import { useReactFlow, ViewportPortal } from '@xyflow/react';
import { X } from 'lucide-react';
import { type PointerEvent, useRef } from 'react';
import { useT } from '../../../messages';
import { cx } from '../../../ui/cx';
import { useEditor, useTools } from '../model/context';
import type { CanvasGroup, CanvasLayout, CanvasNote } from '../model/wire';
import css from './CanvasNotes.module.css';

type Box = CanvasNote | CanvasGroup;
const isNote = (box: Box): box is CanvasNote => 'text' in box;

export function CanvasNotes() {
  const layout = useEditor((state) => state.layout);
  if (layout.notes.length + layout.groups.length === 0) return null;
  return (
    <ViewportPortal>
      {layout.groups.map((group) => (
        <BoxView key={`g${group.id}`} box={group} />
      ))}
      {layout.notes.map((note) => (
        <BoxView key={`n${note.id}`} box={note} />
      ))}
    </ViewportPortal>
  );
}

function change(layout: CanvasLayout, box: Box, part: Partial<CanvasNote & CanvasGroup> | null): CanvasLayout {
  const put = <T extends Box>(list: T[]): T[] =>
    part === null ? list.filter((one) => one.id !== box.id) : list.map((one) => (one.id === box.id ? { ...one, ...part } : one));
  return isNote(box) ? { ...layout, notes: put(layout.notes) } : { ...layout, groups: put(layout.groups) };
}

function BoxView({ box }: { box: Box }) {
  const t = useT();
  const { store } = useTools();
  const readOnly = useEditor((state) => state.readOnly);
  const put = (part: Partial<CanvasNote & CanvasGroup> | null, join?: string) =>
    store.getState().setLayout(change(store.getState().layout, box, part), join);
  const drag = useDrag(box, put);
  const name = isNote(box) ? t('editor.note') : t('editor.group');
  return (
    <div
      className={cx(isNote(box) ? css.note : css.group, 'nopan', 'nodrag')}
      style={{ transform: `translate(${box.x}px, ${box.y}px)`, width: box.width, height: box.height }}
    >
      <div className={css.bar} {...(readOnly ? {} : drag('move'))}>
        {!isNote(box) && (
          <input
            className={css.title}
            aria-label={name}
            readOnly={readOnly}
            value={box.title}
            maxLength={200}
            onChange={(event) => put({ title: event.target.value }, `group ${box.id}`)}
          />
        )}
        {!readOnly && (
          <button type="button" className={css.remove} aria-label={`${t('common.remove')}: ${name}`} onClick={() => put(null)}>
            <X />
          </button>
        )}
      </div>
      {isNote(box) && (
        <textarea
          className={css.text}
          aria-label={name}
          readOnly={readOnly}
          value={box.text}
          maxLength={4000}
          onChange={(event) => put({ text: event.target.value }, `note ${box.id}`)}
        />
      )}
      {!readOnly && <span className={css.corner} {...drag('size')} />}
    </div>
  );
}

/** Moving and resizing with the pointer; one entry of the history per gesture. */
function useDrag(box: Box, put: (part: Partial<CanvasNote & CanvasGroup>, join?: string) => void) {
  const { getZoom } = useReactFlow();
  const start = useRef<{ x: number; y: number; box: Box; join: string } | null>(null);
  return (what: 'move' | 'size') => ({
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      if (event.target instanceof HTMLInputElement || (event.target instanceof Element && event.target.closest('button'))) return;
      event.stopPropagation();
      event.currentTarget.setPointerCapture(event.pointerId);
      start.current = { x: event.clientX, y: event.clientY, box, join: `drag ${box.id} ${Math.random()}` };
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const from = start.current;
      if (from === null) return;
      const [dx, dy] = [(event.clientX - from.x) / getZoom(), (event.clientY - from.y) / getZoom()];
      if (what === 'move') put({ x: Math.round(from.box.x + dx), y: Math.round(from.box.y + dy) }, from.join);
      else put({ width: Math.max(96, Math.round(from.box.width + dx)), height: Math.max(48, Math.round(from.box.height + dy)) }, from.join);
    },
    onPointerUp: () => {
      start.current = null;
    },
  });
}
