/** The addresses by which other devices of the local network reach this machine. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** Networks of containers, virtual machines and tunnels, which no device on the shop's network is in. */
const VIRTUAL = /^(?:docker|br-|veth|virbr|vmnet|vboxnet|tun|tap|wg|tailscale|utun|zt|podman|cni)/i;
const RANGES = ['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'];

/** Whether an address is one that the internet does not route: RFC 1918, 3927, 4193, 4291, 6598. */
export const isLocalAddress = (text: string): boolean =>
  ipaddr.isValid(text) && RANGES.includes(ipaddr.process(text).range());

/**
 * Whether an address is one of the internet: none of this machine, of a network or of a tunnel. Of IPv6, IANA has allocated 2000::/3; one
 * for NAT64 (RFC 6052) is what the IPv4 address in it is.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const ip = ipaddr.process(text);
  if (ip instanceof ipaddr.IPv6 && ip.range() === 'rfc6052')
    return isPublicAddress(new ipaddr.IPv4(ip.toByteArray().slice(12)).toString());
  return ip.range() === 'unicast' && (!(ip instanceof ipaddr.IPv6) || ip.parts[0]! >> 13 === 1);
}

/** Private IPv4 addresses of this machine, those of virtual networks last. `from`: as the operating system lists them. */
export function ownAddresses(from: ReturnType<typeof networkInterfaces> = networkInterfaces()): string[] {
  const found = Object.entries(from).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ family, internal, address }) => family === 'IPv4' && !internal && isLocalAddress(address))
      .map(({ address }) => ({ address, virtual: VIRTUAL.test(name) })),
  );
  return found.sort((a, b) => Number(a.virtual) - Number(b.virtual)).map(({ address }) => address);
}
