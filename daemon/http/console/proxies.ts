/** Proxies that the operator trusts, and the device that asks through them. */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

/** Whether an address is one of these addresses and ranges. */
export function isTrusted(trusted: readonly string[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const peer = ipaddr.process(address);
  return trusted.some((range) => {
    const [base, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.process(range), null];
    if (base.kind() !== peer.kind()) return false;
    return bits === null ? base.toString() === peer.toString() : peer.match(base, bits);
  });
}

/** The address of who asks: what trusted proxies say, from the nearest one on, up to the first that is none of them. */
export function askerOf({ socket, headers }: IncomingMessage, trusted: readonly string[]): string {
  const said = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  let asker = socket.remoteAddress ?? '';
  while (isTrusted(trusted, asker)) {
    const next = said.pop()?.trim() ?? '';
    if (!ipaddr.isValid(next)) break;
    asker = next;
  }
  return asker;
}
