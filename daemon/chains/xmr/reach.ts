/**
 * How a monerod is reached: straight or through a SOCKS5 proxy, with or without TLS. Most nodes have self-signed
 * certificates, monerod's own for one: the first that is seen is remembered, and another one is refused (`pins.ts`).
 */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Endpoint } from '../utxo/electrum/servers/endpoint.ts';
import { Pins } from '../utxo/electrum/servers/pins.ts';
import { connect } from '../utxo/electrum/servers/transport.ts';

export type Reach = {
  /** "socks5://host:port" for onion services, and for every node if `proxyForAll`; null: none. */
  proxy: string | null;
  proxyForAll: boolean;
  pins: Pins;
};

const PROXY_SETTING = 'monero.socks_proxy';
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Without a proxy; certificates are remembered as long as the program runs. */
export const straight = (): Reach => ({ proxy: null, proxyForAll: false, pins: new Pins(null) });

function endpointOf({ protocol, hostname, port, host }: URL): Endpoint {
  const tls = protocol === 'https:';
  return {
    name: host,
    tls,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (tls ? HTTPS_PORT : HTTP_PORT),
  };
}

/** An agent that opens no more connections while it has `connectionsMax`. Its errors are those of `connect`. */
export function agentOf(url: URL, reach: Reach, connectionsMax: number, timeoutMs: number): http.Agent {
  const options = { keepAlive: true, maxSockets: connectionsMax };
  const agent = url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
  const closed = new AbortController();
  agent.createConnection = (_, done) => {
    connect({ ...reach, endpoint: endpointOf(url), proxySetting: PROXY_SETTING, timeoutMs }, closed.signal).then(
      (socket) => done?.(null, socket),
      (error: Error) => {
        // an agent that is given an error leaves the requests that wait behind it; one that loses a connection does not
        const lost = new net.Socket();
        done?.(null, lost);
        lost.destroy(error);
      },
    );
    return undefined;
  };
  const destroy = agent.destroy.bind(agent);
  agent.destroy = () => {
    closed.abort();
    destroy();
  };
  return agent;
}
