import { codec, param } from '../../frame/search';

export const editorSearch = codec({
  node: param.text(),
  mode: param.choice(['canvas', 'split', 'code'], 'canvas'),
  /** `RUN:STEP`: what feeds completion; `RUN`: the last visit of the selected node there. */
  data: param.text(),
  from: param.whole(1),
});
