/**
 * Stores answers by the caller's `Idempotency-Key`. Only successes are stored, in the transaction of their effect, so
 * that effect and answer always exist together.
 */

import { createHash } from 'node:crypto';
import { Rejected } from '../domain/errors.ts';
import { MS_PER_DAY } from '../domain/time.ts';
import { expireIdempotentAnswers, idempotentAnswer, insertIdempotentAnswer } from '../store/queries/effects.ts';
import type { Reader, Tx } from '../store/store.ts';
import type { App } from './app.ts';

const KEY_CHARACTERS_MAX = 255;
const KEPT_MS = MS_PER_DAY;

export type Answer = { status: number; body: string };
export type IdempotentRequest = {
  businessId: number;
  /** The operation and the id of its invoice, in canonical form. */
  route: string;
  /** Null if the caller sent none. */
  key: string | null;
  /** The parsed body. */
  body: unknown;
  /** True for answers that never expire. */
  forever?: boolean;
};

const hashOf = (body: unknown): Buffer => createHash('sha256').update(JSON.stringify(body)).digest();

/**
 * The result of `work`, or the stored answer of the same request. Throws `Rejected('idempotency.conflict')` if the key
 * was used with another body. If `work` throws, nothing is stored.
 */
export function once(app: App, tx: Tx, request: IdempotentRequest, work: () => Answer): Answer {
  const known = keptAnswer(app, tx, request);
  if (known) return known;
  const answer = work();
  keep(app, tx, request, answer);
  return answer;
}

/** The stored answer of a request, or null. Throws `Rejected` if the key is malformed or was used with another body. */
function keptAnswer(app: App, reader: Reader, { businessId, route, key, body }: IdempotentRequest): Answer | null {
  if (key === null) return null;
  if (key.length === 0 || key.length > KEY_CHARACTERS_MAX) {
    throw new Rejected('idempotency.key', `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters`);
  }
  const kept = reader.get(idempotentAnswer, { business_id: businessId, route, key });
  if (!kept || (kept.expires_at !== null && kept.expires_at <= app.now())) return null;
  if (!hashOf(body).equals(kept.body_hash)) throw conflict();
  return { status: kept.status, body: kept.body };
}

const conflict = (): Rejected =>
  new Rejected('idempotency.conflict', 'Idempotency-Key was already used with another body');

function keep(app: App, tx: Tx, { businessId, route, key, body, forever }: IdempotentRequest, answer: Answer): void {
  if (key === null) return;
  const now = app.now();
  tx.run(insertIdempotentAnswer, {
    business_id: businessId,
    route,
    key,
    body_hash: hashOf(body),
    status: answer.status,
    body: answer.body,
    created_at: now,
    expires_at: forever ? null : now + KEPT_MS,
  });
}

/**
 * The same for work that is no single transaction: the sandbox's controls, where a power cut between effect and answer
 * costs only play money. A request that is already running is joined.
 */
export class Repeatable {
  readonly #app: App;
  readonly #running = new Map<string, { hash: Buffer; answer: Promise<Answer> }>();

  constructor(app: App) {
    this.#app = app;
  }

  /** As `once`. */
  async answer(request: IdempotentRequest, work: () => Promise<Answer>): Promise<Answer> {
    const { businessId, route, key, body } = request;
    const known = keptAnswer(this.#app, this.#app.store, request);
    if (known) return known;
    if (key === null) return await work();
    const name = `${businessId} ${route} ${key}`;
    const hash = hashOf(body);
    const running = this.#running.get(name);
    if (running) {
      if (!hash.equals(running.hash)) throw conflict();
      return await running.answer;
    }
    const answer = this.#workAndKeep(request, work).finally(() => this.#running.delete(name));
    this.#running.set(name, { hash, answer });
    return await answer;
  }

  async #workAndKeep(request: IdempotentRequest, work: () => Promise<Answer>): Promise<Answer> {
    const answer = await work();
    await this.#app.store.write((tx) => keep(this.#app, tx, request, answer));
    return answer;
  }
}

/** Deleting this many takes a few milliseconds. */
const EXPIRED_PER_WRITE_MAX = 500;

/** Deletes expired answers in batches, so that others can write in between. */
export async function expireAnswers(app: App): Promise<void> {
  const some = { now: app.chains.credibleNow(app.now()), limit: EXPIRED_PER_WRITE_MAX };
  while ((await app.store.write((tx) => tx.run(expireIdempotentAnswers, some).changes)) === EXPIRED_PER_WRITE_MAX);
}
