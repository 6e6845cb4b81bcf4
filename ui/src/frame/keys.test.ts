import { describe, expect, it } from 'vitest';
import type { Command } from './commands';
import { keyName, match, shownKeys } from './keys';
import { rank } from './places';
import { safeNext } from './session';

const key = (given: Partial<KeyboardEvent>) =>
  keyName({ key: '', code: '', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...given });
const command = (id: string, keys: string): Command => ({ id, keys, name: id, group: 'page', act: () => undefined });

describe('keys', () => {
  it('have one name, whatever the layout', () => {
    expect(key({ key: 'k', code: 'KeyK', ctrlKey: true })).toBe('Ctrl+K');
    expect(key({ key: 'k', code: 'KeyK', metaKey: true })).toBe('Ctrl+K');
    expect(key({ key: 'л', code: 'KeyK' })).toBe('k');
    expect(key({ key: 'N', code: 'KeyN', shiftKey: true })).toBe('Shift+N');
    expect(key({ key: 'Т', code: 'KeyN', shiftKey: true })).toBe('Shift+N');
    expect(key({ key: '?', code: 'Slash', shiftKey: true })).toBe('?');
    expect(key({ key: ' ', code: 'Space' })).toBe('Space');
    expect(key({ key: 'ArrowLeft', code: 'ArrowLeft', shiftKey: true })).toBe('Shift+ArrowLeft');
  });
  it('find their command, also after a first key', () => {
    const table = [command('runs', 'g r'), command('new', 'n'), command('peek', 'Space|e')];
    expect(match(table, '', 'g')).toEqual({ waiting: true });
    expect(match(table, 'g', 'r').command?.id).toBe('runs');
    expect(match(table, 'g', 'n').command?.id).toBe('new');
    expect(match(table, '', 'e').command?.id).toBe('peek');
    expect(match(table, '', 'z')).toEqual({ waiting: false });
  });
  it('of the page win over keys of the frame', () =>
    expect(match([command('frame', 'f'), command('page', 'f')], '', 'f').command?.id).toBe('page'));
  it('are shown as people press them', () => expect(['g r', 'Ctrl+K', 'ArrowLeft|x'].map(shownKeys)).toEqual(['g r', 'Ctrl K', '←']));
});

describe('the palette', () => {
  it('puts beginnings before middles before scattered letters', () => {
    expect(rank(['my-order', 'xorder', 'order-check', 'our dear', 'none'], 'order', (text) => text)).toEqual([
      'order-check',
      'my-order',
      'xorder',
      'our dear',
    ]);
  });
});

describe('after the login', () => {
  it.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', '', 'runs'])(
    '%s is not where it goes',
    (next) => expect(safeNext(next)).toBe('/'),
  );
  it('own paths are', () => expect(safeNext('/runs?status=failed')).toBe('/runs?status=failed'));
});
