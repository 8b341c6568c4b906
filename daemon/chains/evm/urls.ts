/** Sorts an operator's list of endpoints: those that are asked, and WebSockets, which only give hints. */

/** A URL with ws: or wss:. */
export type SocketUrl = string & { readonly socket: unique symbol };

const isSocket = (url: string): url is SocketUrl => /^wss?:/i.test(url);

export function sortedUrls(urls: readonly string[]): { asked: string[]; sockets: SocketUrl[] } {
  return { asked: urls.filter((url) => !isSocket(url)), sockets: urls.filter(isSocket) };
}
