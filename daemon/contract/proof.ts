/**
 * The proof that a daemon wrote `operator.json`: it knows the token in that file. Callers ask for it first, because the
 * file of a killed daemon may name a port that another program uses now.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { OPERATOR_PATH, type OperatorFile } from './operator.ts';

/** Called with GET, without the token, and with a challenge in this header. */
export const PROOF_PATH = `${OPERATOR_PATH}proof`;
export const CHALLENGE_HEADER = 'countinghouse-challenge';

const CHALLENGE_BYTES = 32;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export const newChallenge = (): string => randomBytes(CHALLENGE_BYTES).toString('base64url');
export const isChallenge = (text: unknown): text is string => typeof text === 'string' && CHALLENGE.test(text);

/** HMAC-SHA-256 (hex) with the token. It covers the address, so that a proof made elsewhere cannot be passed on. */
export function proofOf({ token, socket, url }: OperatorFile, challenge: string): string {
  return createHmac('sha256', token)
    .update(`countinghouse operator v1\n${socket ?? url}\n${challenge}`)
    .digest('hex');
}

export function isProof(file: OperatorFile, challenge: string, given: unknown): boolean {
  const right = Buffer.from(proofOf(file, challenge));
  const bytes = Buffer.from(typeof given === 'string' ? given : '');
  return bytes.length === right.length && timingSafeEqual(bytes, right);
}
