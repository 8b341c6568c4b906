/**
 * Compares the entries of an account chain with the balances of its addresses that two operators tell alike. The difference that
 * remains once every entry was asked about again can be adopted.
 *
 * Invariant: both are compared after one block that no ordinary reorganisation changes. Nothing is adopted at an address with a
 * payment under way, in or out, because its entry is still to come.
 */
import { type Standing, tipOf } from '../../chains/adapter.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import type { BlockId } from '../../domain/chain.ts';
import { formatUnits } from '../../domain/money.ts';
import { nonceOf } from '../../domain/spend.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { debitsInBlocksOf } from '../../store/queries/corrections.ts';
import { type CreditRow, creditsOfTarget, type TargetRow, targetById } from '../../store/queries/credits.ts';
import { keysOf, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import { unsettledSpends } from '../spends/facts.ts';
import { noteCorrections } from './corrections.ts';
import { applyReview } from './deny.ts';
import { Entries, isAdopted } from './entries.ts';

/** Addresses whose balances are asked for at a time. */
const TARGETS_PER_PAGE = 50;
export const TARGETS_MAX = 1_000;

/**
 * `booked` and `held`: smallest units after the block, by the entries and by the chain. They are the same where only transactions are missing
 * that moved nothing by now.
 */
export type Difference = { target: TargetRow; asset: AssetId; booked: bigint; held: bigint; block: BlockId };

type Spot = Pick<Difference, 'target' | 'asset'>;

/** Those differences at some addresses where two operators agree on what is there. Throws `Unavailable`. */
export async function differencesAt(
  app: App,
  chain: ChainRuntime,
  targetIds: readonly number[],
  signal: AbortSignal,
  at = deepBlock(app, chain),
): Promise<Difference[]> {
  const found: Difference[] = [];
  for await (const [target, standing, block] of standings(app, chain, targetIds, signal, at)) {
    for (const [asset, held] of standing.units) {
      const booked = bookedAt(app.store, target.id, asset, block.height);
      const isUncounted = asset === chain.adapter.spending?.feeAsset && chain.unbooked.has(target.id);
      const lacks = isUncounted && lacksSent(app.store, { target, asset }, standing.nonce, block.height);
      if (booked !== held || lacks) found.push({ target, asset, booked, held, block });
    }
  }
  return found;
}

/** Whether an address has sent more up to a height than the books have. An adopted balance of the coin contains that. */
function lacksSent(reader: Reader, { target: { id }, asset }: Spot, nonce: bigint, height: number): boolean {
  const debits = reader.all(debitsInBlocksOf, { target_id: id });
  return nonce > sentBy(reader, id, height) && !debits.some((row) => row.asset === asset && isAdopted(row));
}

/** Puts the differences into the books. Returns how many. Throws `Unavailable`. */
export async function adopt(
  app: App,
  chain: ChainRuntime,
  targetIds: readonly number[],
  signal: AbortSignal,
  at = deepBlock(app, chain),
): Promise<number> {
  const found = await differencesAt(app, chain, targetIds, signal, at);
  return app.store.write((tx) => {
    const checkpoint = checkpointOf(tx, chain);
    const entries = new Entries(app, chain, tx, () => undefined);
    const corrections = found.flatMap(({ target, asset, booked, held, block }) => {
      const isHere = checkpoint?.some(({ hash }) => hash === block.hash);
      if (!isHere || bookedAt(tx, target.id, asset, block.height) !== booked) return [];
      const holding = { target_id: target.id, account_id: target.account_id, asset };
      const ref = entries.adopt(holding, booked - held, block);
      return [{ kind: 'adopted' as const, ...holding, units: held - booked, ref, block_height: block.height }];
    });
    entries.flush();
    noteCorrections(app, tx, chain, corrections);
    tx.afterCommit(() =>
      app.log.info({ chain: chain.key, count: corrections.length }, 'balances of the chain were adopted'),
    );
    return corrections.length;
  });
}

/**
 * Takes out payments from inside contracts that the balance of their address contradicts: two operators say that it has less by just
 * these amounts, and every transaction that it ever sent is known. No list shows such payments, so nothing else can.
 */
export async function takeOutUnbacked(
  app: App,
  chain: ChainRuntime,
  targetIds: readonly number[],
  signal: AbortSignal,
): Promise<number> {
  const gone: CreditRow[] = [];
  for await (const [target, standing, block] of standings(app, chain, targetIds, signal)) {
    if (standing.nonce !== sentBy(app.store, target.id, block.height)) continue;
    for (const [asset, held] of standing.units) {
      const lacking = bookedAt(app.store, target.id, asset, block.height) - held;
      gone.push(...unbacked(app.store, target.id, asset, block.height, lacking));
    }
  }
  return applyReview(app, chain, { sent: [], gone });
}

/** The newest payments from inside that make up an amount; none if they do not. */
function unbacked(reader: Reader, target_id: number, asset: AssetId, height: number, lacking: bigint): CreditRow[] {
  let left = lacking;
  const taken: CreditRow[] = [];
  for (const row of reader.all(creditsOfTarget, { target_id }).toReversed()) {
    const isInside = row.txid === row.block_hash && (row.block_height ?? height + 1) <= height;
    if (row.gone || !isInside || row.asset !== asset || row.units > left) continue;
    left -= row.units;
    taken.push(row);
  }
  return left === 0n ? taken : [];
}

/** Addresses without a payment under way, with what two operators say of them after a block that is deep. */
async function* standings(
  app: App,
  chain: ChainRuntime,
  targetIds: readonly number[],
  signal: AbortSignal,
  block = deepBlock(app, chain),
): AsyncGenerator<[TargetRow, Standing, BlockId]> {
  const { witnesses } = chain.adapter;
  if (!witnesses || !block) return;
  const busy = underWay(app.store, chain);
  for (let at = 0; at < Math.min(targetIds.length, TARGETS_MAX); at += TARGETS_PER_PAGE) {
    const targets = targetIds.slice(at, at + TARGETS_PER_PAGE).flatMap((id) => {
      const target = app.store.get(targetById, { id });
      return target && !busy.has(target.address) && !awaits(app.store, id) ? [target] : [];
    });
    const told = await witnesses.standing(targets, block, signal);
    for (const [i, target] of targets.entries()) {
      const standing = told[i];
      if (standing) yield [target, standing, block];
    }
  }
}

export function deepBlock(app: App, chain: ChainRuntime): BlockId | null {
  const checkpoint = checkpointOf(app.store, chain);
  if (!checkpoint) return null;
  const height = tipOf(checkpoint).height - BURIED_BLOCKS[chain.adapter.chain];
  return checkpoint.findLast((block) => block.height <= height) ?? null;
}

/** The addresses whose nonces open payments have reserved. */
function underWay(reader: Reader, chain: ChainRuntime): Set<string> {
  const versions = unsettledSpends(reader, chain).flatMap(({ id }) => reader.all(versionsOf, { spend_id: id }));
  const keys = versions.flatMap(({ id }) => reader.all(keysOf, { version_id: id }));
  return new Set(keys.flatMap(({ conflict_key }) => nonceOf(conflict_key)?.address ?? []));
}

const awaits = (reader: Reader, target_id: number): boolean =>
  reader.all(creditsOfTarget, { target_id }).some((row) => !row.gone && row.block_height === null);

/** The units at an address by the entries in blocks up to a height. */
function bookedAt(reader: Reader, target_id: number, asset: AssetId, height: number): bigint {
  const sum = (rows: readonly { asset: string; units: bigint; block_height: number | null }[]): bigint =>
    rows.reduce((total, row) => {
      const isHere = row.asset === asset && row.block_height !== null && row.block_height <= height;
      return isHere ? total + row.units : total;
    }, 0n);
  const credits = reader.all(creditsOfTarget, { target_id }).filter(({ gone, locked }) => !gone && !locked);
  return sum(credits) - sum(reader.all(debitsInBlocksOf, { target_id }));
}

/** The transactions that an address sent up to a height: each paid a fee. */
function sentBy(reader: Reader, target_id: number, height: number): bigint {
  const fees = reader
    .all(debitsInBlocksOf, { target_id })
    .filter((row) => row.kind === 'fee' && !isAdopted(row) && (row.block_height ?? height + 1) <= height);
  return BigInt(new Set(fees.map(({ txid }) => txid)).size);
}

/** A difference as people read it, in whole coins. */
export const shownDifference = ({ target, asset, booked, held }: Difference) => ({
  address: target.address,
  asset,
  booked: formatUnits(booked, assetOf(asset)),
  held: formatUnits(held, assetOf(asset)),
});
