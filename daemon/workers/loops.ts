/** The sync loops of all chains. A chain of the defaults connects to nothing until a business uses it. */
import type { App } from '../app/app.ts';
import { isNeeded } from '../app/chains/needed.ts';
import { SyncLoop } from './sync.ts';

export class SyncLoops {
  readonly #app: App;
  readonly #loops = new Map<string, { loop: SyncLoop; firstPass: Promise<void> }>();
  #stopped = false;

  constructor(app: App) {
    this.#app = app;
  }

  /** Starts the loop of every chain that is needed. */
  begin(): void {
    if (this.#stopped) return;
    for (const chain of this.#app.chains.all()) {
      if (this.#loops.has(chain.key) || !isNeeded(this.#app, chain)) continue;
      chain.dormant = false;
      const loop = new SyncLoop(this.#app, chain);
      this.#loops.set(chain.key, { loop, firstPass: loop.start() });
    }
  }

  /** Resolves after the first pass of a chain's loop, successful or not. */
  async firstPass(key: string): Promise<void> {
    await this.#loops.get(key)?.firstPass;
  }

  /** Starts the next pass of a chain's loop at once. */
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
}
