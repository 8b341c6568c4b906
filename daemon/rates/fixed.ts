/**
 * Rates that no live source gives: the operator's manual rates and the sandbox's samples.
 *
 * Invariant: a network uses only its own manual rates, and only the sandbox uses samples.
 */
import { ASSETS, type Asset, NETWORKS, type Network } from '../domain/assets.ts';
import { FIAT } from '../domain/currencies.ts';
import { FIAT_DECIMALS, parseDecimal } from '../domain/money.ts';
import { SAMPLE_FIAT, SAMPLE_USD } from './samples.ts';

/** By network, then by asset or price symbol (US dollars per coin) or fiat code (units per US dollar): plain decimals. */
export type ManualRates = Partial<Record<Network, Record<string, string>>>;

type Table = ReadonlyMap<string, bigint>;

const KEYS = new Set([...ASSETS.flatMap((asset) => [asset.symbol, asset.priceSymbol]), ...Object.keys(FIAT)]);

function tableOf(rates: Readonly<Record<string, string>>, where: string): Table {
  const table = new Map<string, bigint>();
  for (const [key, text] of Object.entries(rates)) {
    if (!KEYS.has(key) || key === 'USD') throw new Error(`${where}: there is no asset or currency "${key}"`);
    const scaled = parseDecimal(text, FIAT_DECIMALS);
    if (!scaled) throw new Error(`${where}: ${key} must be a positive decimal with at most ${FIAT_DECIMALS} decimals`);
    table.set(key, scaled);
  }
  return table;
}

export class FixedRates {
  readonly #manual = new Map<Network, Table>();
  readonly #samples = tableOf({ ...SAMPLE_USD, ...SAMPLE_FIAT }, 'samples');

  /** Throws an Error that names the key on an unknown network, asset or currency, and on anything but a decimal. */
  constructor(manual: ManualRates) {
    for (const [name, rates] of Object.entries(manual)) {
      const network = NETWORKS.find((known) => known === name);
      if (!network) throw new Error(`networks.${name}.rates: there is no such network`);
      this.#manual.set(network, tableOf(rates, `networks.${name}.rates`));
    }
  }

  /** The network's manual price of an asset, 1e-8 dollars per coin. The asset's own symbol overrides its market's. */
  manualUsd(network: Network, asset: Asset): bigint | undefined {
    const table = this.#manual.get(network);
    return table?.get(asset.symbol) ?? table?.get(asset.priceSymbol);
  }

  /** The network's manual rate of a currency, 1e-8 units per dollar. */
  manualFiat(network: Network, code: string): bigint | undefined {
    return this.#manual.get(network)?.get(code);
  }

  /** The sample for a price symbol or fiat code; only on the sandbox. */
  sample(network: Network, key: string): bigint | undefined {
    return network === 'sandbox' ? this.#samples.get(key) : undefined;
  }
}
