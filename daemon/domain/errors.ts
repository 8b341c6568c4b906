import type { RejectCode } from './rejections.ts';

/**
 * The two kinds of error that a caller can handle. Every other thrown value is a bug.
 *
 * `Rejected`: the request is wrong and will fail again. `Unavailable`: a chain or a rate source does not answer; the
 * request may succeed after `retryAfterSeconds`. The HTTP and operator APIs translate both.
 */
export class Rejected extends Error {
  readonly code: RejectCode;
  /** The wrong field of the request, if it is one field. */
  readonly field: string | undefined;

  constructor(code: RejectCode, message: string, field?: string) {
    super(message);
    this.name = 'Rejected';
    this.code = code;
    this.field = field;
  }
}

export class Unavailable extends Error {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super(message);
    this.name = 'Unavailable';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A shared limit is reached. The request may succeed once others have finished. */
export class TooMany extends Unavailable {
  constructor(message: string, retryAfterSeconds: number) {
    super(message, retryAfterSeconds);
    this.name = 'TooMany';
  }
}

const ALERT_RETRY_SECONDS = 60;

/** A chain's source answers, but its answer cannot be used. The operator must look at it. */
export class ChainAlert extends Unavailable {
  constructor(message: string) {
    super(message, ALERT_RETRY_SECONDS);
    this.name = 'ChainAlert';
  }
}

/** An answer that no honest endpoint gives. */
export class Malformed extends Error {
  constructor(what: string) {
    super(`the endpoint sent ${what}`);
    this.name = 'Malformed';
  }
}

/** Throws if a condition that must hold does not: always a bug of this program. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** A value that must be there. Throws if it is not: always a bug of this program. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`assertion failed: there is no ${what}`);
  return value;
}
