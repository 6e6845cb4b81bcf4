/** From a pressed key to a command. */
import { useEffect } from 'react';
import { allCommands, type Command } from './commands';
import { usePreferences } from './preferences';

/** As commands write it: `Ctrl+K`, `Shift+N`, `x`, `?`, `ArrowLeft`. Letters do not depend on the keyboard layout: Russian letters count by place. */
export function keyName(event: Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>): string {
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  const isLatin = /^[A-Za-z]$/.test(event.key);
  const base = letter && !isLatin ? letter.toLowerCase() : isLatin ? event.key.toLowerCase() : event.key === ' ' ? 'Space' : event.key;
  const named = base.length > 1 || letter !== undefined || isLatin;
  const shift = event.shiftKey && named ? 'Shift+' : '';
  const upper = base.length === 1 && (event.ctrlKey || event.metaKey || event.altKey || shift) ? base.toUpperCase() : base;
  return `${event.ctrlKey || event.metaKey ? 'Ctrl+' : ''}${event.altKey ? 'Alt+' : ''}${shift}${upper}`;
}

const SEQUENCE_MS = 1200;

/** Which command a key means after the keys before it; or that more keys may follow. */
export function match(commands: readonly Command[], before: string, key: string): { command?: Command; waiting: boolean } {
  const typed = before ? `${before} ${key}` : key;
  const keysOf = (command: Command) => command.keys?.split('|').map((one) => one.trim()) ?? [];
  // Later owners (the page) win over earlier ones (the frame).
  const command = [...commands].reverse().find((one) => keysOf(one).includes(typed));
  if (command) return { command, waiting: false };
  if (before) return match(commands, '', key);
  return { waiting: commands.some((one) => keysOf(one).some((keys) => keys.startsWith(`${typed} `))) };
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target as HTMLInputElement).matches('[type=checkbox],[type=radio]')
  );
}

/** Keys of controls stay theirs: Space on a button, arrows in a menu. */
function belongsToControl(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof Element)) return false;
  if (event.key === 'Enter' || event.key === ' ')
    return target.closest('a,button,summary,[role=menuitem],[role=option],[role=tab]') !== null;
  return (
    event.key.startsWith('Arrow') && target.closest('[role=menu],[role=tablist],[role=listbox],[role=tree],[role=radiogroup]') !== null
  );
}

/** Once, in the frame. */
export function useKeys(): void {
  useEffect(() => {
    let before = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || ['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return;
      const key = keyName(event);
      const typing = isTyping(event.target);
      const single = !key.startsWith('Ctrl+') && !key.startsWith('Alt+') && !/^(F\d+|Escape)$/.test(key);
      if (single && (typing || belongsToControl(event))) return;
      if (single && /^(Shift\+)?.$/.test(key) && !usePreferences.getState().letterKeys) return;
      const { command, waiting } = match(allCommands(), before, key);
      clearTimeout(timer);
      before = waiting ? key : '';
      if (waiting) timer = setTimeout(() => (before = ''), SEQUENCE_MS);
      const covered = document.querySelector('[role=dialog]:not([hidden])') !== null;
      if (!command || ((typing || covered) && !command.everywhere) || command.disabledReason) return;
      event.preventDefault();
      command.act();
    };
    addEventListener('keydown', press);
    return () => {
      removeEventListener('keydown', press);
      clearTimeout(timer);
    };
  }, []);
}

const MAC = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent);
const SHOWN: Record<string, string> = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', Escape: 'Esc' };

/** For people: `Ctrl K`, `g r`. */
export function shownKeys(keys: string): string {
  const first = keys.split('|')[0]?.trim() ?? '';
  return first
    .split(' ')
    .map((chord) =>
      chord
        .split('+')
        .map((part) => (part === 'Ctrl' && MAC ? '⌘' : (SHOWN[part] ?? part)))
        .join(' '),
    )
    .join(' ');
}
