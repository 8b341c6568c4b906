/**
 * The choice of an address that pays, among what is really there: books that have more than the chain would sign a
 * payment that no node takes, and that blocks the nonce of its address.
 */
import { type AssetId, assetOf } from '../../../domain/assets.ts';
import { Rejected } from '../../../domain/errors.ts';
import { formatUnits, maxOf, minOf } from '../../../domain/money.ts';
import { chooseSender, type Sender } from '../../accounts.ts';
import type { AddressFunds, Holdings, PaymentRequest } from '../../spending.ts';
import { hexOfScript } from '../endpoint.ts';
import type { EvmSource } from './source.ts';

/** Addresses of one plan whose balances are asked for. */
const SENDERS_ASKED_MAX = 3;

/** `contract`: of the paid token; null: the coin is paid. */
type BackedPayment = Parameters<typeof chooseSender>[1] & { contract: string | null };

/**
 * The address that pays, as `chooseSender` chooses it from what operators agree is there. Throws
 * `Rejected('spend.unbacked')` where only the books have enough.
 */
export async function chooseBacked(
  source: EvmSource,
  request: PaymentRequest,
  paid: BackedPayment,
  limit: () => AbortSignal,
): Promise<Sender> {
  let { holdings } = request;
  let less: AddressFunds | null = null;
  for (let asked = 1; ; asked++) {
    const chosen = chosenOf({ ...request, holdings }, paid, less);
    const there = await fundsThere(source, chosen.sender, { asset: request.asset, ...paid }, limit);
    if (there === null) return chosen;
    less = there;
    if (asked === SENDERS_ASKED_MAX) throw unbacked(less, request.asset);
    holdings = withFunds(holdings, there);
  }
}

/** `less`: an address that was found to have less than its books. */
function chosenOf(request: PaymentRequest, paid: BackedPayment, less: AddressFunds | null): Sender {
  try {
    return chooseSender(request, paid);
  } catch (error) {
    const isShort = error instanceof Rejected && error.code === 'spend.insufficient';
    throw isShort && less ? unbacked(less, request.asset) : error;
  }
}

/** An address with what it really has, where that is less than its books have; else null. */
export async function fundsThere(
  source: EvmSource,
  funds: AddressFunds,
  { asset, feeAsset, contract }: { asset: AssetId; feeAsset: AssetId; contract: string | null },
  limit: () => AbortSignal,
): Promise<AddressFunds | null> {
  const there = await source.unitsAt(hexOfScript(funds.script), contract, limit());
  const units = { ...funds.units };
  const least = (of: AssetId, held: bigint): void => {
    // what open payments take is there until a block has them
    units[of] = minOf(funds.units[of] ?? 0n, maxOf(held - (funds.taken?.[of] ?? 0n), 0n));
  };
  least(feeAsset, there.coin);
  if (there.token !== null) least(asset, there.token);
  const isLess = [asset, feeAsset].some((of) => (units[of] ?? 0n) < (funds.units[of] ?? 0n));
  return isLess ? { ...funds, units } : null;
}

function withFunds(holdings: Holdings, there: AddressFunds): Holdings {
  const instead = (funds: AddressFunds): AddressFunds => (funds.address === there.address ? there : funds);
  return {
    ...holdings,
    balances: () => holdings.balances().map(instead),
    balance: (own) => instead(holdings.balance(own)),
  };
}

function unbacked({ address, units }: AddressFunds, asset: AssetId): Rejected {
  const there = `${formatUnits(units[asset] ?? 0n, assetOf(asset))} ${asset}`;
  const why = `The chain has less at ${address} than the books: ${there} can be spent there`;
  return new Rejected('spend.unbacked', `${why}. If it stays so, prove the books: \`countinghouse ledger\``);
}
