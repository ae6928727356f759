// The address holds the whole view: path, query and fragment. Reload, Back and a new tab show the same.
import {signal} from '@preact/signals';
import {base} from './api/client';

export interface Location {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function readLocation(): Location {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : location.pathname;
  return {path: path === '' ? '/' : path, query: new URLSearchParams(location.search), hash: location.hash.slice(1)};
}

const inBrowser = typeof location !== 'undefined';

export const here = signal<Location>(inBrowser ? readLocation() : {path: '/', query: new URLSearchParams(), hash: ''});

/** The address of a page of ours, for href. */
export function href(path: string, query?: Record<string, string | number | null | undefined>, hash = ''): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {}))
    if (value !== null && value !== undefined && value !== '') search.set(key, String(value));
  const text = prettyQuery(search);
  return base + path + (text ? `?${text}` : '') + (hash ? `#${hash}` : '');
}

// ":" and "," are allowed in a query; an address that people read and share is worth the exception.
const prettyQuery = (search: URLSearchParams): string => search.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2F', '/');

/** The same address again makes no entry in the history, as with links everywhere. */
export function go(address: string, how: 'push' | 'replace' = 'push'): void {
  rememberScroll();
  const isNew = new URL(address, location.href).href !== location.href;
  if (how === 'push' && isNew) history.pushState({}, '', address);
  else history.replaceState(history.state, '', address);
  here.value = readLocation();
}

/** Changes some parameters of this page; null and "" remove one. */
export function setQuery(changes: Record<string, string | number | null | undefined>, how: 'push' | 'replace' = 'replace'): void {
  const query = new URLSearchParams(here.value.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(key);
    else query.set(key, String(value));
  }
  const text = prettyQuery(query);
  go(base + here.value.path + (text ? `?${text}` : '') + (here.value.hash ? `#${here.value.hash}` : ''), how);
}

export function setHash(hash: string): void {
  go(location.pathname + location.search + (hash ? `#${hash}` : ''), 'replace');
}

// Lists report where they are scrolled to; it is kept with the entry of the history, so that Back returns there.
const scrollers = new Map<string, () => number>();

export function keepScroll(name: string, read: () => number): () => void {
  scrollers.set(name, read);
  return () => scrollers.delete(name);
}

export const scrollOf = (name: string): number => ((history.state as {scroll?: Record<string, number>} | null)?.scroll?.[name]) ?? 0;

function rememberScroll(): void {
  if (!scrollers.size) return;
  const scroll: Record<string, number> = {};
  for (const [name, read] of scrollers) scroll[name] = read();
  history.replaceState({...(history.state as object | null), scroll}, '');
}

// Ordinary clicks on links to our pages stay in the page; with a modifier they open a tab, as everywhere.
function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  const path = link.pathname;
  if (!path.startsWith(base + '/') || path.startsWith(base + '/v1/') || path.startsWith(base + '/assets/')) return;
  event.preventDefault();
  go(path + link.search + link.hash);
}

export function startRouter(): void {
  history.scrollRestoration = 'manual';
  window.addEventListener('popstate', () => (here.value = readLocation()));
  window.addEventListener('hashchange', () => (here.value = readLocation()));
  window.addEventListener('pagehide', rememberScroll);
  document.addEventListener('click', onClick);
}

/** Matches "/tasks/:id" against a path; null if it does not, else the named parts. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (wanted.length !== given.length) return null;
  const parts: Record<string, string> = {};
  for (let at = 0; at < wanted.length; at++) {
    const part = wanted[at]!;
    let value: string;
    try {
      value = decodeURIComponent(given[at]!);
    } catch {
      return null;
    }
    if (part.startsWith(':')) parts[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return parts;
}
