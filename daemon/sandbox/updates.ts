/**
 * Computes the updates of a simulated chain: the facts since a checkpoint, found as a real node's adapter finds them.
 *
 * Invariant: each update shows one moment (all reads happen in one turn of the event loop). A long catch-up is done in
 * steps of limited size.
 */
import { tipOf, type WatchList } from '../chains/adapter.ts';
import { type ChainId, nativeAsset } from '../domain/assets.ts';
import {
  type BlockId,
  CHECKPOINT_BLOCKS_MAX,
  type ChainUpdate,
  type Checkpoint,
  type Credit,
  type Debit,
  INPUTS_KEPT_MAX,
  type SpendSeen,
} from '../domain/chain.ts';
import { present, Unavailable } from '../domain/errors.ts';
import { MONERO_LOCK_BLOCKS } from '../domain/finality.ts';
import { nonceOf } from '../domain/spend.ts';
import { scriptAt } from './addresses.ts';
import { tipOfChain } from './consensus.ts';
import type { SandboxBlock, SandboxContents, SandboxReader, SandboxTransaction } from './rows.ts';
import { decodeAccount, isAccountChain, isNonceOutput, isRest } from './simulated-accounts.ts';

const STEP_BLOCKS_MAX = 100;
/** A step ends with the block that exceeds this. */
const STEP_TXS_MAX = 2_000;
const FOREIGN_RETRY_SECONDS = 60;

type FactLists = { credits: Credit[]; spends: SpendSeen[]; debits: Debit[] };

/** The last blocks up to a height, without gaps. */
export function checkpointAt(rows: SandboxReader, chain: ChainId, height: number): Checkpoint {
  const blocks = rows.blocksUpTo(chain, height, CHECKPOINT_BLOCKS_MAX);
  const top = blocks.at(-1)?.height ?? 0;
  // Of the deep blocks only those with needed transactions are kept.
  return blocks
    .filter((block, i) => top - block.height === blocks.length - 1 - i)
    .map(({ height: at, hash }) => ({ height: at, hash }));
}

/**
 * The update against a checkpoint; null if the chain is lower without contradicting it. Throws `Unavailable` if the two
 * have no block in common.
 */
export function updateSince(
  rows: SandboxReader,
  chain: ChainId,
  since: Checkpoint,
  watch: WatchList,
): ChainUpdate | null {
  const tip = tipOfChain(rows, chain);
  const { base, orphaned } = forkFrom(rows, chain, since);
  if (orphaned.length > 0 && orphaned.every(({ height }) => height > tip.height)) return null;

  const found: FactLists = { credits: [], spends: [], debits: [] };
  const ours = new Set<string>();
  let reached = base;
  let read = 0;
  for (const block of rows.blocksAbove(chain, base, STEP_BLOCKS_MAX)) {
    read += collect(rows, chain, block, { watch, found, ours });
    reached = block.height;
    if (read > STEP_TXS_MAX) break;
  }
  const isAtTip = reached === tip.height;
  const { credits, spends, debits } = found;
  if (isAtTip) collect(rows, chain, null, { watch, found, ours });
  return {
    since: tipOf(since),
    checkpoint: checkpointAt(rows, chain, reached),
    orphaned,
    targets: 'all',
    mempool: isAtTip ? 'complete' : 'unknown',
    credits,
    spends,
    ...(isAccountChain(chain) && { debits }),
  };
}

/** The height up to which a checkpoint still holds, and its blocks above, ascending. */
function forkFrom(rows: SandboxReader, chain: ChainId, since: Checkpoint): { base: number; orphaned: BlockId[] } {
  const pruned = rows.chain(chain)?.pruned ?? -1;
  const orphaned: BlockId[] = [];
  for (const block of since.toReversed()) {
    const hash = rows.blockAt(chain, block.height)?.hash;
    // A pruned block is far deeper than any reorganisation reaches.
    if (hash === block.hash || (hash === undefined && block.height <= pruned)) return { base: block.height, orphaned };
    orphaned.unshift(block);
  }
  // Reorganisations are shallower than a checkpoint, so these blocks are of another database.
  throw new Unavailable('The sandbox shares none of the blocks known here', FOREIGN_RETRY_SECONDS);
}

