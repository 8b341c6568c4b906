/**
 * The funds and nonces of single addresses on an account chain. The balance of an address is the running total of its
 * ledger entries. Open payments whose nonce no known transaction used yet reduce it.
 *
 * Invariant: the nonces of an address have no gap. A new payment gets the lowest free nonce, and it is signed only once
 * every lower nonce is used or has a signed transaction.
 */
import type { AddressFunds, Holdings, OwnAddress } from '../../chains/spending.ts';
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { maxOf } from '../../domain/money.ts';
import { nonceKey, nonceOf } from '../../domain/spend.ts';
import { addressBalance, addressesHolding } from '../../store/queries/address-balances.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { unsettledCredits } from '../../store/queries/credits.ts';
import { debitsOfTarget, debitsOfTransaction } from '../../store/queries/debits.ts';
import { usedKey } from '../../store/queries/used-keys.ts';
import { keysOf, openSpends, spendsOfKey, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { type OwnAddressRow, ownAddressOf, ownTarget } from '../addresses/watch.ts';
import { isAdopted } from '../books/entries.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { reservedBy } from './facts.ts';
import type { Holder } from './plan.ts';
import { readPlan } from './stored-plan.ts';

/** The addresses that one plan chooses from; those with the largest holdings. */
const ADDRESSES_READ_MAX = 20_000;
const UNSETTLED_A_PAGE = 20_000;

/** Smallest units of the chain's coin, by address. */
export type CoinReserve = ReadonlyMap<string, bigint>;

type AssetHolder = Pick<Holder, 'chain' | 'account' | 'asset'>;

/**
 * `settledOnly`: without credits that lack confirmations. `settledTokens`: without those of tokens, as the payment of a token that a
 * block includes before its money reverts, where that of the coin would wait. `conflictKeys`: what their payments take is free.
 */
type View = { settledOnly?: boolean; settledTokens?: boolean; conflictKeys?: readonly string[] };

/** The funds of an account's addresses, as a planner reads them. */
export function fundsOf(reader: Reader, { chain, account, asset }: AssetHolder, view: View) {
  const { feeAsset } = chain.spending;
  const assets = [...new Set([asset, feeAsset])];
  const taken = once(() => takenByOpenSpends(reader, chain, view.conflictKeys ?? []));
  const returned = once(() => takenByReplaced(reader, chain, view.conflictKeys ?? []));
  const young = once(() =>
    view.settledOnly || view.settledTokens ? unsettledUnits(reader, chain) : new Map<string, bigint>(),
  );
  const lacking = (id: number, of: AssetId): bigint =>
    view.settledOnly || of !== feeAsset ? (young().get(`${id} ${of}`) ?? 0n) : 0n;
  const targetOf = (own: OwnAddress) => ownTarget(reader, chain.key, own);
  const at = (target: OwnAddressRow): AddressFunds => {
    const units: { [of in AssetId]?: bigint } = {};
    const unconfirmed: { [of in AssetId]?: bigint } = {};
    const open: { [of in AssetId]?: bigint } = {};
    for (const one of assets) {
      const stored = reader.get(addressBalance, { target_id: target.id, asset: one })?.units ?? 0n;
      const held = stored + (returned().get(`${target.id} ${one}`) ?? 0n);
      const less = taken().get(`${target.address} ${one}`) ?? 0n;
      const free = maxOf(held - less, 0n);
      const settled = maxOf(free - lacking(target.id, one), 0n);
      units[one] = settled;
      unconfirmed[one] = free - settled;
      open[one] = less;
    }
    return { ...ownAddressOf(target), units, unconfirmed, taken: open };
  };
  return {
    balances: () =>
      reader
        .all(addressesHolding, { account_id: account.id, asset, limit: ADDRESSES_READ_MAX })
        .map(at)
        .filter(({ units, unconfirmed }) => (units[asset] ?? 0n) + (unconfirmed?.[asset] ?? 0n) > 0n),
    balance(own: OwnAddress): AddressFunds {
      const target = targetOf(own);
      if (target?.account_id !== account.id) throw new Rejected('spend.gone', 'This is no address of the account');
      return at(target);
    },
    nextNonce: (address: string, used: bigint) => nextNonce(reader, chain, address, used),
    lacksSent(own: OwnAddress & { address: string }, used: bigint): boolean {
      // what another program sent before the account came here is not in the books
      if (used === 0n || reader.get(accountById, { id: account.id })?.gap !== null) return false;
      if (nextNonce(reader, chain, own.address, used - 1n) >= used) return false;
      const target = targetOf(own);
      const debits = target ? reader.all(debitsOfTarget, { target_id: target.id, asset: feeAsset }) : [];
      const sent = new Set(debits.flatMap(({ kind, txid }) => (kind === 'fee' ? [txid] : [])));
      const lacks = !debits.some(isAdopted) && BigInt(sent.size) < used;
      if (lacks && target) chain.unbooked.add(target.id);
      return lacks;
    },
  };
}

/** The funds of an account without the coin that its addresses must keep. `gas/reserve.ts` knows how much that is. */
export function withoutReserve<F extends Pick<Holdings, 'balances' | 'balance'>>(
  funds: F,
  coin: AssetId,
  reserve: CoinReserve | null,
): F {
  if (reserve === null) return funds;
  const less = (one: AddressFunds): AddressFunds => {
    const kept = reserve.get(one.address);
    if (kept === undefined) return one;
    return { ...one, units: { ...one.units, [coin]: maxOf((one.units[coin] ?? 0n) - kept, 0n) } };
  };
  return { ...funds, balances: () => funds.balances().map(less), balance: (own) => less(funds.balance(own)) };
}

export const isTank = ({ branch, index }: AddressFunds, tank: number): boolean => branch === 1 && index === tank;

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function nextNonce(reader: Reader, chain: ChainRuntime, address: string, used: bigint): bigint {
  for (let nonce = used; ; nonce++) {
    const key = nonceKey(address, nonce);
    const isUsed = reader.get(usedKey, { conflict_key: key, chain_key: chain.key }) !== undefined;
    if (!isUsed && reservedBy(reader, chain, key, 0) === null) return nonce;
  }
}

/**
 * By "address asset": the units that open payments will take from an address. Of several versions of a payment only one
 * confirms, so the largest amount of each asset counts. Once the chain shows the use of the nonce, debits replace this.
 */
function takenByOpenSpends(reader: Reader, chain: ChainRuntime, exceptKeys: readonly string[]): Map<string, bigint> {
  const { feeAsset } = chain.spending;
  const except = new Set(
    exceptKeys.flatMap((conflict_key) =>
      reader.all(spendsOfKey, { conflict_key, chain_key: chain.key }).map(({ id }) => id),
    ),
  );
  const taken = new Map<string, bigint>();
  for (const { id, asset } of reader.all(openSpends, { chain_key: chain.key })) {
    if (except.has(id)) continue;
    const most = new Map<string, bigint>();
    for (const version of reader.all(versionsOf, { spend_id: id })) {
      const sender = senderOf(reader, chain, version.id);
      if (sender === null) continue;
      const plan = readPlan(version.plan);
      const units = new Map<string, bigint>([[feeAsset, plan.fee]]);
      for (const output of plan.outputs) {
        if (output.address === sender) continue;
        const of = (output.kind === 'change' && output.asset) || asset;
        units.set(of, (units.get(of) ?? 0n) + output.units);
      }
      for (const [of, sum] of units) most.set(`${sender} ${of}`, maxOf(most.get(`${sender} ${of}`) ?? 0n, sum));
    }
    for (const [key, sum] of most) taken.set(key, (taken.get(key) ?? 0n) + sum);
  }
  return taken;
}

/** By "target asset": the units that unconfirmed users of these keys took from addresses. Who replaces them has that. */
function takenByReplaced(reader: Reader, chain: ChainRuntime, conflictKeys: readonly string[]): Map<string, bigint> {
  const units = new Map<string, bigint>();
  for (const conflict_key of conflictKeys) {
    const use = reader.get(usedKey, { conflict_key, chain_key: chain.key });
    if (!use || use.block_hash !== null) continue;
    const range = { from: `${use.txid}:`, to: `${use.txid};`, chain_key: chain.key };
    for (const row of reader.all(debitsOfTransaction, range)) {
      if (row.target_id === null || row.block_hash !== null) continue;
      const key = `${row.target_id} ${row.asset}`;
      units.set(key, (units.get(key) ?? 0n) + row.units);
    }
  }
  return units;
}

/** The address whose unused nonce a version reserves; null: it reserves none, or the chain shows a user of it. */
function senderOf(reader: Reader, chain: ChainRuntime, versionId: number): string | null {
  for (const { conflict_key } of reader.all(keysOf, { version_id: versionId })) {
    const isUsed = reader.get(usedKey, { conflict_key, chain_key: chain.key }) !== undefined;
    if (!isUsed) return nonceOf(conflict_key)?.address ?? null;
  }
  return null;
}

/** By "target asset": the units of credits that count in the balance and lack confirmations. */
function unsettledUnits(reader: Reader, chain: ChainRuntime): Map<string, bigint> {
  const units = new Map<string, bigint>();
  for (let after = 0; ; ) {
    const page = reader.all(unsettledCredits, { chain_key: chain.key, after, limit: UNSETTLED_A_PAGE });
    for (const row of page) {
      const key = `${row.target_id} ${row.asset}`;
      if (row.counted && !row.confirmed) units.set(key, (units.get(key) ?? 0n) + row.units);
    }
    if (page.length < UNSETTLED_A_PAGE) return units;
    after = page.at(-1)!.id;
  }
}
