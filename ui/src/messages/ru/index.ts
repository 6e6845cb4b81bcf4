import { canvas } from './canvas';
import { common } from './common';
import { compare } from './compare';
import { editor } from './editor';
import { engine } from './engine';
import { errors } from './errors';
import { fields } from './fields';
import { frame } from './frame';
import { input } from './input';
import { keys } from './keys';
import { letters } from './letters';
import { login } from './login';
import { nodes } from './nodes';
import { operations } from './operations';
import { overview } from './overview';
import { run } from './run';
import { runs } from './runs';
import { schedules } from './schedules';
import { schemas } from './schemas';
import { settings } from './settings';
import { versions } from './versions';

export const ru = {
  common,
  frame,
  errors,
  engine,
  fields,
  overview,
  runs,
  input,
  run,
  canvas,
  nodes,
  compare,
  schemas,
  editor,
  versions,
  schedules,
  letters,
  operations,
  keys,
  settings,
  login,
};