/** Finds our credits and spends in a block or in the mempool (null). Returns the number of its transactions. */
function collect(
  rows: SandboxReader,
  chain: ChainId,
  block: SandboxBlock | null,
  into: { watch: WatchList; found: FactLists; ours: Set<string> },
): number {
  const { watch, found, ours } = into;
  const contents = rows.contents(chain, block?.height ?? null);
  const at = block && { height: block.height, hash: block.hash };
  for (const { transaction, outputs } of contents) {
    const { txid, inputs, raw } = transaction;
    const sender = isAccountChain(chain) ? senderOf(chain, transaction, watch) : null;
    if (sender) leave(chain, { transaction, outputs }, { sender, at, block, watch, found });
    for (const outpoint of inputs) {
      // A coin of this update is not in the store yet.
      if (ours.has(outpoint) || watch.isOurCoin(outpoint)) {
        found.spends.push({ outpoint, txid, block: at, ...(block && { blockTime: block.time }) });
      }
    }
    for (const { outpoint, script, asset, units } of outputs) {
      // the rest of a sender's money is no transfer, unless all earlier blocks are pruned
      if (isNonceOutput(outpoint) || (isRest(outpoint) && raw !== null)) continue;
      const targetId = watch.targetIdOf(script);
      if (targetId === undefined) continue;
      ours.add(outpoint);
      found.credits.push({
        id: outpoint,
        txid,
        targetId,
        amount: { asset, units },
        block: at,
        ...(block && { blockTime: block.time }),
        inputs: inputs.slice(0, INPUTS_KEPT_MAX),
        replaceable: block === null,
        ...(chain === 'XMR' && { maturity: MONERO_LOCK_BLOCKS }),
        ...(sender !== null && isOfAccount(watch, targetId, sender) && { moved: true }),
      });
    }
  }
  return contents.length;
}

/** The target of ours that sent a transaction of an account chain; null: it is none of ours. */
function senderOf(chain: ChainId, { inputs }: SandboxTransaction, watch: WatchList): number | null {
  const address = nonceOf(inputs[0] ?? '')?.address;
  const script = address === undefined ? null : scriptAt(chain, address);
  return (script && watch.targetIdOf(script)) ?? null;
}

const isOfAccount = (watch: WatchList, targetId: number, sender: number): boolean =>
  watch.accountOf(targetId) !== undefined && watch.accountOf(targetId) === watch.accountOf(sender);

/** Reports the nonce that a transaction of ours used, and the amounts that left its sender. */
function leave(
  chain: ChainId,
  { transaction, outputs }: SandboxContents,
  into: { sender: number; at: BlockId | null; block: SandboxBlock | null; watch: WatchList; found: FactLists },
): void {
  const { sender: targetId, at, block, watch, found } = into;
  const { txid, inputs, raw } = transaction;
  const time = block && { blockTime: block.time };
  const key = present(inputs[0], 'nonce of a transaction of ours');
  const sent = raw === null ? null : decodeAccount(chain, raw);
  const transfer = outputs.find(({ outpoint }) => outpoint === `${txid}:0`);
  const failed = sent !== null && sent.transfer !== null && !transfer;
  found.spends.push({ outpoint: key, txid, block: at, ...time, ...(failed && { failed }) });
  if (!sent) return;
  const fee = { asset: nativeAsset(chain).symbol, units: sent.fee };
  if (fee.units > 0n)
    found.debits.push({ id: `${txid}:fee`, txid, targetId, kind: 'fee', amount: fee, block: at, ...time });
  if (!transfer) return;
  const to = watch.targetIdOf(transfer.script);
  const kind = to !== undefined && isOfAccount(watch, to, targetId) ? 'moved' : 'paid';
  const { asset, units } = transfer;
  found.debits.push({ id: transfer.outpoint, txid, targetId, kind, amount: { asset, units }, block: at, ...time });
}
