/** Reads whole blocks: every transaction of a block whose hash was asked for, and what became of one that cannot be read. */
import type { BlockId } from '../../domain/chain.ts';
import { ChainAlert } from '../../domain/errors.ts';
import { RULES_KNOWN } from '../../monero/block.ts';
import type { Transaction } from '../../monero/transaction.ts';
import { changed, idOf, type LinkedHeader } from '../checkpoint.ts';
import type { MoneroNode, NodeTransaction } from './node.ts';

type WholeBlock = { header: LinkedHeader; coinbase: Transaction; transactions: readonly NodeTransaction[] };

/** A transaction in a block that cannot be read here, although its bytes are those of its id. */
export type Odd = { txid: string; block: BlockId; reason: string };

/**
 * The blocks of these headers, in order. One transaction that cannot be read is left out, and told to `onOdd`; in a block of rules that
 * are newer than this program it stops the reading, because others of its form would pay us unseen. Throws `Unavailable`.
 */
export async function* wholeBlocks(
  node: MoneroNode,
  headers: readonly LinkedHeader[],
  signal: AbortSignal,
  onOdd: (odd: Odd) => void,
): AsyncGenerator<WholeBlock> {
  for (const header of headers) {
    const { version, coinbase, txids } = await node.block(header, signal);
    const left = new Set<string>();
    const known = await node.transactions(txids, signal, (txid, reason) => {
      if (version > RULES_KNOWN) throw tooNew(header.height, version);
      left.add(txid);
      onOdd({ txid, block: idOf(header), reason });
    });
    const transactions = txids.flatMap((txid) => known.get(txid) ?? []);
    if (transactions.length + left.size !== txids.length) throw changed();
    yield { header, coinbase, transactions };
  }
}

/** The alert that a block cannot be read, because its rules are newer than this program. */
export const tooNew = (height: number, version: number): ChainAlert =>
  new ChainAlert(
    `Block ${height} of Monero was made by rules ${version}, and this program knows those up to ${RULES_KNOWN}: its payments cannot be ` +
      'read. Install a newer version of this program; the chain is read on from here then',
  );
