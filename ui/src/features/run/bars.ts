/** One row of the timeline: visits as bars. What a zoom leaves outside is not drawn. */
import type { Palette } from '../../canvas/palette';
import type { Scale } from '../../graph/scale';
import type { Scrub, StepLine } from '../../graph/scrub';
import { isWait } from './track';

const HIGH = 12;

export function drawBars(
  context: CanvasRenderingContext2D,
  scrub: Scrub,
  visits: readonly number[],
  scale: Scale,
  width: number,
  height: number,
  colors: Palette,
  entered: number | null,
) {
  const top = (height - HIGH) / 2;
  context.fillStyle = colors.line;
  context.globalAlpha = 0.5;
  for (const fold of scale.folds) context.fillRect(fold.from * width, 0, (fold.to - fold.from) * width, height);
  context.globalAlpha = 1;
  let last = -10;
  for (const visit of visits) {
    const step = scrub.step(visit) as StepLine;
    const from = scale.at(step.start) * width;
    const to = scale.at(step.start + step.duration) * width;
    if (to < 0 || from > width) continue;
    // Many short visits share a pixel; a failed one is always drawn.
    if (to - last < 0.8 && step.status !== 'failed') continue;
    last = to;
    drawBar(context, step, from, Math.max(2.5, to - from), top, colors);
  }
  if (entered !== null) hatch(context, scale.at(entered) * width, top, width, colors);
}

function drawBar(context: CanvasRenderingContext2D, step: StepLine, x: number, width: number, top: number, colors: Palette) {
  context.globalAlpha = step.inherited ? 0.45 : 1;
  if (isWait(step) && step.status !== 'failed' && width > 6) {
    striped(context, x, top, width, colors.info);
  } else {
    context.fillStyle =
      step.status === 'failed' ? colors.bad : step.status === 'skipped' ? colors.edge : isWait(step) ? colors.info : colors.accent;
    context.beginPath();
    context.roundRect(x, top, width, HIGH, Math.min(2, width / 2));
    context.fill();
  }
  if (step.tries > 1 && width > 4) notches(context, step.tries, x, top, width, colors);
  context.globalAlpha = 1;
}

/** A wait: outlined and hatched, so that it is not taken for work. */
function striped(context: CanvasRenderingContext2D, x: number, top: number, width: number, color: string) {
  context.save();
  context.beginPath();
  context.roundRect(x + 0.5, top + 0.5, width - 1, HIGH - 1, 2);
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.stroke();
  context.clip();
  context.globalAlpha *= 0.55;
  context.beginPath();
  for (let at = x - HIGH; at < x + width; at += 5) {
    context.moveTo(at, top + HIGH);
    context.lineTo(at + HIGH, top);
  }
  context.stroke();
  context.restore();
}

function notches(context: CanvasRenderingContext2D, tries: number, x: number, top: number, width: number, colors: Palette) {
  context.fillStyle = colors.sheet;
  for (let at = 1; at < Math.min(tries, width / 3); at++) context.fillRect(x + (width * at) / tries, top, 1.5, HIGH);
}

/** The visit that is not over yet. */
function hatch(context: CanvasRenderingContext2D, from: number, top: number, width: number, colors: Palette) {
  const x = Math.min(from, width - 10);
  striped(context, x, top, Math.max(8, width - x), colors.accent);
}
