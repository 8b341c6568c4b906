/** How a server can fail: a lost connection is tried again, a refusal is an answer, a misbehaving server is dropped. */
import type { Listener } from '../listener.ts';

/**
 * The server is away, slow, full, or speaks another protocol. The message is this program's, except for a reason given
 * by the server.
 */
export class ConnectionLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConnectionLost';
  }
}

/** The server answered a request with an error. */
export class ServerRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'ServerRefusal';
    this.code = code;
  }
}

/** The answer is longer than what is read. That may be correct; it is treated like a refusal. */
export class TooLong extends ServerRefusal {
  constructor(message: string) {
    super(0, message);
    this.name = 'TooLong';
  }
}

/**
 * The answer names a transaction both in a block and as unconfirmed. ElectrumX at its default settings does so for some
 * seconds after each block, until it has read its node's mempool again. The question is to be asked again soon.
 */
export class Between extends ServerRefusal {
  readonly txid: string;

  constructor(txid: string) {
    super(0, `it names transaction ${txid} both in a block and as unconfirmed, in the middle of a block`);
    this.name = 'Between';
    this.txid = txid;
  }
}

/** The server said something impossible or exceeded a limit, which proves that it is broken or lies. */
export class Misbehaved extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Misbehaved';
  }
}

/** ElectrumX: "excessive resource usage", and a request that timed out because the server is busy. */
const COST_CODES: readonly number[] = [-101, -102];

/** Servers use the same code for requests that are always too large; repeating those is useless. */
const TOO_LARGE = /too large/i;

/** Whether a server gave no answer because of its current load. */
export function isCostly(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  return error instanceof ServerRefusal && COST_CODES.includes(error.code) && !TOO_LARGE.test(error.message);
}

/** Whether an answer is longer than what the server gives, or than what is read. */
export const isTooLong = (error: unknown): boolean =>
  error instanceof TooLong || (error instanceof ServerRefusal && TOO_LARGE.test(error.message));

/** Whether the same question may be answered soon. */
export const isPassing = (error: unknown): boolean => isCostly(error) || error instanceof Between;

const SERVER_TEXT_CHARS_MAX = 300;

/** A server's text for display: bounded, on one line, without control characters. */
export function serverText(value: unknown): string {
  const text = typeof value === 'string' ? value : 'no reason given';
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, SERVER_TEXT_CHARS_MAX);
}

/** Whether an error is a server's; any other is a bug. */
export function isOfServer(error: unknown): boolean {
  return error instanceof ConnectionLost || error instanceof Misbehaved || error instanceof ServerRefusal;
}

/** Reports an error unless it is a server's. */
export const unlessOfServer =
  (listener: Pick<Listener, 'bug'>) =>
  (error: unknown): void => {
    if (!isOfServer(error)) listener.bug(error);
  };
