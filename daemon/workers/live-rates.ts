/**
 * Starts the live rates when they are needed. Without a business that takes real money, the program asks nothing of the
 * internet unless the operator configured it.
 */
import type { App } from '../app/app.ts';
import type { RatesService } from '../rates/refresher.ts';

export class LiveRates {
  readonly #app: App;
  readonly #start: () => RatesService;
  #service: RatesService | null = null;

  constructor(app: App, start: () => RatesService) {
    this.#app = app;
    this.#start = start;
  }

  /** Starts the rates if a business needs them. To be called again after a business was added. */
  begin(): void {
    const { config, directory } = this.#app;
    const needed = config.rates.live || directory.businesses().some(({ network }) => network === 'mainnet');
    if (needed) this.#service ??= this.#start();
  }

  /** To be called when the system's clock was set. */
  clockSet(): void {
    this.#service?.clockSet();
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }
}
