/** The addresses of the desktop program's pages: each is about this computer's service, or about a server that this computer signs for. */

const SERVER_QUERY = 'server';

/** The server that a page is about, by the query of its address; null: this computer. */
export const serverIn = (query: string): string | null => new URLSearchParams(query).get(SERVER_QUERY);

/** The address of a screen, beside any other page. `place`: its name and parts. */
export const pageOf = (server: string | null, place: string): string =>
  `index.html${server === null ? '' : `?${SERVER_QUERY}=${encodeURIComponent(server)}`}#/${place}`;
