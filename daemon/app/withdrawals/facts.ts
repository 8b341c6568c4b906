/**
 * What the chain says of the transactions that were signed for a payment: where each of them is, what it lacks, and
 * whether it can still be in a block. Read from the coins that they spend, anew each time.
 *
 * Invariant: a transaction counts as impossible only by what a block holds: another spender of one of its inputs, or of an
 * input of the transaction that made one of them and vanished.
 */
import type { VersionFact } from '../../domain/withdrawal.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import {
  deadTransaction,
  inputsOf,
  type SpendRow,
  type VersionRow,
  versionByTxid,
  versionsOf,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { isSoleChange, reservedBy } from './coins.ts';

/** Transactions of ours in a row that are looked through: nodes take 25 unconfirmed ones. */
const ANCESTORS_MAX = 100;

/** An input that is not there for a transaction: its coin left the chain, or somebody else spent it. */
export type Lack = {
  outpoint: string;
  /** What spends it in place of the transaction; null: the coin itself is gone. */
  spentBy: string | null;
};

export type Known = VersionFact & {
  version: VersionRow;
  /** In the order of the outpoints. */
  inputs: string[];
  /** The first input without which it cannot be sent now; null: it lacks none. */
  lack: Lack | null;
  /** Whether one of its inputs left the chain. */
  vanished: boolean;
  /** What made it impossible; null while nothing in a block did. */
  killer: string | null;
};

/** The signed versions of a spend, oldest first. */
export function versionFacts(reader: Reader, spend: SpendRow, tipHeight: number): Known[] {
  const versions = reader.all(versionsOf, { spend_id: spend.id }).filter(({ txid }) => txid !== null);
  const own = new Set(versions.map(({ txid }) => txid));
  return versions.map((version) => factOf(reader, version, own, tipHeight));
}

function factOf(reader: Reader, version: VersionRow, own: ReadonlySet<string | null>, tipHeight: number): Known {
  const { chain_key } = version;
  const inputs = reader.all(inputsOf, { version_id: version.id }).map(({ outpoint }) => outpoint);
  const known: Known = { version, inputs, depth: null, dead: 0, lack: null, vanished: false, killer: null };
  for (const outpoint of inputs) {
    const coin = reader.get(creditByOutpoint, { outpoint, chain_key });
    const spender = coin?.gone === false ? coin.spent_txid : null;
    const depth = depthOf(coin?.spent_block_height ?? null, tipHeight);
    if (spender !== null && spender === version.txid) known.depth = Math.max(known.depth ?? 0, depth);
    else if (spender !== null && (depth > 0 || !own.has(spender))) known.lack ??= { outpoint, spentBy: spender };
    if (coin?.gone === false) continue;
    known.vanished = true;
    known.lack ??= { outpoint, spentBy: null };
  }
  return { ...known, ...deathOf(reader, version, tipHeight, ANCESTORS_MAX) };
}

const depthOf = (height: number | null, tipHeight: number): number =>
  height === null ? 0 : Math.max(0, tipHeight - height + 1);

type Death = { dead: number; killer: string | null };
const ALIVE: Death = { dead: 0, killer: null };
const surer = (a: Death, b: Death): Death => (b.dead > a.dead ? b : a);

/** How deep the block is that makes one of our transactions impossible. */
function deathOf(reader: Reader, version: VersionRow, tipHeight: number, left: number): Death {
  const { chain_key, txid } = version;
  return reader.all(inputsOf, { version_id: version.id }).reduce<Death>((found, { outpoint }) => {
    const coin = reader.get(creditByOutpoint, { outpoint, chain_key });
    if (coin?.gone !== false) return surer(found, vanishedOf(reader, outpoint, chain_key, tipHeight, left));
    if (coin.spent_txid === null || coin.spent_txid === txid) return found;
    return surer(found, { dead: depthOf(coin.spent_block_height, tipHeight), killer: coin.spent_txid });
  }, ALIVE);
}

/** The same of a transaction that made a coin which is gone. */
function vanishedOf(reader: Reader, outpoint: string, chain_key: string, tipHeight: number, left: number): Death {
  const txid = txidOf(outpoint);
  const ours = reader.get(versionByTxid, { txid, chain_key });
  if (ours) return left > 0 ? deathOf(reader, ours, tipHeight, left - 1) : ALIVE;
  const row = reader.get(deadTransaction, { txid, chain_key });
  return row ? { dead: depthOf(row.block_height, tipHeight), killer: row.conflict_txid } : ALIVE;
}

export const txidOf = (outpoint: string): string => outpoint.slice(0, outpoint.indexOf(':'));

/** Whether another version may spend this coin: it is there, and nothing but versions of the same spend wants it. */
export function isUsable(reader: Reader, spend: SpendRow, known: readonly Known[], outpoint: string): boolean {
  const coin = reader.get(creditByOutpoint, { outpoint, chain_key: spend.chain_key });
  if (coin?.gone !== false || coin.spent_block_hash !== null) return false;
  const shaky = coin.own_change && coin.block_hash === null;
  if (shaky && !isSoleChange(reader, { key: spend.chain_key }, coin.txid)) return false;
  const mine = coin.spent_txid === null || known.some(({ version }) => version.txid === coin.spent_txid);
  return mine && reservedBy(reader, { key: spend.chain_key }, outpoint, spend.id) === null;
}

/**
 * The coins that the next version has to spend, so that none of the earlier ones can confirm beside it: what is still
 * usable of the newest one's, with the anchor while that exists, and of each other one that shares none of these, one
 * more. Null when one of them has no usable coin left: nothing can take its place.
 */
export function conflictingCoins(reader: Reader, spend: SpendRow, known: readonly Known[]): string[] | null {
  const newest = known.at(-1);
  if (!newest) return null;
  const usable = (outpoint: string): boolean => isUsable(reader, spend, known, outpoint);
  const kept = new Set([...newest.inputs, spend.anchor].filter(usable));
  for (const { inputs } of known) {
    if (inputs.some((outpoint) => kept.has(outpoint))) continue;
    const found = inputs.find(usable);
    if (found === undefined) return null;
    kept.add(found);
  }
  return [...kept];
}
