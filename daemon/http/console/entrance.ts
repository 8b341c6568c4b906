/** The two calls that come in the clear: a page signs in with a link, and opens a channel. Neither carries a secret. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { NetworkBuckets, TokenBuckets } from '../limits.ts';
import { type Answer, failure } from '../operator/answer.ts';
import { readJson } from '../operator/gate.ts';
import type { Channels } from './channels.ts';
import { askerOf, trustIn } from './proxies.ts';
import type { ConsoleSessions } from './sessions.ts';

const SIGN_INS_PER_MINUTE = 20;
const GREETINGS_PER_MINUTE = 600;
const BUCKETS_MAX = 1_000;

/** An uncompressed point of the curve in base64url. */
const Key = z.string().regex(/^[\w-]{87}$/);
const Random = z.string().regex(/^[\w-]{43}$/);
const SignIn = z.strictObject({ link: Random, page: Key, nonce: Random, proof: Random });
const Greeting = z.strictObject({ page: Key, nonce: Random, before: z.string().max(100).nullable() });

export const tooMany = (seconds: number): Answer => ({
  ...failure(429, 'too_many', `Too many requests: wait ${seconds} s`),
  headers: { 'retry-after': `${seconds}` },
});

type Limit = (request: IncomingMessage) => ReturnType<TokenBuckets['take']>;

/**
 * Each address of the shop's network has its own limit, also of IPv6: all its devices share one /64. To the console, each address and
 * network that a trusted proxy names has its own. Who comes through this machine without one shares a limit.
 */
function limitOf({ now, config }: Pick<App, 'now' | 'config'>, perMinute: number, atTill: boolean): Limit {
  const options = { perMinute, burst: perMinute, now, bucketsMax: BUCKETS_MAX };
  if (!atTill) {
    const limit = new NetworkBuckets(options);
    const trust = trustIn(config.trustedProxies);
    return (request) => limit.take(askerOf(request, trust));
  }
  const limit = new TokenBuckets(options);
  return ({ socket }) => limit.takeFrom(socket.remoteAddress ?? '');
}

export class Entrance {
  readonly #app: Pick<App, 'log'>;
  readonly #sessions: ConsoleSessions;
  readonly #channels: Channels;
  readonly #atTill: boolean;
  readonly #signIns: Limit;
  readonly #greetings: Limit;

  /** `atTill`: of the till's listener. */
  constructor(
    app: Pick<App, 'log' | 'now' | 'config'>,
    sessions: ConsoleSessions,
    channels: Channels,
    atTill: boolean,
  ) {
    this.#app = app;
    this.#atTill = atTill;
    this.#sessions = sessions;
    this.#channels = channels;
    const limit = (perMinute: number) => limitOf(app, perMinute, atTill);
    this.#signIns = limit(SIGN_INS_PER_MINUTE);
    this.#greetings = limit(GREETINGS_PER_MINUTE);
  }

  /** Throws `Refused` for a body that is no JSON. */
  async signIn(request: IncomingMessage): Promise<Answer> {
    const taken = this.#signIns(request);
    if (!taken.ok) return tooMany(taken.retryAfterSeconds);
    const params = SignIn.safeParse(await readJson(request));
    const { origin = '', 'user-agent': name = '' } = request.headers;
    const signed = params.success ? await this.#sessions.signIn({ ...params.data, origin }, name, this.#atTill) : null;
    if (!signed) {
      this.#app.log.warn('a sign-in link of the console was used that is not valid, or not any more');
      return failure(403, 'console.link', 'This link was used before or is too old: make a new one');
    }
    this.#app.log.info('a browser has signed in to the console');
    return { status: 200, body: signed };
  }

  /** Opens a channel, or tells a page that its session has ended. Throws `Refused` for a body that is no JSON. */
  async greet(request: IncomingMessage): Promise<Answer> {
    const taken = this.#greetings(request);
    if (!taken.ok) return tooMany(taken.retryAfterSeconds);
    const params = Greeting.safeParse(await readJson(request));
    const { origin = '' } = request.headers;
    const from = { origin, atTill: this.#atTill };
    const greeted = params.success ? await this.#channels.greet(params.data, from).catch(() => null) : null;
    if (!greeted) return failure(422, 'params', 'This is no greeting of a page');
    return { status: 200, body: greeted };
  }
}
