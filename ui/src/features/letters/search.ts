import { codec, param } from '../../frame/search';

export const lettersSearch = codec({
  open: param.choice(['true', 'false', 'all'], 'true'),
  reason: param.text(),
  order: param.choice(['newest', 'oldest'], 'newest'),
});
