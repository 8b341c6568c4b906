/**
 * How a server can fail. The kind decides what follows: a lost connection is tried again, a refusal is an answer, and a
 * server that misbehaved is dropped, since nothing that it says is worth anything.
 */

/** It is away, slow, full, or speaks no protocol of ours. In words of ours, but for what the server gave as a reason. */
export class ConnectionLost extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConnectionLost';
  }
}

/** It answered a request with an error. */
export class ServerRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'ServerRefusal';
    this.code = code;
  }
}

/** It answered a request with more than is read of one answer. That may be right; it is as good as a refusal. */
export class TooLong extends ServerRefusal {
  constructor(message: string) {
    super(0, message);
    this.name = 'TooLong';
  }
}

/** It said what cannot be, or more than it may: proof that it is broken or lies. */
export class Misbehaved extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Misbehaved';
  }
}

/** ElectrumX: "excessive resource usage", and a request that it gave up because it is busy. */
const COST_CODES: readonly number[] = [-101, -102];

/** With the same code, servers refuse what is too large at any time: to ask again is of no use. */
const TOO_LARGE = /too large/i;

/** Whether a server gave no answer because we ask too much of it at the moment, or none at all. */
export function isCostly(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  return error instanceof ServerRefusal && COST_CODES.includes(error.code) && !TOO_LARGE.test(error.message);
}

const SERVER_TEXT_CHARS_MAX = 300;

/** What a server said, fit to be shown: bounded, in one line, without control characters. */
export function serverText(value: unknown): string {
  const text = typeof value === 'string' ? value : 'no reason given';
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, SERVER_TEXT_CHARS_MAX);
}

/** Whether an error is a server's; any other is a bug of ours. */
export function isOfServer(error: unknown): boolean {
  return error instanceof ConnectionLost || error instanceof Misbehaved || error instanceof ServerRefusal;
}
