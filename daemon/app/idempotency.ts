/**
 * Answers kept by the caller's `Idempotency-Key`. Only successes are kept, in the transaction of their effect, so a
 * repeated request has either the effect and its answer or neither.
 */
import { createHash } from 'node:crypto';
import { Rejected } from '../domain/errors.ts';
import { expireIdempotentAnswers, idempotentAnswer, insertIdempotentAnswer } from '../store/queries/effects.ts';
import type { Tx } from '../store/store.ts';
import { type App, MS_PER_HOUR } from './app.ts';

export const KEY_CHARACTERS_MAX = 255;
const KEPT_MS = 24 * MS_PER_HOUR;

export type Answer = { status: number; body: string };
export type IdempotentRequest = {
  businessId: number;
  /** Method and path. */
  route: string;
  /** The caller's key, or null when it sent none. */
  key: string | null;
  /** The body as it was parsed. */
  body: unknown;
  /** True for answers that are kept for ever. */
  forever?: boolean;
};

const hashOf = (body: unknown): Buffer => createHash('sha256').update(JSON.stringify(body)).digest();

/**
 * The answer of `work`, or the kept one of the same request. Throws `Rejected('idempotency.conflict')` when the key came
 * with another body, and whatever `work` throws, which keeps nothing.
 */
export function once(app: App, tx: Tx, request: IdempotentRequest, work: () => Answer): Answer {
  const { businessId, route, key } = request;
  if (key === null) return work();
  if (key.length === 0 || key.length > KEY_CHARACTERS_MAX) {
    throw new Rejected('idempotency.key', `Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} characters`);
  }
  const now = app.now();
  const hash = hashOf(request.body);
  const kept = tx.get(idempotentAnswer, { business_id: businessId, route, key });
  if (kept && (kept.expires_at === null || kept.expires_at > now)) {
    if (hash.equals(kept.body_hash)) return { status: kept.status, body: kept.body };
    throw new Rejected('idempotency.conflict', 'Idempotency-Key was already used with another body');
  }
  const answer = work();
  tx.run(insertIdempotentAnswer, {
    business_id: businessId,
    route,
    key,
    body_hash: hash,
    status: answer.status,
    body: answer.body,
    created_at: now,
    expires_at: request.forever ? null : now + KEPT_MS,
  });
  return answer;
}

/** Drops what is kept no longer. */
export function expireAnswers(app: App, tx: Tx): void {
  tx.run(expireIdempotentAnswers, { now: app.now() });
}
