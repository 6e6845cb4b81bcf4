import type { Russian } from '../define';
import type { input as en } from '../en/input';

export const input: Russian<typeof en> = {
  title: 'Вход',
  form: 'Форма',
  form_hint: 'Значения в виде JSON (1001, true, [1, 2]) передаются как есть, остальное — как текст. Пустые поля не передаются.',
  form_left_out: 'Пустые поля не передаются.',
  last: 'Взять вход последнего запуска',
  none: 'Выражения этой схемы не читают полей входа.',
  standard: '{value}, если пусто',
  required: 'обязательно',
  not_set: '(не передаётся)',
  not_whole: 'Здесь нужно целое число.',
  not_number: 'Здесь нужно число.',
  not_text: 'Здесь нужен текст, а не другое значение.',
  not_choice: 'Такого значения среди допустимых нет.',
  refused: 'Вход не подходит к схеме: смотрите поля.',
};
