import type { Russian } from '../define';
import type { canvas as en } from '../en/canvas';

export const canvas: Russian<typeof en> = {
  role: 'граф узлов',
  keys: 'Стрелки ведут вдоль рёбер, Enter открывает узел, плюс и минус меняют масштаб, 0 показывает всё. Те же узлы есть списком.',
  not_reached: 'не достигнут',
  visits: { one: '{n} заход', few: '{n} захода', many: '{n} заходов', other: '{n} захода' },
  at: 'момент стоит здесь',
  next: 'следующий',
  loop: 'путь ведёт к нему назад',
  again: 'уже есть в списке',
  breakpoint: 'точка останова',
  entry: 'запуск может начаться здесь',
  pinned: 'результат закреплён для пробных запусков',
  ends_here: '{exit}: конец',
  problem_error: 'есть ошибки',
  problem_warning: 'есть предупреждения',
  first_difference: 'первое расхождение',
  zoom_in: 'Крупнее',
  zoom_out: 'Мельче',
  fit: 'Показать всё',
  gutter: 'Точка останова перед {node}',
  view_canvas: 'Картинкой',
  view_outline: 'Списком',
};
