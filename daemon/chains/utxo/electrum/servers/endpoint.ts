/** Where an Electrum server is: "ssl://host:port" or "tcp://host:port", as the configuration and the built-in lists have it. */
import { isIP } from 'node:net';
import { assert } from '../../../../domain/errors.ts';

export type Endpoint = {
  /** As it was given; what operators see. */
  name: string;
  /** IPv6 without its brackets. */
  host: string;
  port: number;
  tls: boolean;
};

/** Reads an endpoint that the configuration has checked. */
export function endpointOf(name: string): Endpoint {
  const url = new URL(name);
  assert(url.protocol === 'ssl:' || url.protocol === 'tcp:', `${name} is ssl://host:port or tcp://host:port`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { name, host, port: Number(url.port), tls: url.protocol === 'ssl:' };
}

/** Whether an endpoint is reached through the proxy: an onion service always, any other if the proxy is for all. */
export const isOnion = ({ host }: Endpoint): boolean => host.endsWith('.onion');

/** The name that a TLS server proves to have; addresses are not sent as names (RFC 6066). */
export const tlsNameOf = ({ host }: Endpoint): string | undefined => (isIP(host) === 0 ? host : undefined);
