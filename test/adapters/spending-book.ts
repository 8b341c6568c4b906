/** The books of one account as a planner reads them, made from an adapter's updates alone. */
import type { OpenNonce } from '../../daemon/chains/adapter.ts';
import type { AddressFunds, Holdings, KeptTransactions } from '../../daemon/chains/spending.ts';
import type { AssetId } from '../../daemon/domain/assets.ts';
import type { Branch, Credit, Debit, DerivedAddress } from '../../daemon/domain/chain.ts';
import { Rejected } from '../../daemon/domain/errors.ts';
import { type Coin, nonceKey, nonceOf } from '../../daemon/domain/spend.ts';
import { FactBook } from './fact-book.ts';

type OwnAddress = DerivedAddress & { branch: Branch; index: number };

export class SpendingBook extends FactBook {
  readonly addresses = new Map<number, OwnAddress>();
  /** The conflict keys of plans whose transactions no update has shown yet. */
  readonly reserved = new Set<string>();
  /** The coins that key images spend, as the signer told them. */
  readonly keyImages = new Map<string, string>();

  own(place: OwnAddress): OwnAddress {
    this.addresses.set(this.watch(place), place);
    return place;
  }

  coinOfKeyImage(image: string): string | undefined {
    return this.keyImages.get(image);
  }

  override openNonces(): OpenNonce[] {
    return [...this.reserved].flatMap((key) => {
      const place = nonceOf(key);
      const [id, own] = [...this.addresses].find(([, { address }]) => address === place?.address) ?? [];
      if (!place || !own || id === undefined) return [];
      const usedIn = this.spentBy(key).length > 0 ? this.#blockOf(key) : null;
      return [{ target: { id, script: own.script }, key, nonce: place.nonce, txids: [], usedIn }];
    });
  }

  #blockOf(key: string): string | null {
    return [...this.spends.values()].find(({ outpoint }) => outpoint === key)?.block?.hash ?? null;
  }

  /** The funds of an asset; coins of other ones only where they are the fee's. */
  holdings(asset: AssetId, feeAsset: AssetId): Holdings {
    const coin = (outpoint: string): Coin => {
      const credit = this.credits.get(outpoint);
      if (!credit) throw new Rejected('spend.gone', outpoint);
      return this.#coinOf(credit);
    };
    const balance = ({ script }: Pick<DerivedAddress, 'script'>): AddressFunds => {
      const place = this.addresses.get(this.targetIdOf(script) ?? 0);
      if (!place) throw new Rejected('spend.gone', 'no address of ours');
      const units = [asset, feeAsset].map((one) => [one, this.#held(place, one)]);
      return { ...place, units: Object.fromEntries(units) };
    };
    const held = (funds: AddressFunds): bigint => funds.units[asset] ?? 0n;
    return {
      coin,
      coins: () => [this.#free(asset)],
      balance,
      balances: () =>
        [...this.addresses.values()]
          .map(balance)
          .filter((funds) => held(funds) > 0n)
          .sort((a, b) => Number(held(b) - held(a))),
      nextNonce: (address, used) => {
        let nonce = used;
        while (this.spentBy(nonceKey(address, nonce)).length > 0 || this.reserved.has(nonceKey(address, nonce)))
          nonce++;
        return nonce;
      },
    };
  }

  /** What the daemon would have stored of earlier transactions: nothing, so that the source is asked. */
  get kept(): KeptTransactions {
    return {
      signed: () => null,
      base: () => null,
      blockOf: (outpoint) => this.credits.get(outpoint)?.block?.hash ?? null,
      limit: () => AbortSignal.timeout(20_000),
    };
  }

  #free(asset: AssetId): Coin[] {
    const ripe = [...this.credits.values()].filter(
      ({ id, amount, block, maturity = 1, locked }) =>
        amount.asset === asset &&
        !locked &&
        block !== null &&
        this.tip.height - block.height + 1 >= Math.max(1, maturity) &&
        this.spentBy(id).length === 0 &&
        !this.reserved.has(id),
    );
    return ripe.map((credit) => this.#coinOf(credit));
  }

  #coinOf({ id, targetId, amount, block }: Credit): Coin {
    const place = this.addresses.get(targetId);
    if (!place) throw new Error(`target ${targetId} has a place`);
    const { script, branch, index } = place;
    const confirmations = block === null ? 0 : this.tip.height - block.height + 1;
    return { outpoint: id, units: amount.units, script, branch, index, confirmations };
  }

  #held({ script }: OwnAddress, asset: AssetId): bigint {
    const id = this.targetIdOf(script);
    const of = (entries: Iterable<Credit | Debit>): bigint =>
      [...entries]
        .filter(({ targetId, amount, block }) => targetId === id && amount.asset === asset && block !== null)
        .reduce((sum, { amount }) => sum + amount.units, 0n);
    return of(this.credits.values()) - of(this.debits.values());
  }
}
