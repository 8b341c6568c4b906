/**
 * Proofs that a transaction is in a block, from the block's header alone. A server that lies about them is caught; one
 * that tells the truth never is, since what merely looks like an attack asks for further evidence.
 *
 * The tree has two weaknesses, both guarded here. Leaves and inner nodes are hashed alike, so that 64 bytes can be read
 * as either (CVE-2017-12842): a transaction of 64 bytes could be passed off as an inner node with an invented
 * transaction below it, or an inner node as a transaction. And an odd level repeats its last node, so that a
 * transaction also has a position that is beyond the block's last (CVE-2012-2459).
 */
import { fromReversedHex, sha256d } from '../../../../kit/bytes.ts';
import { slices } from '../../../slices.ts';
import { type ParsedTransaction, ParseError, parseAnyTransaction } from '../../block.ts';
import type { UtxoChain } from '../../params.ts';

/** What an inner node is made of, and what the attacks need a transaction to be as long as. */
const NODE_BYTES = 64;
/**
 * The longest branch that a block can have. A block of BTC or LTC has at most 4,000,000 / 240 transactions (weight over
 * the least of one), one of BCH 2^32 / 65 bytes by far.
 */
const BRANCH_MAX: Readonly<Record<UtxoChain, number>> = { BTC: 15, LTC: 15, BCH: 26 };

/** A proof as `blockchain.transaction.get_merkle` gives it: the hashes beside the path, leaf first, as nodes print them. */
export type MerkleBranch = { branch: readonly string[]; position: number };

/** The server's proof does not prove it: the server lies, or speaks of a block that is no longer on its chain. */
export class BadProof extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadProof';
  }
}

/**
 * The proof holds, but has an inner node that can also be read as a transaction. By chance that is one in many millions;
 * an attacker needs it. How deep the block's tree is tells which: ask for the proof of the block's first transaction
 * (`blockchain.transaction.id_from_pos` with position 0), give it to `treeDepth`, and verify again with that depth.
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
  /** The id that it must have. */
  txid: string;
  /** Of a header that is known to be on the chain. */
  merkleRoot: string;
  /** How deep the block's tree is, where `treeDepth` has shown it. */
  depth?: number;
};

/**
 * Verifies that a transaction is in the block with this root, and gives the transaction. Throws `BadProof` when it is
 * not shown, `DepthNeeded` when it is shown but for one doubt.
 */
export async function verifyMerkle(claim: MerkleClaim): Promise<ParsedTransaction> {
  const { branch, position, depth } = claim;
  // What takes long to read is read only when the block has it.
  const doubtful = climb(claim);
  const transaction = await readProven(claim);
  // The first transaction of a block is its coinbase, and no other is: so a branch cannot be cut off at a coinbase.
  if (transaction.coinbase !== (position === 0))
    throw new BadProof('only the first transaction of a block makes coins');
  if (depth !== undefined && depth !== branch.length) {
    throw new BadProof(`a branch of ${branch.length} in a tree of depth ${depth}`);
  }
  if (doubtful && depth === undefined) throw new DepthNeeded();
  return transaction;
}

/**
 * How deep a block's tree is, from the proof of its coinbase. It cannot be forged: 64 bytes that are both a coinbase and
 * an inner node would need a hash that ends in 27 zero bytes. Throws `BadProof`.
 */
export async function treeDepth(claim: Omit<MerkleClaim, 'position' | 'depth'>): Promise<number> {
  const first = { ...claim, position: 0 };
  climb(first);
  if (!(await readProven(first)).coinbase) throw new BadProof('the first transaction of a block makes coins');
  return claim.branch.length;
}

/** The transaction, if its bytes are that of the id and too many or too few for an inner node. */
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

/** Hashes from the leaf up to the root; true when an inner node on the way could be a transaction. */
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
    // A node is repeated on its right only: as the right one of two equals, it would be beyond the last transaction.
    if (isRight && other.equals(node)) throw new BadProof('a position beyond the last transaction');
    const pair = Buffer.concat(isRight ? [other, node] : [node, other]);
    doubtful ||= couldBeTransaction(pair);
    node = sha256d(pair);
  }
  if (!node.equals(fromReversedHex(merkleRoot))) throw new BadProof('the branch does not lead to the root');
  return doubtful;
}

/**
 * Whether 64 bytes have the form of a transaction. Only one with a single input and a single output is as short, and its
 * two scripts share four bytes.
 */
export function couldBeTransaction(bytes: Uint8Array): boolean {
  const INPUTS_AT = 4;
  const INPUT_SCRIPT_AT = 41;
  const SCRIPTS_BYTES = 4;
  const inputScript = bytes[INPUT_SCRIPT_AT] as number;
  if (bytes[INPUTS_AT] !== 1 || inputScript > SCRIPTS_BYTES) return false;
  const outputsAt = INPUT_SCRIPT_AT + 1 + inputScript + 4;
  return bytes[outputsAt] === 1 && bytes[outputsAt + 9] === SCRIPTS_BYTES - inputScript;
}
