/**
 * Checks where a notification may go. The URL comes from a shop or, through the browser API, from anybody. It must not
 * reach the appliance's own ports, its nodes, or machines in its private network (server-side request forgery).
 *
 * Invariant: connections are made only to the addresses that `checkDestination` returns.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

const URL_CHARS_MAX = 2_048;
/** The maximum of DNS (RFC 1035) and SOCKS. */
const HOST_CHARS_MAX = 253;

export type Address = { address: string; family: 4 | 6 };

/** All addresses of a name, or a rejection. The signal ends the search. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly { address: string }[]>;

/** An address of this machine, as "address/prefix length" (RFC 4291). */
type LocalAddress = string;

export type DestinationPolicy = {
  /** "host:port" of private destinations that the operator permits; IPv6 in brackets, lower case. */
  allowHosts: readonly string[];
  /** The ports that the daemon itself listens on. */
  ownPorts: readonly number[];
  /** "host:port" of the daemon's own destinations: nodes and proxies. */
  nodeHosts: readonly string[];
  /** True if the invoice came from the merchant API; only then `allowHosts` applies. */
  fromMerchant: boolean;
  /** Whether a SOCKS proxy is configured, which .onion hosts need. */
  hasProxy: boolean;
  resolve: Resolve;
  /** The addresses of this machine's interfaces with their prefixes; default: asked from the system at each call. */
  localAddresses?: readonly LocalAddress[];
};

/** `direct`: connect to one of `addresses`. `proxy`: the SOCKS proxy resolves the host. */
export type CheckedDestination =
  | { via: 'direct'; url: URL; addresses: readonly Address[] }
  | { via: 'proxy'; url: URL; addresses: readonly [] };

/** The notification must not be sent. The message is the reason, for the operator. */
export class DestinationRefused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'DestinationRefused';
  }
}

/**
 * The ranges that are not public (IANA's special-purpose registries, as ipaddr.js names them), with names for the
 * operator, and whether the allow-list can permit them. Tunnelling forms contain another address and are never needed.
 */
type Closed = { name: string; canOpen: boolean };
const CLOSED_RANGES: Readonly<Record<string, Closed>> = {
  loopback: { name: 'loopback', canOpen: true },
  private: { name: 'private', canOpen: true },
  uniqueLocal: { name: 'private', canOpen: true },
  deprecatedSiteLocal: { name: 'private', canOpen: true },
  linkLocal: { name: 'link-local', canOpen: true },
  carrierGradeNat: { name: 'carrier-grade NAT', canOpen: true },
  unspecified: { name: 'unspecified', canOpen: false },
  broadcast: { name: 'broadcast', canOpen: false },
  multicast: { name: 'multicast', canOpen: false },
  ipv4Mapped: { name: 'IPv4-mapped', canOpen: false },
  '6to4': { name: '6to4', canOpen: false },
  teredo: { name: 'Teredo', canOpen: false },
  rfc6052: { name: 'NAT64', canOpen: false },
  rfc6145: { name: 'IPv4-translated', canOpen: false },
};
const RESERVED: Closed = { name: 'reserved', canOpen: false };
const NEIGHBOUR: Closed = { name: "of this machine's own network", canOpen: true };

const IPV6_BITS = 128;
/** The prefix of a network (RFC 4291), and of a site (RFC 6177). */
const IPV6_SUBNET_BITS = 64;
const IPV6_SITE_BITS = 48;

type Ip = ipaddr.IPv4 | ipaddr.IPv6;

const isV6 = (ip: Ip): ip is ipaddr.IPv6 => ip.kind() === 'ipv6';

/** An address as printed by a URL, DNS or the system. An IPv4-mapped one stays as it is. */
function parseIp(text: string): Ip {
  // getaddrinfo prints ::7f00:1 as "::127.0.0.1", which ipaddr.js takes for the mapped form; a URL has no dots in it
  const ambiguous = text.includes(':') && text.includes('.') && !text.includes('%');
  return ipaddr.parse(ambiguous ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text);
}

