import { createElement, Fragment, type ReactNode } from 'react';

/** Text with `code` parts. Our own texts only; nothing else is understood. */
export function codeParts(text: string): ReactNode {
  const parts = text
    .split(/(`[^`]+`)/g)
    .map((part) => (part.startsWith('`') && part.length > 2 ? createElement('code', null, part.slice(1, -1)) : part));
  return createElement(Fragment, null, ...parts);
}
