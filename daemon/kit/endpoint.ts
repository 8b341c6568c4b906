/** Whether `value` is scheme://host:port and nothing else. `schemes` have no colon. */
export function isEndpoint(value: string, schemes: readonly string[]): boolean {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!url || !schemes.includes(url.protocol.slice(0, -1)) || !url.hostname || !Number(url.port)) return false;
  return value === `${url.protocol}//${url.host}` && !url.username && !url.password;
}

/** A SOCKS5 proxy without login. The two schemes mean the same in this program: the proxy resolves the names. */
export const isSocksProxy = (value: string): boolean => isEndpoint(value, ['socks5', 'socks5h']);

/** Whether a host, with or without its port, is an onion service. A dot at its end is the root of names, and reaches the same. */
export const isOnionHost = (host: string): boolean => /\.onion\.?(?::\d+)?$/i.test(host);
