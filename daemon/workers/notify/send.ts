/**
 * Sends one POST, without retries and redirects.
 *
 * Invariant: it ends within its time limit, connects only to addresses that `checkDestination` accepted, and never
 * throws.
 */
import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { SocksClientError } from 'socks';
import {
  type Address,
  type CheckedDestination,
  checkDestination,
  type DestinationPolicy,
  DestinationRefused,
  type Resolve,
} from '../../app/notifications/destinations.ts';
import { unlessAborted } from '../../kit/async.ts';
import { tunnelTo } from '../../kit/socks.ts';
import { nameResolver } from './names.ts';

/** Covers resolving, connecting, TLS and the head of the answer. */
const WEBHOOK_TIMEOUT_MS = 10_000;

export type WebhookOptions = Omit<DestinationPolicy, 'resolve' | 'hasProxy'> & {
  /** A proxy "socks5://host:port" for .onion hosts; null: none. */
  socksProxy: string | null;
  /** Default: the system's name servers. */
  resolve?: Resolve;
  timeoutMs?: number;
  /** Default: an empty body. */
  content?: { body: string; headers: Readonly<Record<string, string>> };
  /** Aborts the attempt, for example when the daemon stops. */
  signal?: AbortSignal;
};

/** `status` of the answer; if there is none, null and the reason for the operator. `ms`: the duration. */
export type WebhookResult = { status: number | null; error: string | null; ms: number };

const resolveByDns = nameResolver();

/** Answers every lookup with the checked addresses, so that a name cannot change between check and connection. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

const NOTHING = { body: '', headers: {} };

/** The status of the answer; its body is not read. */
function post(
  destination: CheckedDestination,
  tunnel: Socket | null,
  { body, headers: own }: NonNullable<WebhookOptions['content']>,
  signal: AbortSignal,
): Promise<number> {
  const { url } = destination;
  const secure = url.protocol === 'https:';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const length = Buffer.byteLength(body);
  const headers = { Host: url.host, 'User-Agent': 'Countinghouse', 'Content-Length': length, Accept: '*/*', ...own };
  const connection = tunnel
    ? { createConnection: () => tunnel }
    : { agent: false as const, lookup: pinned(destination.addresses) };
  const request: ClientRequest = (secure ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    headers,
    signal,
    ...connection,
  });
  const answered = (status: number | undefined): void => {
    resolve(status ?? 0);
    request.destroy();
  };
  request.on('response', (response) => {
    response.on('error', () => undefined);
    answered(response.statusCode);
  });
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    answered(response.statusCode);
  });
  request.on('error', (error) => reject(signal.aborted ? signal.reason : error));
  request.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  request.end(body);
  return promise;
}

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut before an answer',
  EPIPE: 'the connection was cut before an answer',
  ETIMEDOUT: 'the host did not answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

/** Describes the failure in this program's words: no text of the other side is recorded. */
export function inWords(error: unknown, timeoutMs: number): string {
  if (error instanceof DestinationRefused) return `not sent: ${error.message}`;
  if (error instanceof SocksClientError) return 'the proxy could not connect';
  const { name, code } = error as { name?: string; code?: unknown };
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  if (name === 'AbortError') return 'stopped before an answer';
  if (typeof code !== 'string') return 'failed';
  return IN_WORDS[code] ?? (code.startsWith('HPE_') ? 'the answer was not HTTP' : `failed: ${code}`);
}

/** Sends a notification once, to no refused destination. Never throws, nor takes longer than WEBHOOK_TIMEOUT_MS. */
export async function sendWebhook(url: string, options: WebhookOptions): Promise<WebhookResult> {
  const started = performance.now();
  const timeoutMs = options.timeoutMs ?? WEBHOOK_TIMEOUT_MS;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  const took = (): number => Math.round(performance.now() - started);
  let tunnel: Socket | null = null;
  try {
    const policy = { ...options, hasProxy: options.socksProxy !== null, resolve: options.resolve ?? resolveByDns };
    const target = await unlessAborted(checkDestination(url, policy, signal), signal);
    if (target.via === 'proxy' && options.socksProxy !== null) {
      tunnel = await tunnelTo(target.url, options.socksProxy, timeoutMs, signal);
    }
    const status = await unlessAborted(post(target, tunnel, options.content ?? NOTHING, signal), signal);
    return { status, error: null, ms: took() };
  } catch (error) {
    return { status: null, error: inWords(error, timeoutMs), ms: took() };
  } finally {
    tunnel?.destroy();
  }
}
