/** The share of each address in the connections of the public server, and of each device in those of the tills. */
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Places, type Shares } from './places.ts';

/** All of them, those of proxies and of this machine included. */
export const CONNECTIONS_MAX = 5_000;
/** The others are kept for trusted proxies, and for programs of this machine: a shop's own backend. */
const STRANGERS_MAX = 4_000;
const CONNECTIONS_SHARES: Shares = [200, 400, 800];

/** Of the tills' listener. Fewer than it takes, because an ended one needs a moment to go. */
const DEVICES_MAX = 160;
const DEVICE_SHARES: Shares = [40, DEVICES_MAX, DEVICES_MAX];

/** The addresses of programs of this machine, unless they choose others of loopback. */
const OWN = ['127.0.0.1', '::1'];

const isOwn = (address: string): boolean => ipaddr.isValid(address) && OWN.includes(ipaddr.process(address).toString());

/**
 * Ends connections of an address or network above its share, and the oldest of whoever has the most when all are taken.
 * `isTrusted`: whether an address is a trusted proxy's, which has no limit.
 */
export function shareConnections(isTrusted: (address: string, hop: number) => boolean): (socket: Socket) => void {
  const strangers = new Places({ total: STRANGERS_MAX, shares: CONNECTIONS_SHARES, equals: 'oldest' });
  const own = new Places({ total: CONNECTIONS_MAX, shares: CONNECTIONS_SHARES, equals: 'newcomer' });
  return (socket) => {
    const address = socket.remoteAddress ?? '';
    if (isTrusted(address, 0)) return;
    const leave = (isOwn(address) ? own : strangers).take(address, () => socket.destroy());
    if (leave) socket.once('close', leave);
    else socket.destroy();
  };
}

/**
 * Ends connections of an address above its share, and the oldest of whichever has the most when all are taken: no device keeps the tills
 * out with one address or some. With hundreds it can still end their connections.
 */
export function shareAmongDevices(): (socket: Socket) => void {
  const devices = new Places({ total: DEVICES_MAX, shares: DEVICE_SHARES, equals: 'oldest', isLocal: true });
  return (socket) => {
    const leave = devices.take(socket.remoteAddress ?? '', () => socket.destroy());
    if (leave) socket.once('close', leave);
    else socket.destroy();
  };
}
