/**
 * A stream of bytes to a server: TCP or TLS, straight or through a SOCKS5 proxy (RFC 1928). Over TLS the server's
 * certificate is checked before the first byte is sent.
 */
import net from 'node:net';
import tls from 'node:tls';
import { connectByProxy } from '../../../../kit/socks.ts';
import { type Endpoint, isOnion, tlsNameOf } from './endpoint.ts';
import { ConnectionLost, Misbehaved } from './faults.ts';
import type { Pins } from './pins.ts';

export type TransportOptions = {
  endpoint: Endpoint;
  /** "socks5://host:port"; null connects straight. */
  proxy: string | null;
  /** Whether the proxy is for every server, or for onion services only. */
  proxyForAll: boolean;
  /** The setting that is missing where an onion service has no proxy; that of Electrum's servers if none is named. */
  proxySetting?: string;
  pins: Pins;
  timeoutMs: number;
};

/** Connects. Throws `ConnectionLost`, or `Misbehaved` when the server shows another certificate than before. */
export async function connect(options: TransportOptions, signal: AbortSignal): Promise<net.Socket> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  let plain: net.Socket | null = null;
  try {
    plain = await reach(options, limit);
    plain.setNoDelay(true);
    return options.endpoint.tls ? await secure(plain, options, limit) : plain;
  } catch (error) {
    plain?.destroy();
    signal.throwIfAborted();
    if (error instanceof Misbehaved || error instanceof ConnectionLost) throw error;
    throw new ConnectionLost(limit.aborted ? 'no connection in time' : inWords(error));
  }
}

/** Whether a server is connected to through the proxy. */
export const isProxied = (options: Pick<TransportOptions, 'endpoint' | 'proxy' | 'proxyForAll'>): boolean =>
  options.proxy !== null && (options.proxyForAll || isOnion(options.endpoint));

async function reach(options: TransportOptions, signal: AbortSignal): Promise<net.Socket> {
  const { endpoint, proxy } = options;
  if (proxy !== null && isProxied(options)) {
    return connectByProxy(proxy, endpoint, options.timeoutMs, signal);
  }
  if (isOnion(endpoint))
    throw new ConnectionLost(`an onion service needs a proxy: set ${options.proxySetting ?? 'electrum.socks_proxy'}`);
  const socket = net.connect({ host: endpoint.host, port: endpoint.port });
  await once(socket, 'connect', signal);
  return socket;
}

async function secure(plain: net.Socket, options: TransportOptions, signal: AbortSignal): Promise<tls.TLSSocket> {
  const servername = tlsNameOf(options.endpoint);
  // TLS itself must not refuse self-signed certificates: `pins.ts` compares them with the first one of this server.
  const socket = tls.connect({ socket: plain, rejectUnauthorized: false, ...(servername ? { servername } : {}) });
  await once(socket, 'secureConnect', signal);
  const { fingerprint256 } = socket.getPeerCertificate();
  if (!fingerprint256) throw new ConnectionLost('the server shows no certificate');
  const fingerprint = fingerprint256.replaceAll(':', '').toLowerCase();
  const { host, port } = options.endpoint;
  if ((await options.pins.check(`${host}:${port}`, fingerprint, socket.authorized)) === 'changed') {
    socket.destroy();
    throw new Misbehaved(
      `it shows another certificate than before (SHA-256 ${fingerprint}). If its operator says that this is right, ` +
        `take the line of ${host}:${port} out of electrum/${options.pins.file}`,
    );
  }
  return socket;
}

/** Waits for an event of a socket; rejects with its error, or when told to stop. Destroys the socket then. */
function once(socket: net.Socket, event: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      signal.removeEventListener('abort', abort);
      socket.off('error', fail).off('close', closed).off(event, done);
      then();
    };
    const done = () => settle(resolve);
    const fail = (error: Error) =>
      settle(() => {
        // Destroying a socket may raise a second error, which must not end the process.
        socket.on('error', () => {});
        socket.destroy();
        reject(error);
      });
    const closed = () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    const abort = () => fail(Object.assign(new Error('stopped'), { code: 'ETIMEDOUT' }));
    socket.on('error', fail).on('close', closed).on(event, done);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there (connection refused)',
  ECONNRESET: 'it ended the connection',
  EPIPE: 'it ended the connection',
  ETIMEDOUT: 'no connection in time',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  EHOSTUNREACH: 'it cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

/** A failure of the network in an operator's words. Never the error's own text, which may come from the other side. */
export function inWords(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (error instanceof Error && error.name === 'SocksClientError') return 'the proxy could not connect';
  return (typeof code === 'string' && IN_WORDS[code]) || `the connection failed (${String(code ?? 'unknown reason')})`;
}
