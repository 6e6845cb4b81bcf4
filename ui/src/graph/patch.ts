/** Canvas gestures and form edits are patches of one text. */
export {
  type Patch,
  type Path,
  type Reading,
  readValue,
  type SchemaDefinition,
  SchemaText,
  type TextProblem,
  writeDefinition,
  writeValue,
} from './document';
export * from './gestures';
