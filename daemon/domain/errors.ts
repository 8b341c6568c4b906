/**
 * The two kinds of error that a caller can do something about. Everything else that is thrown is a bug.
 *
 * `Rejected` is the caller's: the same request will fail again. `Unavailable` is a chain's or a rate source's: the
 * same request may succeed after `retryAfterSeconds`. Presenters (HTTP, operator API) turn both into their own shapes.
 */
export class Rejected extends Error {
  readonly code: string;
  /** The name of the request's field that is wrong, when it is one field's fault. */
  readonly field: string | undefined;

  constructor(code: string, message: string, field?: string) {
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

/** A limit is reached that others share: the same request may succeed once they have let go. */
export class TooMany extends Unavailable {
  constructor(message: string, retryAfterSeconds: number) {
    super(message, retryAfterSeconds);
    this.name = 'TooMany';
  }
}

const ALERT_RETRY_SECONDS = 60;

/** What the operator has to look at: a chain's source answers, but what it says cannot be taken over. */
export class ChainAlert extends Unavailable {
  constructor(message: string) {
    super(message, ALERT_RETRY_SECONDS);
    this.name = 'ChainAlert';
  }
}

/** Stops the program's path where a thing that cannot be is: such an error is always a bug of ours. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}
