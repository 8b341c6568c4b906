/** A router in the address's fragment, so that the pages need no server that knows their names. */
import { useSyncExternalStore } from 'react';

/** `parts`: the path's segments after the screen's name. */
export type HashRoute = { screen: string; parts: string[]; query: URLSearchParams };

function hashRouteOf(hash: string): HashRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [screen = '', ...parts] = path.split('/').map(decode);
  return { screen, parts, query: new URLSearchParams(query) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a route: `href('invoices', slug)`. */
export const href = (screen: string, ...parts: string[]): string =>
  `#/${[screen, ...parts].map(encodeURIComponent).join('/')}`;

/** The same with the query of the present address: a filter or a search stays. */
export function hrefBeside(...path: Parameters<typeof href>): string {
  const query = current().query.toString();
  return `${href(...path)}${query === '' ? '' : `?${query}`}`;
}

export function go(to: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, '', to);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else location.hash = to;
}

let known = { hash: '', route: hashRouteOf('') };

/** The route of the address now, which a component may not have rendered yet. */
export function current(): HashRoute {
  if (known.hash !== location.hash) known = { hash: location.hash, route: hashRouteOf(location.hash) };
  return known.route;
}

const listen = (changed: () => void): (() => void) => {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
};

export const useHashRoute = (): HashRoute => useSyncExternalStore(listen, current);
