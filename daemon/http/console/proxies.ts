/** Proxies that the operator trusts, and the device that asks through them: read as Express reads them for the payment page. */
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';

/** Whether an address is a trusted proxy's. */
export type Trust = (address: string, hop: number) => boolean;
// it has no types
const proxyAddr = createRequire(import.meta.url)('proxy-addr') as {
  (request: IncomingMessage, trust: Trust): string | undefined;
  compile(trusted: readonly string[]): Trust;
};

/** `trusted`: addresses and ranges. */
export const trustIn = (trusted: readonly string[]): Trust => proxyAddr.compile(trusted);

/**
 * The address of who asks: what trusted proxies say, from the nearest one on, up to the first that is none of them. Any text, if a
 * trusted one passes that on.
 */
export const askerOf = (request: IncomingMessage, trust: Trust): string => proxyAddr(request, trust) ?? '';
