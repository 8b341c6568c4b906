/** A light client that is followed as the program follows it: at once after a hint, and else every ten seconds. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ElectrumAdapter, type ElectrumOptions } from '../../daemon/chains/utxo/electrum/electrum.ts';
import type { ChainUpdate } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { until } from './conformance.ts';
import { beginning, FactBook } from './fact-book.ts';
import { testAccount } from './keys.ts';

const POLL_MS = 10_000;
const FAILED_RETRY_MS = 1_000;
const SYNC_MS = 60_000;
const CAUGHT_UP_WITHIN_MS = 60_000;

/** No two clients of one test file share an address. */
let nextIndex = 0;

export type Watched = { id: number; index: number; address: string };

export class Followed {
  readonly book = new FactBook();
  readonly adapter: ElectrumAdapter;
  readonly alerts: string[] = [];
  readonly #folder: string;
  readonly #abort = new AbortController();
  readonly #changed: (() => void)[] = [];
  #wake: (() => void) | null = null;
  #woken = false;
  #running: Promise<void> = Promise.resolve();
  #last: ChainUpdate | null = null;

  private constructor(folder: string, options: Partial<ElectrumOptions> & { servers: readonly string[] }) {
    this.#folder = folder;
    this.adapter = new ElectrumAdapter({
      chain: 'LTC',
      network: 'regtest',
      folder,
      list: this.book,
      alert: (server, message) => this.alerts.push(`${server}: ${message}`),
      ...options,
    });
  }

  /** Connects, and watches the first `count` addresses. Nothing is followed before `run`. */
  static async open(
    options: Partial<ElectrumOptions> & { servers: readonly string[] },
    count: number,
  ): Promise<Followed & { targets: Watched[] }> {
    const followed = new Followed(await mkdtemp(join(tmpdir(), 'electrum-')), options);
    const targets: Watched[] = [];
    for (let i = 0; i < count; i++) targets.push(await followed.watch());
    followed.book.checkpoint = await beginning(followed.adapter);
    return Object.assign(followed, { targets });
  }

  /** Watches another address. */
  async watch(): Promise<Watched> {
    const index = nextIndex++;
    const target = await this.adapter.deriveAddress(testAccount, 0, index);
    return { id: this.book.watch(target), index, address: target.address };
  }

  /** Begins to follow; resolves once a first view was complete. */
  async run(): Promise<void> {
    this.adapter.onHint(() => this.#hint());
    this.#running = this.#follow();
    await this.until(() => this.#last?.mempool === 'complete', 'a first complete view', CAUGHT_UP_WITHIN_MS);
  }

  /** Waits until the book says something, which is looked at after every update. */
  async until(condition: () => boolean, what: string, withinMs: number): Promise<void> {
    let met = condition();
    const look = (): void => {
      met ||= condition();
    };
    this.#changed.push(look);
    await until(() => met, what, withinMs).finally(() => this.#changed.splice(this.#changed.indexOf(look), 1));
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#hint();
    await this.#running;
    await this.adapter.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #hint(): void {
    this.#woken = true;
    this.#wake?.();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      this.#woken = false;
      let pauseMs = POLL_MS;
      try {
        const update = await this.adapter.sync(
          this.book.checkpoint,
          AbortSignal.any([signal, AbortSignal.timeout(SYNC_MS)]),
        );
        if (update) this.book.apply(update);
        this.#last = update ?? this.#last;
        if (update && update.mempool !== 'complete') pauseMs = 0;
        for (const look of this.#changed) look();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Unavailable)) throw error;
        pauseMs = FAILED_RETRY_MS;
      }
      if (pauseMs > 0 && !this.#woken) await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wake = done;
    });
  }
}
