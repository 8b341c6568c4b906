/**
 * The sync loops of all chains. A chain that is there by default alone, with no business on it, rests: nothing is
 * connected to before somebody needs it.
 */
import type { App } from '../app/app.ts';
import type { ChainRuntime } from '../app/chains/chains.ts';
import { SyncLoop } from './sync.ts';

export class SyncLoops {
  readonly #app: App;
  readonly #loops = new Map<string, { loop: SyncLoop; firstPass: Promise<void> }>();
  #stopped = false;

  constructor(app: App) {
    this.#app = app;
  }

  /** Begins to follow every chain that is needed and is not followed yet. */
  begin(): void {
    if (this.#stopped) return;
    for (const chain of this.#app.chains.all()) {
      if (this.#loops.has(chain.key) || !this.#isNeeded(chain)) continue;
      chain.dormant = false;
      const loop = new SyncLoop(this.#app, chain);
      this.#loops.set(chain.key, { loop, firstPass: loop.start() });
    }
  }

  /** Resolves once a chain was looked at, whatever came of it. */
  async firstPass(key: string): Promise<void> {
    await this.#loops.get(key)?.firstPass;
  }

  /** Makes a chain's loop look at once. */
  wake(key: string): void {
    this.#loops.get(key)?.loop.wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const unopened = this.#app.chains.all().filter(({ key }) => !this.#loops.has(key));
    await Promise.all([
      ...[...this.#loops.values()].map(({ loop }) => loop.stop()),
      ...unopened.map(({ adapter }) => adapter.close()),
    ]);
  }

  #isNeeded(chain: ChainRuntime): boolean {
    return !chain.dormant || this.#app.directory.accounts().some(({ chainKey }) => chainKey === chain.key);
  }
}
