import type { Russian } from '../define';
import type { errors as en } from '../en/errors';

export const errors: Russian<typeof en> = {
  copy_details: 'Копировать подробности',
  NETWORK: 'Сервер не отвечает',
  NOT_FOUND: 'Этого нет',
  UNAUTHORIZED: 'Вход не выполнен',
  FORBIDDEN: 'Недостаточно прав',
  CONFLICT: 'Текущее состояние этого не допускает',
  PRECONDITION_FAILED: 'За это время всё изменилось',
  INTERNAL: 'Ошибка на сервере',
  UNAVAILABLE: 'Сервер не готов',
  UI_ERROR: 'Ошибка на странице',
};
