import { Handle, type NodeProps, Position } from '@xyflow/react';
import { CircleDot, LogIn, Pin } from 'lucide-react';
import { type MouseEvent, memo } from 'react';
import { exitOffset } from '../graph/model';
import { useT } from '../messages';
import { iconOf, summaryOf } from '../nodes';
import { cx } from '../ui/cx';
import { StatusIcon, toneOf } from '../ui/Status';
import { Countdown } from '../ui/Time';
import { type CardNode, ENTRY } from './flow';
import { type Looks, type NodeLook, useIsSelected, useNodeLook } from './looks';
import css from './NodeCard.module.css';

const SIDES = { left: css.sideLeft, right: css.sideRight, both: css.sideBoth };

/** A node on the canvas. It listens for its own look only. */
export const NodeCard = memo(function NodeCard({ data, selected }: NodeProps<CardNode>) {
  const { node, looks, editable, ends } = data;
  const look = useNodeLook(looks, node.index);
  const chosen = useIsSelected(looks, node.index);
  const Icon = iconOf(node.type);
  const tone = look.state === null ? '' : css[toneOf(look.state)];
  return (
    <div
      data-node={node.id}
      data-problem={look.problem ?? undefined}
      className={cx(
        css.card,
        tone,
        look.ring !== null && css[look.ring],
        look.faint && css.faint,
        (chosen || selected) && css.chosen,
        node.disabled && css.disabled,
        look.side !== null && SIDES[look.side],
        look.problem !== null && css[look.problem],
        editable && css.editable,
      )}
    >
      {looks.onGutter === null ? (
        look.breakpoint && <span className={css.breakpoint} />
      ) : (
        <Gutter id={node.id} on={look.breakpoint} looks={looks} />
      )}
      <span className={css.icon}>
        <Icon aria-hidden />
      </span>
      <span className={css.text}>
        <span className={css.title}>{node.title}</span>
        <span className={css.summary}>{summaryOf(node.definition)}</span>
      </span>
      <Right look={look} />
      {/* Also on a canvas to read: xyflow measures them, and draws no edge without. */}
      <Handles exits={node.exits} ends={ends} height={heightOf(node.exits.length)} still={!editable} />
    </div>
  );
});

/** For the pointer; the keyboard has a key for the selected node. */
function Gutter({ id, on, looks }: { id: string; on: boolean; looks: Looks }) {
  const t = useT();
  const toggle = (event: MouseEvent) => {
    // It is not the card that was clicked.
    event.stopPropagation();
    looks.onGutter?.(id);
  };
  return (
    <button
      type="button"
      tabIndex={-1}
      className={cx(css.gutter, 'nodrag')}
      aria-pressed={on}
      aria-label={t('canvas.gutter', { node: id })}
      onClick={toggle}
      onDoubleClick={(event) => event.stopPropagation()}
    >
      <span className={css.breakpoint} />
    </button>
  );
}

function heightOf(exits: number): number {
  return exits <= 2 ? 52 : Math.max(52, exits * 20 + 8);
}

function Right({ look }: { look: NodeLook }) {
  const t = useT();
  return (
    <span className={css.right}>
      <span className={css.marks}>
        {look.entry && <LogIn className={css.mark} aria-label={t('canvas.entry')} />}
        {look.pinned && <Pin className={css.mark} aria-label={t('canvas.pinned')} />}
        {look.badge !== '' && <span className={css.badge}>{look.badge}</span>}
        {look.visits > 1 && <span className={css.visits}>×{look.visits}</span>}
        {look.state !== null && <StatusIcon status={look.state} size={15} />}
        {look.ring === 'first' && <CircleDot className={css.divergence} aria-label={t('canvas.first_difference')} />}
      </span>
      {look.until !== null ? (
        <span className={css.detail}>
          <Countdown until={look.until} />
        </span>
      ) : (
        look.detail !== '' && <span className={css.detail}>{look.detail}</span>
      )}
    </span>
  );
}

function Handles({ exits, ends, height, still }: { exits: readonly string[]; ends: readonly string[]; height: number; still: boolean }) {
  const t = useT();
  return (
    <>
      <Handle type="target" id={ENTRY} position={Position.Left} className={cx(css.entry, still && css.still)} isConnectable={!still} />
      {exits.map((exit, slot) => (
        <Handle
          key={exit}
          type="source"
          id={exit}
          position={Position.Right}
          className={cx(css.exit, ends.includes(exit) && css.ends, still && css.still)}
          title={ends.includes(exit) ? t('canvas.ends_here', { exit }) : undefined}
          isConnectable={!still}
          style={{ top: exitOffset(exits.length, slot, height) }}
        />
      ))}
    </>
  );
}
