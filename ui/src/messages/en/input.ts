import { messages } from '../define';

/** The form for the input of a start. */
export const input = messages({
  title: 'Input',
  form: 'Form',
  form_hint: 'Values that are JSON (1001, true, [1, 2]) are sent as such, everything else as text. Empty fields are left out.',
  form_left_out: 'Empty fields are left out.',
  last: 'Take the input of the last run',
  none: 'No expression of this schema reads a field of the input.',
  standard: '{value} if empty',
  required: 'required',
  not_set: '(left out)',
  not_whole: 'A whole number is needed here.',
  not_number: 'A number is needed here.',
  not_text: 'A text is needed here, not another value.',
  not_choice: 'This is none of the values that are possible here.',
  refused: 'The input does not fit the schema: see the fields.',
});
