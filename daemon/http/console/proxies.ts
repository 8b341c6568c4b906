/** Proxies that the operator trusts, and the device that asks through them: read as Express reads them for the payment page. */
import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** Whether an address is a trusted proxy's. */
export type Trust = (address: string, hop: number) => boolean;

/** `trusted`: addresses and ranges. */
export const trustIn = (trusted: readonly string[]): Trust => proxyAddr.compile([...trusted]);

/**
 * The address of who asks: what trusted proxies say, from the nearest one on, up to the first that is none of them. Any text, if a
 * trusted one passes that on; empty where the connection is gone, and its address with it.
 */
export const askerOf = (request: IncomingMessage, trust: Trust): string => proxyAddr(request, trust) ?? '';