/** Why an address is not public, or null. Of IPv6 only 2000::/3 is public; IANA has allocated nothing else. */
function closedRange(ip: Ip): Closed | null {
  const range = ip.range();
  if (range !== 'unicast') return CLOSED_RANGES[range] ?? RESERVED;
  if (isV6(ip) && ((ip.parts[0] ?? 0) & 0xe000) !== 0x2000) return RESERVED;
  return null;
}

/** The address without IPv4 mapping and zone, so that each has one form. */
function canonical(ip: Ip): Ip {
  if (isV6(ip) && ip.isIPv4MappedAddress()) return ip.toIPv4Address();
  return isV6(ip) ? new ipaddr.IPv6(ip.parts) : ip;
}

/** One key per destination: the three names of loopback are equal. */
function hostPortKey(host: string, port: number): string {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  const name = ipaddr.isValid(bare) ? canonical(parseIp(bare)).toString() : bare;
  return `${name === '127.0.0.1' || name === '::1' ? 'localhost' : name}:${port}`;
}

function splitHostPort(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

const interfaceAddresses = (): LocalAddress[] =>
  Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((row) => row.cidr ?? row.address));

const localIp = (row: LocalAddress): Ip | null => {
  const [address = ''] = row.split('/');
  return ipaddr.isValid(address) ? canonical(parseIp(address)) : null;
};

/** Whether a connection to the address stays on this machine. */
function isHere(ip: Ip, local: readonly LocalAddress[]): boolean {
  const plain = canonical(ip);
  const range = plain.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const text = plain.toString();
  return local.some((row) => localIp(row)?.toString() === text);
}

/**
 * Whether a global IPv6 address has a prefix of this machine's own interfaces: neighbours that a home router shields
 * although their addresses are public. A prefix shorter than a site's /48 proves nothing.
 */
function isNeighbour(ip: Ip, local: readonly LocalAddress[]): boolean {
  if (!isV6(ip)) return false;
  return local.some((row) => {
    const own = localIp(row);
    const bits = Math.min(Number(row.split('/')[1] ?? IPV6_BITS), IPV6_SUBNET_BITS);
    return own !== null && isV6(own) && bits >= IPV6_SITE_BITS && ip.match(own, bits);
  });
}

/** A version 3 onion service (rend-spec-v3), with or without subdomains. Older versions ended in 2021. */
const ONION = /^(?:[a-z0-9-]{1,63}\.){0,8}[a-z2-7]{56}\.onion$/;

/** Checks a URL's scheme, length and login. A dot at the end of its host is removed. */
function checkUrl(text: string): URL {
  if (text.length > URL_CHARS_MAX) throw new DestinationRefused(`the URL is longer than ${URL_CHARS_MAX} characters`);
  const url = URL.parse(text);
  if (!url) throw new DestinationRefused('the URL is not valid');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new DestinationRefused('the URL is neither http nor https');
  if (url.username || url.password) throw new DestinationRefused('the URL holds a login');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  const { length } = url.hostname;
  if (length === 0 || length > HOST_CHARS_MAX || url.hostname.endsWith('.'))
    throw new DestinationRefused('the URL has no valid host');
  return url;
}

async function resolveHost(host: string, resolve: Resolve, signal: AbortSignal): Promise<Ip[]> {
  const bare = host.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(bare)) return [parseIp(bare)];
  const found = await resolve(bare, signal).catch(() => []);
  const valid = found.filter((row) => ipaddr.isValid(row.address));
  if (found.length === 0 || valid.length !== found.length) throw new DestinationRefused('the host does not resolve');
  return found.map((row) => parseIp(row.address));
}

/**
 * Whether a node is at this port and host, by name, by address, or on this machine. A node configured by name is
 * compared by address only if the address is not public, because a provider's public address is often shared by
 * thousands of shops.
 */
