import { messages } from '../define';

export const versions = messages({
  title: 'Changes',
  from: 'From version',
  to: 'To version',
  swap: 'Swap',
  text_from: 'Text of the version compared from',
  text_to: 'Text of the version compared to',
  view: 'View',
  view_picture: 'Picture',
  view_text: 'Text',
  open: 'Open v{version}',
  unreadable: 'One of the texts cannot be read; see them as text.',
  same: 'Both are the same.',
  same_meaning: 'Only text and comments differ; runs do the same.',
  changes: 'What changed',
  unchanged: '$ unchanged lines',
  side_by_side: 'Side by side',
});
