/**
 * One loop per chain that signs and sends withdrawals. A pass starts when there is new work, and at intervals while
 * something waits. A bug halts only this chain's withdrawals, with an alert.
 */
import { raiseAs } from '../app/alerts.ts';
import type { App } from '../app/app.ts';
import type { ChainRuntime } from '../app/chains/chains.ts';
import { passForwards } from '../app/forwarding/pass.ts';
import { passGas } from '../app/gas/pass.ts';
import { type Progress, tendWithdrawals } from '../app/withdrawals/tend.ts';
import { Unavailable } from '../domain/errors.ts';
import { WakeablePause } from '../kit/async.ts';

const POLL_MS = 5_000;
/** A version that the chain does not show is sent again after this time, doubled each time. */
const RESEND_MS = 5_000;
const RESEND_MAX_MS = 600_000;
/** Versions whose last sending is remembered. */
const REMEMBERED_MAX = 10_000;

type Sending = { times: number; nextAt: number };

export class WithdrawalWorker {
  readonly #app: App;
  readonly #chain: ChainRuntime;
  /** By version: when it may be sent again. Empty after a restart, which sends at once. */
  readonly #sendings = new Map<number, Sending>();
  readonly #progress: Progress = { after: 0, asked: new Map() };
  #stopped = false;
  readonly #pause = new WakeablePause();
  #running: Promise<void> | null = null;

  constructor(app: App, chain: ChainRuntime) {
    this.#app = app;
    this.#chain = chain;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Starts the next pass at once. */
  wake(): void {
    this.#pause.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#pause.begin();
      let waits = true;
      try {
        const hasPlan = await this.#passPlans();
        const isDue = ({ id }: { id: number }): boolean => this.#isDue(id);
        waits = (await tendWithdrawals(this.#app, this.#chain, this.#progress, isDue)) || hasPlan;
      } catch (error) {
        if (!(error instanceof Unavailable)) {
          await this.#halt(error);
          return;
        }
      }
      if (!this.#stopped) await this.#pause.wait(waits ? POLL_MS : null);
    }
  }

  /** Returns whether a plan needs another pass. An answer that is missing there keeps no withdrawal waiting. */
  async #passPlans(): Promise<boolean> {
    let waits = false;
    for (const pass of [passGas, passForwards]) {
      try {
        waits = (await pass(this.#app, this.#chain)) || waits;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        waits = true;
      }
    }
    return waits;
  }

  #isDue(version: number): boolean {
    const now = performance.now();
    const last = this.#sendings.get(version);
    if (last && now < last.nextAt) return false;
    const times = (last?.times ?? 0) + 1;
    if (this.#sendings.size >= REMEMBERED_MAX) this.#sendings.clear();
    // what becomes of a refused one is decided at the next refusal after two syncs
    const isOpen = this.#chain.isRefused(version) && !this.#chain.isRefusalKnown(version);
    const waitMs = isOpen ? RESEND_MS : Math.min(RESEND_MS * 2 ** (times - 1), RESEND_MAX_MS);
    this.#sendings.set(version, { times, nextAt: now + waitMs });
    return true;
  }

  async #halt(error: unknown): Promise<void> {
    const { key } = this.#chain;
    this.#app.log.fatal({ chain: key, error }, 'the withdrawals of a chain were halted by a bug');
    await raiseAs(this.#app, this.#chain.adapter.network, 'withdrawals.halted', key, {
      chain: key,
      reason: String(error),
    });
  }
}
