/**
 * What ElectrumX does to a costly client, for the test servers: each session has an account of what it asked for, which
 * decays slowly, and the more slowly the more it has subscribed. Above a soft limit fewer requests are served at once and each
 * sleeps before it is; at the hard limit the session ends.
 *
 * Source: the documentation of ElectrumX, "Environment variables": COST_SOFT_LIMIT, COST_HARD_LIMIT, REQUEST_SLEEP,
 * INITIAL_CONCURRENT, BANDWIDTH_UNIT_COST, REQUEST_TIMEOUT, whose defaults these are. What a request costs was chosen so
 * that the rates are those that were measured on ElectrumX 1.16: some 40 requests a second at 5,000 subscriptions, and
 * 12 at 10,000.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type CostLimits = {
  soft: number;
  hard: number;
  /** The longest sleep, as the hard limit comes near. */
  sleepMs: number;
  concurrent: number;
  /** Bytes that cost one unit. */
  bytesPerUnit: number;
  /** A request that waits longer is given up. */
  timeoutMs: number;
};

export const ELECTRUMX_LIMITS: CostLimits = {
  soft: 1_000,
  hard: 10_000,
  sleepMs: 2_500,
  concurrent: 10,
  bytesPerUnit: 5_000,
  timeoutMs: 30_000,
};

const COSTS: Readonly<Record<string, number>> = {
  'blockchain.scripthash.subscribe': 0.3,
  'blockchain.scripthash.get_history': 0.5,
  'blockchain.scripthash.listunspent': 1,
  'blockchain.transaction.get': 1,
  'blockchain.transaction.get_merkle': 1,
};
const COST_OTHER = 0.1;
/** Without subscriptions a session is forgiven its hard limit in so many seconds, and each subscription is as good as five more. */
const FORGIVEN_SECONDS = 10_000;
const FORGIVEN_SECONDS_EACH = 5;
/** Of a request and its answer together, about. */
const REQUEST_BYTES = 300;

/** `busy`: it waited too long. `excessive`: the session is over. */
type Admission = 'served' | 'busy' | 'excessive';

/** The account of one session. */
export class CostAccount {
  readonly #limits: CostLimits;
  #cost = 0;
  #countedAtMs = performance.now();
  #serving = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #subscriptions: () => number;
  /** The highest excess so far. */
  most = 0;

  constructor(limits: CostLimits, subscriptions: () => number) {
    this.#limits = limits;
    this.#subscriptions = subscriptions;
  }

  /** Above 0 the session is slowed down, at 1 it ends. */
  get excess(): number {
    const { soft, hard } = this.#limits;
    const now = performance.now();
    const perSecond = hard / (FORGIVEN_SECONDS + FORGIVEN_SECONDS_EACH * this.#subscriptions());
    this.#cost = Math.max(0, this.#cost - ((now - this.#countedAtMs) / 1_000) * perSecond);
    this.#countedAtMs = now;
    const excess = Math.max(0, (this.#cost - soft) / (hard - soft));
    this.most = Math.max(this.most, excess);
    return excess;
  }

  /** Serves a request when it is its turn. */
  async admit(method: string, serve: () => Promise<void> | void): Promise<Admission> {
    const { concurrent, sleepMs, timeoutMs, bytesPerUnit } = this.#limits;
    this.#cost += (COSTS[method] ?? COST_OTHER) + REQUEST_BYTES / bytesPerUnit;
    const cameAtMs = performance.now();
    while (this.#serving >= Math.max(1, Math.ceil(concurrent * (1 - this.excess))))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#serving++;
    try {
      if (this.excess >= 1) return 'excessive';
      if (performance.now() - cameAtMs > timeoutMs) return 'busy';
      if (this.excess > 0) await sleep(this.excess * sleepMs);
      await serve();
      return 'served';
    } finally {
      this.#serving--;
      for (const enter of this.#waiting.splice(0, concurrent)) enter();
    }
  }
}
