import { translateNow } from '../messages';
import { toast } from './toasts';

/** Puts a text on the clipboard and says so. */
export async function copyText(text: string): Promise<void> {
  try {
    await write(text);
    toast({ text: translateNow()('common.copied') });
  } catch {
    toast({ tone: 'bad', text: translateNow()('common.copy_failed') });
  }
}

async function write(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http on a network name has no clipboard API.
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'sr';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('copy refused');
}

/** A payload as a file; `text/plain`, so that nothing in it can run. */
export function download(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
