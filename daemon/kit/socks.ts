/** Connections through a SOCKS5 proxy without login (RFC 1928). It resolves the names: nobody here is asked for them. */
import { isIP, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { SocksClient } from 'socks';
import { unlessAborted } from './async.ts';

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443 };
const HTTP_PORT = 80;

/** Without the brackets of an IPv6 address. */
const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

/** Connects through a proxy of `isSocksProxy` (endpoint.ts). Throws `SocksClientError`, or the signal's reason. */
export async function connectByProxy(
  proxy: string,
  to: { host: string; port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const { hostname, port } = new URL(proxy);
  const connecting = SocksClient.createConnection({
    command: 'connect',
    proxy: { host: bare(hostname), port: Number(port), type: 5 },
    destination: { host: bare(to.host), port: to.port },
    timeout: timeoutMs,
  });
  // a connection made after the time limit has no owner
  connecting.then(({ socket }) => signal.aborted && socket.destroy()).catch(() => undefined);
  return (await unlessAborted(connecting, signal)).socket;
}

/** The connection for a request of a URL, with TLS where its scheme has it. Throws as `connectByProxy`. */
export async function tunnelTo(url: URL, proxy: string, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  const host = bare(url.hostname);
  const port = Number(url.port) || (PORTS[url.protocol] ?? HTTP_PORT);
  const socket = await connectByProxy(proxy, { host, port }, timeoutMs, signal);
  if (!(url.protocol in PORTS)) return socket;
  return tlsConnect({ socket, host, ...(isIP(host) === 0 && { servername: host }) });
}
