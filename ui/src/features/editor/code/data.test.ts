import { expect, test } from 'vitest';
import type { Execution } from '../../../api/model';
import type { Outline } from '../../../api/outline';
import { chosenOf, newestOf, visitOf } from './data';

const run = (id: string, trial = false) => ({ id, trial }) as Execution;

test('test runs and real runs stand in one list, newest first, none twice', () => {
  const runs = newestOf([run('01c'), run('01a'), run('01d', true), run('01b', true), run('01c')]);
  expect(runs.map((one) => one.id)).toEqual(['01d', '01c', '01b', '01a']);
});

const page = (from: number, ids: string[], node: number[]) => ({ from, nodes: ids.map((id) => ({ id, type: 'log' })), node }) as Outline;
/** Steps 1 to 7: a b a c | b a c; the tables of the pages are their own. */
const PAGES = [page(1, ['a', 'b', 'c'], [0, 1, 0, 2]), page(5, ['b', 'a', 'c'], [0, 1, 2])];

test('the data of a node are those of its last visit, or of the next one after a chosen step', () => {
  expect(visitOf(PAGES, 'a', null)).toBe(6);
  expect(visitOf(PAGES, 'a', 1)).toBe(3);
  expect(visitOf(PAGES, 'c', 4)).toBe(7);
  expect(visitOf(PAGES, 'b', 7)).toBe(5);
  expect(visitOf(PAGES, 'nowhere', null)).toBeNull();
});

test('an address names a run, or a run and a step', () => {
  expect(chosenOf('')).toBeNull();
  expect(chosenOf('01a')).toEqual({ execution: '01a', seq: null });
  expect(chosenOf('01a:0')).toEqual({ execution: '01a', seq: 0 });
  expect(chosenOf('01a:x')).toEqual({ execution: '01a', seq: null });
});
