/**
 * Reads the holdings that a chain's planner may spend. Reads outside a transaction, because `claim.ts` checks
 * everything again.
 */
import type { Holdings } from '../../chains/spending.ts';
import { Rejected } from '../../domain/errors.ts';
import type { Coin } from '../../domain/spend.ts';
import type { Reader } from '../../store/store.ts';
import { coinFrom } from '../addresses/watch.ts';
import { fundsOf } from './address-funds.ts';
import { coinAt, reservedBy, spendableCoins, tipHeightOf } from './coins.ts';
import type { Holder, PlanRequest } from './plan.ts';

/** Throws `Rejected` if a coin that the payment names does not exist, or is being spent. */
export function holdingsFor(reader: Reader, { chain, account, asset }: Holder, wanted: PlanRequest): Holdings {
  const tip = tipHeightOf(reader, chain);
  const coin = (outpoint: string): Coin => {
    const row = coinAt(reader, chain, outpoint);
    if (!row) throw new Rejected('spend.gone', `The coin ${outpoint} is not known any more`);
    return coinFrom(row, tip);
  };
  const coins = (): Coin[][] => {
    const { only } = wanted;
    if (only) {
      const taken = only.find((outpoint) => reservedBy(reader, chain, outpoint, 0) !== null);
      if (taken !== undefined) throw new Rejected('spend.reserved', `The coin ${taken} is being spent already`);
      return [only.map(coin)];
    }
    const { plain, undecided, change } = spendableCoins(reader, chain, account, asset, wanted.settledOnly ?? false);
    const all = [...plain, ...undecided, ...change];
    if (wanted.payouts.some(({ units }) => units === null)) return [all];
    return [plain, [...plain, ...undecided], all];
  };
  return {
    ...fundsOf(reader, { chain, account, asset }, wanted),
    ...{ coin, coins },
  };
}
