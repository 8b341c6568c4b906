/**
 * Proofs that a transaction is in a block, from the block's header alone. A false proof is detected. An honest server is
 * never dropped, because a suspicious proof only requires further evidence.
 *
 * The tree has two weaknesses, both guarded here. Leaves and inner nodes are hashed alike, so that 64 bytes can be read as
 * either (CVE-2017-12842): a transaction of 64 bytes could be passed off as an inner node with an invented transaction
 * below it, or an inner node as a transaction. And an odd level repeats its last node, so that a transaction also has a
 * position that is beyond the block's last (CVE-2012-2459).
 */
import { fromReversedHex, sha256d } from '../../../../kit/bytes.ts';
import { slices } from '../../../slices.ts';
import { type ParsedTransaction, ParseError, parseAnyTransaction } from '../../block.ts';
import type { UtxoChain } from '../../params.ts';

/** The size of an inner node; an attack needs a transaction of the same size. */
const NODE_BYTES = 64;
/**
 * The longest possible branch. A block of BTC or LTC has at most 4,000,000 / 240 transactions (weight over minimum
 * weight), one of BCH far fewer than 2^32 / 65 bytes.
 */
const BRANCH_MAX: Readonly<Record<UtxoChain, number>> = { BTC: 15, LTC: 15, BCH: 26 };

/** A proof as `blockchain.transaction.get_merkle` gives it: the hashes beside the path, leaf first, as nodes print them. */
type MerkleBranch = { branch: readonly string[]; position: number };

/** The server's proof is wrong: the server lies, or means a block that is no longer on its chain. */
export class BadProof extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadProof';
  }
}

/**
 * The proof is right, but has an inner node that could also be a transaction. The probability is one in many millions;
 * an attacker needs such a node. The depth of the block's tree decides: ask for the proof of the block's first
 * transaction (`blockchain.transaction.id_from_pos` with position 0), pass it to `treeDepth`, and verify again with
 * that depth.
 */
export class DepthNeeded extends Error {
  constructor() {
    super('a node of the branch can be read as a transaction: the depth of the tree must be shown');
    this.name = 'DepthNeeded';
  }
}

export type MerkleClaim = MerkleBranch & {
  chain: UtxoChain;
  /** The whole transaction, in any serialisation. */
  raw: Uint8Array;
  /** Its expected id. */
  txid: string;
  /** From a header on the chain. */
  merkleRoot: string;
  /** The depth of the block's tree, if `treeDepth` has determined it. */
  depth?: number;
};

/**
 * Verifies that a transaction is in the block with this root, and returns the transaction. Throws `BadProof` if it is
 * not proved, `DepthNeeded` if the depth must be known.
 */
export async function verifyMerkle(claim: MerkleClaim): Promise<ParsedTransaction> {
  const { branch, position, depth } = claim;
  // large transactions are read only if the block has them
  const doubtful = climb(claim);
  const transaction = await readProven(claim);
  // a block's first transaction, and no other, is its coinbase: so a branch cannot end early at a coinbase
  if (transaction.coinbase !== (position === 0))
    throw new BadProof('only the first transaction of a block makes coins');
  if (depth !== undefined && depth !== branch.length) {
    throw new BadProof(`a branch of ${branch.length} in a tree of depth ${depth}`);
  }
  if (doubtful && depth === undefined) throw new DepthNeeded();
  return transaction;
}

/**
 * The depth of a block's tree, from the proof of its coinbase. It cannot be forged: 64 bytes that are both a coinbase
 * and an inner node would need a hash that ends in 27 zero bytes. Throws `BadProof`.
 */
export async function treeDepth(claim: Omit<MerkleClaim, 'position' | 'depth'>): Promise<number> {
  const first = { ...claim, position: 0 };
  climb(first);
  if (!(await readProven(first)).coinbase) throw new BadProof('the first transaction of a block makes coins');
  return claim.branch.length;
}

/** The transaction, if its bytes have the id and are not as long as an inner node. */
async function readProven({ chain, raw, txid }: MerkleClaim): Promise<ParsedTransaction> {
  let transaction: ParsedTransaction;
  try {
    transaction = await parseAnyTransaction(Buffer.from(raw.buffer, raw.byteOffset, raw.length), chain, slices());
  } catch (error) {
    if (error instanceof ParseError) throw new BadProof(`transaction ${txid} cannot be read: ${error.message}`);
    throw error;
  }
  if (transaction.txid() !== txid) throw new BadProof(`the bytes are not those of transaction ${txid}`);
  if (transaction.base().length === NODE_BYTES) throw new BadProof('a transaction of 64 bytes proves nothing');
  return transaction;
}

/** Hashes from the leaf up to the root. True if an inner node on the way could be a transaction. */
function climb({ chain, txid, branch, position, merkleRoot }: MerkleClaim): boolean {
  if (branch.length > BRANCH_MAX[chain]) throw new BadProof(`a branch of ${branch.length} nodes`);
  if (!Number.isSafeInteger(position) || position < 0 || position >= 2 ** branch.length) {
    throw new BadProof(`position ${position} is beyond a tree of depth ${branch.length}`);
  }
  let doubtful = false;
  let node: Buffer = fromReversedHex(txid);
  for (const [level, text] of branch.entries()) {
    const other = fromReversedHex(text);
    if (other.length !== node.length) throw new BadProof('a node of a branch is no hash');
    const isRight = Math.floor(position / 2 ** level) % 2 === 1;
    // only a right node is repeated: the right one of two equal nodes is beyond the last transaction
    if (isRight && other.equals(node)) throw new BadProof('a position beyond the last transaction');
    const pair = Buffer.concat(isRight ? [other, node] : [node, other]);
    doubtful ||= couldBeTransaction(pair);
    node = sha256d(pair);
  }
  if (!node.equals(fromReversedHex(merkleRoot))) throw new BadProof('the branch does not lead to the root');
  return doubtful;
}

/** Whether 64 bytes have the form of a transaction: one input, one output, and scripts of four bytes in total. */
export function couldBeTransaction(bytes: Uint8Array): boolean {
  const INPUTS_AT = 4;
  const INPUT_SCRIPT_AT = 41;
  const SCRIPTS_BYTES = 4;
  const inputScript = bytes[INPUT_SCRIPT_AT] as number;
  if (bytes[INPUTS_AT] !== 1 || inputScript > SCRIPTS_BYTES) return false;
  const outputsAt = INPUT_SCRIPT_AT + 1 + inputScript + 4;
  return bytes[outputsAt] === 1 && bytes[outputsAt + 9] === SCRIPTS_BYTES - inputScript;
}