async function isNode(
  { host, port }: { host: string; port: number },
  ips: readonly Ip[],
  policy: DestinationPolicy,
  local: readonly LocalAddress[],
  signal: AbortSignal,
): Promise<boolean> {
  const key = (ip: Ip): string => hostPortKey(ip.toString(), port);
  const literal = new Set([hostPortKey(host, port), ...ips.map(key)]);
  const closed = new Set(ips.filter((ip) => closedRange(ip) !== null || isHere(ip, local)).map(key));
  const hereToo = ips.some((ip) => isHere(ip, local));
  for (const node of policy.nodeHosts.map(splitHostPort)) {
    if (node.port !== port) continue;
    if (literal.has(hostPortKey(node.host, port))) return true;
    if (closed.size === 0 || node.host.endsWith('.onion')) continue;
    const nodeIps = await resolveHost(node.host, policy.resolve, signal).catch(() => []);
    if (nodeIps.some((ip) => closed.has(key(ip)) || (hereToo && isHere(ip, local)))) return true;
  }
  return false;
}

/**
 * Checks a destination now: its URL, and the addresses that may be connected to. Every address of the host must pass.
 * The signal ends the search. Throws `DestinationRefused`.
 */
export async function checkDestination(
  text: string,
  policy: DestinationPolicy,
  signal: AbortSignal = new AbortController().signal,
): Promise<CheckedDestination> {
  const url = checkUrl(text);
  const host = url.hostname;
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const local = policy.localAddresses ?? interfaceAddresses();
  const onion = host.endsWith('.onion') || host === 'onion';
  if (onion && !ONION.test(host)) throw new DestinationRefused('the host is not a version 3 onion service');
  if (onion && !policy.hasProxy) throw new DestinationRefused('an onion service needs webhook.socks_proxy');
  const ips = onion ? [] : await resolveHost(host, policy.resolve, signal);

  if (policy.ownPorts.includes(port) && ips.some((ip) => isHere(ip, local))) {
    throw new DestinationRefused("the target is one of the appliance's own ports");
  }
  if (await isNode({ host, port }, ips, policy, local, signal))
    throw new DestinationRefused('the target is a configured node or proxy');
  if (onion) return { via: 'proxy', url, addresses: [] };

  const opened = new Set(policy.allowHosts.map(splitHostPort).map((at) => hostPortKey(at.host, at.port)));
  for (const ip of ips) {
    const closed = closedRange(ip) ?? (isNeighbour(ip, local) ? NEIGHBOUR : null);
    checkAddress(ip, closed, host, port, opened, policy.fromMerchant);
  }
  return { via: 'direct', url, addresses: ips.map((ip) => ({ address: ip.toString(), family: isV6(ip) ? 6 : 4 })) };
}

function checkAddress(
  ip: Ip,
  closed: Closed | null,
  host: string,
  port: number,
  opened: ReadonlySet<string>,
  fromMerchant: boolean,
): void {
  if (!closed) return;
  const inner = closed === NEIGHBOUR ? closed : closedRange(canonical(ip));
  const listed = opened.has(hostPortKey(host, port)) || opened.has(hostPortKey(ip.toString(), port));
  if (listed && fromMerchant && inner?.canOpen) return;
  const why = listed && !fromMerchant ? '; webhook.allow_hosts holds for invoices of the merchant API only' : '';
  throw new DestinationRefused(`the address is ${closed.name}${why}`);
}

/**
 * Why no notification could ever be sent to a URL with the present configuration, by the URL alone; null
 * if nothing is wrong, or if a name server must be asked.
 */
export function refusalOf(text: string, policy: Pick<DestinationPolicy, 'allowHosts' | 'fromMerchant'>): string | null {
  let hint = '';
  try {
    const url = checkUrl(text);
    const bare = url.hostname.replace(/^\[|\]$/g, '');
    const literal = bare === 'localhost' || bare.endsWith('.localhost') ? '127.0.0.1' : bare;
    // a URL has every form of an address in its usual one; ipaddr.js takes a twentieth of a request to find a name to be none
    if (isIP(literal) === 0) return null;
    const ip = parseIp(literal);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const opened = new Set(policy.allowHosts.map(splitHostPort).map((at) => hostPortKey(at.host, at.port)));
    if (policy.fromMerchant && closedRange(canonical(ip))?.canOpen) {
      hint = `; webhook.allow_hosts = ["${url.hostname}:${port}"] would allow it`;
    }
    checkAddress(ip, closedRange(ip), url.hostname, port, opened, policy.fromMerchant);
    return null;
  } catch (error) {
    if (!(error instanceof DestinationRefused)) throw error;
    return `${error.message}${hint}`;
  }
}
