/**
 * Finds transactions that concern us: outputs to watched scripts, and inputs that spend coins of ours. Each output and
 * each input is one lookup by index, so that the cost of a block does not depend on the number of watched addresses.
 */
import type { AssetId } from '../../domain/assets.ts';
import {
  type BlockId,
  type Credit,
  INPUTS_KEPT_MAX,
  OUTPUTS_PER_UNCONFIRMED_MAX,
  type SpendSeen,
} from '../../domain/chain.ts';
import type { WatchList } from '../adapter.ts';
import type { Pause } from '../slices.ts';
import { type ParsedInput, type ParsedTransaction, pegsOut, transactionsOf } from './block.ts';
import type { UtxoChain } from './params.ts';

export type MatchResult = { credits: Credit[]; spends: SpendSeen[] };

/** Confirmations before a coinbase may be spent, and a Litecoin peg-out (PEGOUT_MATURITY). */
export const COINBASE_MATURITY = 100;
export const PEG_OUT_MATURITY = 6;

/** Lookups within one transaction between two checks of the clock. Each transaction has one check besides. */
const LOOKUPS_PER_LOOK = 32;

export type Finder = {
  chain: UtxoChain;
  watch: WatchList;
  /** Outpoints credited by transactions just read, which the store does not have yet. Credits are added. */
  fresh: Set<string>;
  pause: Pause;
};

const outpointOf = ({ txid, vout }: ParsedInput): string => `${txid}:${vout}`;

/** Each of these chains carries only its native coin. */
const assetOfChain = (chain: UtxoChain): AssetId => chain;

/** The block of a transaction with its time (milliseconds since 1970); null: the mempool. */
type Inclusion = { block: BlockId; blockTime: number } | null;

/** Adds the credits and spends of one transaction to `found`. */
export async function findInTransaction(
  finder: Finder,
  transaction: ParsedTransaction,
  place: Inclusion,
  found: MatchResult,
): Promise<void> {
  const { watch, fresh, pause } = finder;
  const block = place?.block ?? null;
  let lookups = 0;
  const due = pause();
  if (due) await due;
  if (!transaction.coinbase) {
    for (const input of transaction.inputs) {
      const outpoint = outpointOf(input);
      if (fresh.has(outpoint) || watch.isOurCoin(outpoint)) {
        found.spends.push({ outpoint, txid: transaction.txid(), block, ...(place && { blockTime: place.blockTime }) });
      }
      const wait = ++lookups % LOOKUPS_PER_LOOK === 0 ? pause() : undefined;
      if (wait) await wait;
    }
  }
  let base: Uint8Array | undefined;
  let inputs: string[] | undefined;
  let room = place ? Number.POSITIVE_INFINITY : OUTPUTS_PER_UNCONFIRMED_MAX;
  for (const [n, output] of transaction.outputs.entries()) {
    const targetId = watch.targetIdOf(output.script);
    // an output of zero units is no credit
    if (targetId !== undefined && output.units > 0n && room > 0) {
      room--;
      const txid = transaction.txid();
      inputs ??= transaction.coinbase ? [] : transaction.inputs.slice(0, INPUTS_KEPT_MAX).map(outpointOf);
      const credit: Credit = {
        id: `${txid}:${n}`,
        txid,
        targetId,
        amount: { asset: assetOfChain(finder.chain), units: output.units },
        block,
        inputs,
      };
      if (place) {
        credit.blockTime = place.blockTime;
        base ??= transaction.base();
        credit.base = base;
      }
      if (transaction.coinbase) credit.maturity = COINBASE_MATURITY;
      else if (pegsOut(transaction, finder.chain)) credit.maturity = PEG_OUT_MATURITY;
      if (output.token) credit.locked = true;
      found.credits.push(credit);
      fresh.add(credit.id);
    }
    const wait = ++lookups % LOOKUPS_PER_LOOK === 0 ? pause() : undefined;
    if (wait) await wait;
  }
}

/** Adds the credits and spends of a block to `found`. Throws `ParseError`. */
export async function findInBlock(
  finder: Finder,
  bytes: Buffer,
  block: BlockId,
  blockTime: number,
  found: MatchResult,
): Promise<void> {
  const here: MatchResult = { credits: [], spends: [] };
  for (const transaction of transactionsOf(bytes, finder.chain)) {
    if (transaction) await findInTransaction(finder, transaction, { block, blockTime }, here);
    else await finder.pause();
  }
  // BCH orders a block by transaction id, so that a spend may precede the coin that it spends
  if (finder.chain === 'BCH' && here.credits.length > 0)
    await addEarlierSpends(finder, bytes, { block, blockTime }, here);
  for (const credit of here.credits) found.credits.push(credit);
  for (const spend of here.spends) found.spends.push(spend);
}

async function addEarlierSpends(
  finder: Finder,
  bytes: Buffer,
  place: NonNullable<Inclusion>,
  found: MatchResult,
): Promise<void> {
  const credited = new Set(found.credits.map((credit) => credit.id));
  for (const spend of found.spends) credited.delete(spend.outpoint);
  for (const transaction of transactionsOf(bytes, finder.chain)) {
    for (const input of transaction?.inputs ?? []) {
      const outpoint = outpointOf(input);
      if (transaction && credited.has(outpoint)) found.spends.push({ outpoint, txid: transaction.txid(), ...place });
    }
    const wait = finder.pause();
    if (wait) await wait;
  }
}
