/**
 * The rules of a simulated chain, over the rows of one write transaction.
 *
 * Invariants. Heights are contiguous from the last pruned block to the tip, which never falls. An output is spent by one
 * transaction at most, in the mempool or in a block, and a transaction's parents stand before it. Premined coins exist only
 * as long as a transaction spends them, so that storage grows only with received coins that are unspent.
 */
import { createHash } from 'node:crypto';
import type { AssetId, ChainId } from '../domain/assets.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { isUtxo } from './addresses.ts';
import {
  PREMINED,
  type SandboxBlock,
  type SandboxChain,
  type SandboxOutput,
  type SandboxTransaction,
  type SandboxWriter,
} from './rows.ts';

/** The tip of a new chain: deep enough for any reorganisation, and above the rules for a chain's first blocks. */
const FIRST_TIP_HEIGHT = 200;
const FIRST_BLOCK_SPACING_MS = 10_000;
/** Between automatic blocks of a chain that nobody uses. */
const IDLE_BLOCK_MS = 600_000;

export const REORG_BLOCKS_MAX = 100;
const BLOCKS_KEPT_MAX = 1_000;
/** While its source is down, a chain keeps up to this many more blocks that were not read yet. */
const UNREAD_BLOCKS_MAX = 1_000;
/** Above 1, so that the blocks kept during an outage are removed slowly, after they were read. */
const PRUNED_PER_BLOCK_MAX = 2;
const MEMPOOL_TXS_MAX = 10_000;
const BLOCK_TXS_MAX = 2_000;
const TXS_KEPT_MAX = 100_000;

/** A transaction that was checked and may enter the mempool. */
export type Candidate = {
  txid: string;
  raw: string;
  inputs: readonly string[];
  outputs: readonly { script: Uint8Array; asset: AssetId; units: bigint }[];
};

/** SHA-256 in the chain's own way of writing hashes. */
export function hashFor(chain: ChainId, text: string): string {
  const digest = createHash('sha256').update(text).digest('hex');
  return chain === 'ETH' || chain === 'BSC' ? `0x${digest}` : digest;
}

/** The chain's row. Makes the chain with its first blocks if it does not exist. */
export function ensureChain(tx: SandboxWriter, chain: ChainId, now: number): SandboxChain {
  const known = tx.chain(chain);
  if (known) return known;
  tx.addChain(chain);
  for (let height = 0; height <= FIRST_TIP_HEIGHT; height++) {
    addBlock(tx, chain, Math.max(0, now - (FIRST_TIP_HEIGHT - height) * FIRST_BLOCK_SPACING_MS), []);
  }
  const made = tx.chain(chain);
  assert(made, 'a chain that was added is there');
  return made;
}

export function tipOfChain(tx: Pick<SandboxWriter, 'tip'>, chain: ChainId): SandboxBlock {
  const tip = tx.tip(chain);
  assert(tip, `the sandbox's ${chain} has blocks`);
  return tip;
}

function addBlock(tx: SandboxWriter, chain: ChainId, now: number, contents: SandboxTransaction[]): SandboxBlock {
  const parent = tx.tip(chain);
  const height = parent ? parent.height + 1 : 0;
  const time = Math.max(now, parent?.time ?? 0);
  const txids = contents.map(({ txid }) => txid);
  const header = [chain, height, parent?.hash ?? null, tx.nextSequence(chain), time, txids];
  const block = { height, hash: hashFor(chain, JSON.stringify(header)), time };
  tx.addBlock(chain, block);
  const last = contents.at(-1);
  if (last) tx.confirm(chain, last.id, height);
  return block;
}

/** How many more blocks may be mined now. A chain is full only if its source is down for long. */
export function roomForBlocks(tx: SandboxWriter, chain: ChainId): number {
  const row = tx.chain(chain);
  if (!row?.down) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, BLOCKS_KEPT_MAX + UNREAD_BLOCKS_MAX - (tipOfChain(tx, chain).height - row.pruned));
}

/**
 * Whether an automatic block is due: while a transaction waits, or the newest one could still leave its block, and every ten minutes. Each
 * block of a chain costs a write of its checkpoint, also where nobody has used the sandbox for months.
 */
export function isBlockDue(tx: SandboxWriter, chain: ChainId, now: number): boolean {
  const tip = tipOfChain(tx, chain);
  const newest = tx.newestMined(chain);
  const isBusy = tx.mempoolSize(chain) > 0 || (newest !== null && tip.height - newest < REORG_BLOCKS_MAX);
  return roomForBlocks(tx, chain) > 0 && (isBusy || now - tip.time >= IDLE_BLOCK_MS);
}

/** A block with the oldest transactions of the mempool. Prunes blocks that became too deep. */
export function mineBlock(tx: SandboxWriter, chain: ChainId, now: number, isOurs: IsOurs): SandboxBlock {
  const block = addBlock(tx, chain, now, tx.transactionsIn(chain, null, BLOCK_TXS_MAX));
  prune(tx, chain, block.height, isOurs);
  return block;
}

/**
 * Replaces the last `depth` blocks by `depth + 1` empty ones. Their transactions return to the mempool, or vanish, with
 * all that spend from them.
 */
