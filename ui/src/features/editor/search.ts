import { codec, param } from '../../frame/search';

export const editorSearch = codec({
  node: param.text(),
  mode: param.choice(['canvas', 'split', 'code'], 'canvas'),
  /** `RUN:STEP`: what feeds completion; `RUN`: the last visit of the selected node there. */
  data: param.text(),
  /** The graph as a picture or as a list; unsaid, it goes by the room there is. */
  view: param.choice(['', 'canvas', 'outline'], ''),
  from: param.whole(1),
});
