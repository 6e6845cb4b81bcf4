/** The line of an edge: bends only between the columns, so that it never runs through a card. */
import type { Point } from './layout';

const BEND = 0.5;

/** An SVG path from an exit over the points of its route to an entry. */
export function edgePath(from: Point, route: readonly Point[], to: Point, back: boolean): string {
  return back ? backPath(from, route, to) : forwardPath([from, ...route, to]);
}

function forwardPath(points: readonly Point[]): string {
  const first = points[0] as Point;
  let path = `M${first.x},${first.y}`;
  for (let at = 1; at < points.length; at++) {
    const a = points[at - 1] as Point;
    const b = points[at] as Point;
    if (a.y === b.y) path += `L${b.x},${b.y}`;
    else path += bend(a, b);
  }
  return path;
}

function bend(a: Point, b: Point): string {
  const reach = Math.max(24, Math.abs(b.x - a.x) * BEND);
  return `C${a.x + reach},${a.y} ${b.x - reach},${b.y} ${b.x},${b.y}`;
}

/** Round the source's right side, along its lane to the left, and round the target's left side. */
function backPath(from: Point, route: readonly Point[], to: Point): string {
  const lane =
    route.length > 0
      ? route
      : [
          { x: from.x, y: Math.max(from.y, to.y) + 64 },
          { x: to.x, y: Math.max(from.y, to.y) + 64 },
        ];
  const first = lane[0] as Point;
  const last = lane[lane.length - 1] as Point;
  let path = `M${from.x},${from.y}C${from.x + 36},${from.y} ${first.x + 36},${first.y} ${first.x},${first.y}`;
  for (let at = 1; at < lane.length; at++) {
    const a = lane[at - 1] as Point;
    const b = lane[at] as Point;
    const reach = Math.abs(b.x - a.x) * BEND;
    path += a.y === b.y ? `L${b.x},${b.y}` : `C${a.x - reach},${a.y} ${b.x + reach},${b.y} ${b.x},${b.y}`;
  }
  return `${path}C${last.x - 36},${last.y} ${to.x - 36},${to.y} ${to.x},${to.y}`;
}

/** Where the name of an exit is written: beside the exit, over the line. */
export function labelAt(from: Point): Point {
  return { x: from.x + 8, y: from.y - 5 };
}