export function reorganise(
  tx: SandboxWriter,
  chain: ChainId,
  options: { depth: number; drop: boolean; now: number },
): SandboxBlock {
  const { depth, drop, now } = options;
  const tip = tipOfChain(tx, chain);
  const base = tip.height - depth;
  if (depth > REORG_BLOCKS_MAX || base < 0 || !tx.blockAt(chain, base)) {
    throw new Rejected('sandbox.depth', `At most ${Math.min(REORG_BLOCKS_MAX, tip.height)} blocks can leave`, 'depth');
  }
  if (drop) {
    for (let height = base + 1; height <= tip.height; height++) {
      for (const { id } of tx.transactionsIn(chain, height, BLOCK_TXS_MAX)) {
        if (tx.transactionById(id)) evict(tx, chain, id);
      }
    }
  }
  tx.removeBlocksAbove(chain, base);
  tx.unconfirmAbove(chain, base);
  if (tx.mempoolSize(chain) > MEMPOOL_TXS_MAX) {
    throw new Rejected('sandbox.full', `More than ${MEMPOOL_TXS_MAX} transactions would return to the mempool`);
  }
  let last = tip;
  for (let i = 0; i <= depth; i++) last = addBlock(tx, chain, now, []);
  return last;
}

/** Throws `Rejected` when no further transaction can be taken. */
export function needRoom(tx: SandboxWriter, chain: ChainId): void {
  if (tx.mempoolSize(chain) >= MEMPOOL_TXS_MAX) {
    throw new Rejected('sandbox.full', `The mempool has ${MEMPOOL_TXS_MAX} transactions: mine some blocks`);
  }
  if ((tx.chain(chain)?.transactions ?? 0) >= TXS_KEPT_MAX) {
    throw new Rejected(
      'sandbox.full',
      `The chain has ${TXS_KEPT_MAX} transactions: mine ${BLOCKS_KEPT_MAX} blocks, or withdraw what was paid`,
    );
  }
}

/** Puts a transaction, whose coins are there and unspent, into the mempool. */
export function addToMempool(tx: SandboxWriter, chain: ChainId, candidate: Candidate, now: number): void {
  const { txid, raw, inputs, outputs } = candidate;
  const id = tx.addTransaction(chain, { txid, raw, inputs: [...inputs], createdAt: now });
  for (const outpoint of inputs) tx.setSpentBy(chain, outpoint, id);
  for (const [n, output] of outputs.entries()) {
    tx.addOutput(chain, { ...output, outpoint: `${txid}:${n}`, transactionId: id, spentBy: null });
  }
}

/** A transaction with all its descendants. */
export function withDescendants(tx: SandboxWriter, id: number): Set<number> {
  const found = new Set([id]);
  // Iterating a set includes elements that are added meanwhile.
  for (const each of found) {
    for (const { spentBy } of tx.outputsOf(each)) if (spentBy !== null) found.add(spentBy);
  }
  return found;
}

/** Removes a transaction and all that descend from it; the coins that they spent are unspent again. */
export function evict(tx: SandboxWriter, chain: ChainId, id: number): void {
  for (const each of withDescendants(tx, id)) {
    for (const coin of tx.spentBy(each)) {
      if (coin.transactionId === PREMINED) tx.removeOutput(chain, coin.outpoint);
      else tx.setSpentBy(chain, coin.outpoint, null);
    }
    tx.removeTransaction(chain, each);
  }
}

/** Whether a script is watched. */
export type IsOurs = (script: Uint8Array) => boolean;

function prune(tx: SandboxWriter, chain: ChainId, tip: number, isOurs: IsOurs): void {
  const row = tx.chain(chain);
  if (!row || row.down) return;
  const last = Math.min(tip - BLOCKS_KEPT_MAX, row.pruned + PRUNED_PER_BLOCK_MAX);
  if (last <= row.pruned) return;
  for (let height = row.pruned + 1; height <= last; height++) pruneBlock(tx, chain, height, isOurs);
  tx.setPruned(chain, last);
}

/** Removes the data of a buried block, except our unspent coins and coins that a shallower block spends. */
function pruneBlock(tx: SandboxWriter, chain: ChainId, height: number, isOurs: IsOurs): void {
  const emptied = new Set([height]);
  const forget = (coin: SandboxOutput): void => {
    tx.removeOutput(chain, coin.outpoint);
    if (coin.transactionId === PREMINED || tx.outputsOf(coin.transactionId).length > 0) return;
    const parent = tx.transactionById(coin.transactionId);
    if (parent?.height != null) emptied.add(parent.height);
    tx.removeTransaction(chain, coin.transactionId);
  };
  for (const { id } of tx.transactionsIn(chain, height, BLOCK_TXS_MAX)) {
    for (const coin of tx.spentBy(id)) forget(coin);
    // The bytes of a real transaction are needed again when its outputs are spent.
    if (!isUtxo(chain)) tx.forgetRaw(id);
    const outputs = tx.outputsOf(id);
    if (outputs.length === 0) tx.removeTransaction(chain, id);
    for (const output of outputs) if (output.spentBy === null && !isOurs(output.script)) forget(output);
  }
  // The first block stays, for an adapter with a birthday before all blocks.
  emptied.delete(0);
  for (const each of emptied) if (tx.transactionsIn(chain, each, 1).length === 0) tx.removeBlock(chain, each);
}
