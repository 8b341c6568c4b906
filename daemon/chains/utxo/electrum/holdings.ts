/**
 * An Electrum server's own books of coins, script by script: asked of another server than the one that is followed where
 * there is one, so that the two check each other.
 *
 * Invariant: the answer is of one tip: when that moved meanwhile, all is asked again.
 */

import type { Network } from '../../../domain/assets.ts';
import type { BlockId } from '../../../domain/chain.ts';
import { Unavailable } from '../../../domain/errors.ts';
import type { HeldCoin, HoldingsSource, WatchedAccount } from '../../adapter.ts';
import { childPublicKey } from '../../hd.ts';
import { targetOf } from '../address.ts';
import type { UtxoChain } from '../params.ts';
import { inParallel } from './in-parallel.ts';
import { scriptHashOf } from './scripts.ts';
import type { WithClient } from './spending.ts';

const TRIES_MAX = 3;
const RETRY_SECONDS = 60;
/** Public servers count what they are asked: a proof at night may take its time. */
const ASKED_AT_ONCE = 10;
const DERIVED_AT_ONCE = 100;

export class ElectrumHoldings implements HoldingsSource {
  readonly #chain: UtxoChain;
  readonly #network: Network;
  readonly #with: WithClient;

  constructor(chain: UtxoChain, network: Network, withClient: WithClient) {
    this.#chain = chain;
    this.#network = network;
    this.#with = withClient;
  }

  coins(
    accounts: readonly WatchedAccount[],
    signal: AbortSignal,
  ): Promise<{ tip: BlockId; coins: HeldCoin[]; lessMempool: boolean }> {
    return this.#with(signal, async (client, asked) => {
      const server = client.set.others(asked)[0] ?? asked;
      for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
        const before = await server.askTip();
        const coins: HeldCoin[] = [];
        for (const scripts of this.#scripts(accounts)) {
          signal.throwIfAborted();
          await inParallel(scripts, ASKED_AT_ONCE, async (script) => {
            for (const coin of await server.unspent(scriptHashOf(script))) if (coin.height > 0) coins.push(coin);
          });
        }
        const after = await server.askTip();
        const { height, hash } = after;
        if (before.hash === hash) return { tip: { height, hash }, coins, lessMempool: true };
      }
      throw new Unavailable('the chain did not stand still while its coins were read', RETRY_SECONDS);
    });
  }

  /** Every script of the accounts, some at a time. */
  *#scripts(accounts: readonly WatchedAccount[]): Generator<Uint8Array[]> {
    for (const { key, receiving, change } of accounts) {
      for (const [branch, count] of [[0, receiving] as const, [1, change] as const]) {
        for (let from = 0; from < count; from += DERIVED_AT_ONCE) {
          const indices = Array.from({ length: Math.min(DERIVED_AT_ONCE, count - from) }, (_, i) => from + i);
          yield indices.map((i) => targetOf(childPublicKey(key, branch, i), this.#chain, this.#network).script);
        }
      }
    }
  }
}
