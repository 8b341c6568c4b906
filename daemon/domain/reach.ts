/** Who can open the payment pages, by the host of the public address. It is not tried. */

/** `computer`: this one alone. `network`: the same local network. `onion`: everybody with Tor. */
export const REACHES = ['computer', 'network', 'everybody', 'onion'] as const;
export type Reach = (typeof REACHES)[number];

const V4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Private, link-local and shared addresses: RFC 1918, 3927, 6598, 4193, 4291. */
const LOCAL_V4 =
  /^(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
const LOCAL_V6 = /^(?:f[cd]|fe[89ab])/;
/** Names that no public resolver knows: RFC 6761, 6762, 8375. */
const LOCAL_NAME = /(?:^|\.)(?:local|lan|home\.arpa|internal|test)$/;

export function reachOf(url: string): Reach {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1' || host === '0.0.0.0') return 'computer';
  if (V4.test(host)) return host.startsWith('127.') ? 'computer' : LOCAL_V4.test(host) ? 'network' : 'everybody';
  if (host.includes(':')) return LOCAL_V6.test(host) ? 'network' : 'everybody';
  if (host.endsWith('.onion')) return 'onion';
  return LOCAL_NAME.test(host) || !host.includes('.') ? 'network' : 'everybody';
}
