/**
 * The address of an Electrum server, "ssl://host:port" or "tcp://host:port", and who runs it.
 *
 * Source of the registrable domains: the Public Suffix List with its private section, so that each customer of a dynamic
 * DNS service counts as an operator.
 */
import { isIP } from 'node:net';
import { getDomain } from 'tldts';
import { assert } from '../../../../domain/errors.ts';
import { isOnionHost } from '../../../../kit/endpoint.ts';

export type Endpoint = {
  /** As configured; shown to operators. */
  name: string;
  /** IPv6 without brackets. */
  host: string;
  port: number;
  tls: boolean;
};

/** Parses an endpoint that the configuration has checked. */
export function endpointOf(name: string): Endpoint {
  const url = new URL(name);
  assert(url.protocol === 'ssl:' || url.protocol === 'tcp:', `${name} is ssl://host:port or tcp://host:port`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { name, host, port: Number(url.port), tls: url.protocol === 'ssl:' };
}

/** Onion services are always reached through the proxy, other servers only if it is for all. */
export const isOnion = ({ host }: Endpoint): boolean => isOnionHost(host);

/** The name for TLS. Addresses are not sent as names (RFC 6066). */
export const tlsNameOf = ({ host }: Endpoint): string | undefined => (isIP(host) === 0 ? host : undefined);

/** Operators that have several domains. Servers whose names leave it in doubt are listed as one operator's. */
const OPERATORS: Readonly<Record<string, string>> = {
  'greyh.at': 'grey',
  'grey.pw': 'grey',
};

/** Two servers of one operator count as one opinion. An IP address is an operator of its own. */
export function operatorOf({ host }: Pick<Endpoint, 'host'>): string {
  const domain = getDomain(host, { allowPrivateDomains: true }) ?? host.toLowerCase();
  return OPERATORS[domain] ?? domain;
}
