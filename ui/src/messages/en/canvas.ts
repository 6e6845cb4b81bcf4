import { messages } from '../define';

export const canvas = messages({
  role: 'graph of nodes',
  keys: 'Arrow keys walk along the edges, Enter opens a node, plus and minus zoom, 0 shows everything. The outline view lists the same nodes.',
  not_reached: 'not reached',
  visits: { one: '{n} visit', other: '{n} visits' },
  at: 'the moment stands here',
  next: 'comes next',
  loop: 'the way leads back to it',
  again: 'is listed elsewhere',
  breakpoint: 'breakpoint',
  entry: 'runs can start here',
  pinned: 'output pinned for test runs',
  ends_here: '{exit}: ends here',
  problem_error: 'has errors',
  problem_warning: 'has warnings',
  first_difference: 'first difference',
  zoom_in: 'Zoom in',
  zoom_out: 'Zoom out',
  fit: 'Show everything',
  view_canvas: 'As a picture',
  view_outline: 'As a list',
});
