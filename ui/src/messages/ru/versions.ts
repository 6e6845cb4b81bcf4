import type { Russian } from '../define';
import type { versions as en } from '../en/versions';

export const versions: Russian<typeof en> = {
  title: 'Изменения',
  from: 'От версии',
  to: 'К версии',
  swap: 'Поменять местами',
  text_from: 'Текст исходной версии',
  text_to: 'Текст новой версии',
  view: 'Вид',
  view_picture: 'Картинка',
  view_text: 'Текст',
  open: 'Открыть v{version}',
  unreadable: 'Один из текстов не читается; смотрите их как текст.',
  same: 'Они одинаковы.',
  same_meaning: 'Отличаются только текст и комментарии; запуски делают то же.',
  changes: 'Что изменилось',
  unchanged: 'без изменений: $',
  side_by_side: 'Рядом',
};
