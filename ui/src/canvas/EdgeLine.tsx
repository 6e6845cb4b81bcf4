import type { EdgeProps } from '@xyflow/react';
import { memo, useMemo } from 'react';
import { ERROR } from '../graph/model';
import { edgePath, labelAt } from '../graph/path';
import { cx } from '../ui/cx';
import css from './EdgeLine.module.css';
import type { LineEdge } from './flow';
import { useEdgeLook } from './looks';

/** 1.5 to 4 px: each doubling of the walks is as visible as the one before. */
export const walkedWidth = (count: number) => Math.min(4, 1.5 + Math.log2(Math.max(1, count)) * 0.45);

const SIDES = { left: css.left, right: css.right, both: css.both };

export const EdgeLine = memo(function EdgeLine({ data, sourceX, sourceY, targetX, targetY, selected }: EdgeProps<LineEdge>) {
  if (data === undefined) return null;
  return <Line data={data} sourceX={sourceX} sourceY={sourceY} targetX={targetX} targetY={targetY} selected={selected === true} />;
});

interface LineProps {
  data: NonNullable<LineEdge['data']>;
  sourceX: number;
  sourceY: number;
  targetX: number;
  targetY: number;
  selected: boolean;
}

function Line({ data, sourceX, sourceY, targetX, targetY, selected }: LineProps) {
  const look = useEdgeLook(data.looks, data.edge.index);
  const from = useMemo(() => ({ x: sourceX, y: sourceY }), [sourceX, sourceY]);
  const path = useMemo(() => {
    const to = { x: targetX, y: targetY };
    const still = near(from, data.from) && near(to, data.to);
    return still ? edgePath(data.from, data.route, data.to, data.back) : edgePath(from, [], to, to.x < from.x);
  }, [data, from, targetX, targetY]);
  const walked = look.count > 0;
  const isError = data.edge.exit === ERROR;
  const label = labelAt(from);
  const name = cx(
    css.line,
    walked && css.walked,
    look.now && css.now,
    isError && css.error,
    selected && css.selected,
    look.side !== null && SIDES[look.side],
  );
  const width = walked ? walkedWidth(look.count) : 1;
  return (
    <g className={name}>
      <path d={path} className={css.reach} />
      <path d={path} className={css.path} style={{ strokeWidth: width }} />
      {look.now && <path d={path} className={css.flow} style={{ strokeWidth: width }} />}
      <path d={arrow(targetX, targetY)} className={css.head} />
      {data.label !== '' && (
        <text x={label.x} y={label.y} className={css.label}>
          {data.label}
          {look.count > 1 && <tspan className={css.count}> ×{look.count}</tspan>}
        </text>
      )}
    </g>
  );
}

const near = (a: { x: number; y: number }, b: { x: number; y: number }) => Math.abs(a.x - b.x) < 3 && Math.abs(a.y - b.y) < 3;
const arrow = (x: number, y: number) => `M${x - 7},${y - 4}L${x},${y}L${x - 7},${y + 4}z`;
