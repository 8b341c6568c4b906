/**
 * Opens a payment page as a payer would: over this computer's own network or proxy, and without anything that tells who asks.
 *
 * Invariants: a server chooses the address, so nothing of this computer's own network is asked for it, no answer goes back to the
 * server, and no redirect is followed.
 */
import { lookup as lookupAny } from 'node:dns';
import { lookup } from 'node:dns/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Unavailable } from '../domain/errors.ts';
import { isOnionHost } from '../kit/endpoint.ts';
import { isPublicAddress } from '../kit/own-network.ts';

const PAGE_MS = 20_000;
const PAGE_BYTES_MAX = 1_048_576;
const RETRY_SECONDS = 600;
/** As payers' browsers send them: a server must not tell this computer by its request. */
const HEADERS = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-US,en;q=0.5',
};

export type Network = {
  /** Whether pages may be on this machine or its network, as the server itself is. */
  local: boolean;
  /** The SOCKS5 proxy of the server, through which its pages are opened, too. */
  proxy?: string | undefined;
  /** Has HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in either case, if the pages are opened through a proxy. */
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
};

const away = (url: URL, why: string): Unavailable =>
  new Unavailable(`The payment page ${url.href} could not be opened: ${why}`, RETRY_SECONDS);

/** The page's HTML. Throws `Unavailable` if it could not be opened, is none, or is on this computer's own network. */
export async function openPage(address: string, { local, proxy, env, signal }: Network): Promise<string> {
  const url = new URL(address);
  const client = url.protocol === 'https:' ? https : url.protocol === 'http:' ? http : null;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (client === null || url.username !== '') throw away(url, 'it is no page of the web');
  const isOwn = isIP(host) ? !isPublicAddress(host) : host === 'localhost';
  if (isOwn && !local) throw away(url, 'the address is on this network');
  const proxyEnv = proxies(env);
  const agent = new client.Agent({ proxyEnv });
  const ends = AbortSignal.any([signal, AbortSignal.timeout(PAGE_MS)]);
  let tunnel: Socket | null = null;
  try {
    if (proxy !== undefined) tunnel = await tunnelBy(proxy, url, ends);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const way = tunnel === null ? { agent } : { createConnection: () => tunnel };
    // without an agent the port of the scheme would stand in it
    const headers = { host: url.host, ...HEADERS };
    const options = {
      ...way,
      headers,
      signal: ends,
      ...(isIP(host) ? {} : { lookup: exceptOnions(local ? lookupAny : publicOnly) }),
    };
    client.get(url, options, resolve).once('error', reject);
    const response = await promise;
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of response as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > PAGE_BYTES_MAX) throw new Error('it does not end');
      parts.push(part);
    }
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`);
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    throw away(url, ends.aborted ? 'it did not answer in time' : (error as Error).message);
  } finally {
    agent.destroy();
    tunnel?.destroy();
  }
}

async function tunnelBy(proxy: string, url: URL, signal: AbortSignal): Promise<Socket> {
  const { tunnelTo } = await import('../kit/socks.ts');
  return tunnelTo(url, proxy, PAGE_MS, signal);
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

const proxies = (env: Network['env']): Record<string, string | undefined> =>
  Object.fromEntries(PROXIES.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, env[name]]));

/** Which proxy of the environment a request takes is the agent's matter: so the name is refused where it would be resolved here. */
const exceptOnions =
  (lookup: LookupFunction): LookupFunction =>
  (host, options, done) => {
    if (isOnionHost(host)) done(new Error('an onion service is reached through a proxy alone'), '', 0);
    else lookup(host, options, done);
  };

/** Resolves names to addresses of the internet alone. */
const publicOnly: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }).then(
    (found) => {
      const open = found.filter(({ address }) => isPublicAddress(address));
      const [first] = open;
      if (!first) done(new Error('the address is on this network'), '', 0);
      else if (options.all) done(null, open);
      else done(null, first.address, first.family);
    },
    (error: NodeJS.ErrnoException) => done(error, '', 0),
  );
};
