/** Addresses: going there, linking there, reading the parameters of the page. */
import { useParams, useRouterState } from '@tanstack/react-router';
import { type AnchorHTMLAttributes, createContext, type MouseEvent, type Ref, useCallback, useContext, useMemo } from 'react';
import { type Codec, parseSearch } from './search';

interface History {
  push: (href: string) => void;
  replace: (href: string) => void;
  back: () => void;
  location: { pathname: string; search: string };
}

let history: History | null = null;
let prefetch: (href: string) => void = () => undefined;

/** Called once by `main.tsx`. */
export function connect(given: History, prefetchPage: (href: string) => void): void {
  history = given;
  prefetch = prefetchPage;
}

/** Goes to an address of Pawl: `go('/runs?status=failed')`. */
export function go(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history?.replace(href);
  else history?.push(href);
}

/** Where the page is, also right after `go`: the browser's own address follows a moment later. */
export function here(): { pathname: string; search: string } {
  return history?.location ?? window.location;
}

export function goBack(): void {
  history?.back();
}

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { href: string; replace?: boolean; ref?: Ref<HTMLAnchorElement> };

/** A link inside Pawl; loads the page's code when the pointer comes near. Other clicks (new tab) stay the browser's. */
export function Link({ href, replace, onClick, ...rest }: LinkProps) {
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href, { replace });
  };
  return <a {...rest} href={href} onClick={click} onPointerEnter={() => prefetch(href)} onFocus={() => prefetch(href)} />;
}

/** Which addresses belong to the screen around: one that is being left must not write its parameters to the next one's address. */
export const ScreenPath = createContext<RegExp | null>(null);

export type SetSearch<S> = (change: Partial<S>, options?: { replace?: boolean }) => void;

/** The parameters of the page, and a way to change some of them. `replace` writes over the history entry: for dragging and typing. */
export function useSearch<S>(codec: Codec<S>): [S, SetSearch<S>] {
  const text = useRouterState({ select: (state) => state.location.searchStr });
  const value = useMemo(() => codec.read(parseSearch(text)).value, [codec, text]);
  const screen = useContext(ScreenPath);
  const set = useCallback<SetSearch<S>>(
    (change, options) => {
      // Read again: two changes in one turn must not undo each other.
      const { pathname, search } = here();
      if (screen !== null && !screen.test(pathname)) return;
      const { value: now } = codec.read(parseSearch(search));
      go(`${pathname}${codec.write({ ...now, ...change })}`, options);
    },
    [codec, screen],
  );
  return [value, set];
}

/** A part of the path: `useParam('id')`. */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as { [name: string]: string | undefined };
  return params[name] ?? '';
}

export function usePathname(): string {
  return useRouterState({ select: (state) => state.location.pathname });
}
