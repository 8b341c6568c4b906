/**
 * The live rates, asked for once somebody needs them: nothing is asked of the Internet before there is a business that
 * takes real money, unless the operator says so.
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

  /** Begins to ask, if anybody needs an answer; called again when a business was added. */
  begin(): void {
    const { config, directory } = this.#app;
    const needed = config.rates.live || directory.businesses().some(({ network }) => network === 'mainnet');
    if (needed) this.#service ??= this.#start();
  }

  /** The system's clock was set. */
  clockSet(): void {
    this.#service?.clockSet();
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }
}
