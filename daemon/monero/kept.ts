/**
 * The stored form of a Monero transaction, kept until its outputs are spent: its bytes without signatures, the hash of
 * the signatures, and the number of its first output among all outputs of the chain. The other outputs have the next
 * numbers.
 */
import { Malformed } from '../domain/errors.ts';
import { parseTransaction, type Transaction } from './transaction.ts';

type KeptTransaction = { firstIndex: number; transaction: Transaction };

const INDEX_BYTES = 8;
const HASH_BYTES = 32;

/** `prunableHash`: hex. `pruned`: the bytes without signatures; of version 1, whose id is the hash of all, with them. */
export function writeKept(firstIndex: number, prunableHash: string, pruned: Uint8Array): Uint8Array {
  const index = Buffer.alloc(INDEX_BYTES);
  index.writeBigUInt64LE(BigInt(firstIndex));
  return Buffer.concat([index, Buffer.from(prunableHash, 'hex'), pruned]);
}

/** The inverse; its id is the hash of its bytes. The index is only a node's statement. Throws `Malformed`. */
export function readKept(bytes: Uint8Array): KeptTransaction {
  if (bytes.length <= INDEX_BYTES + HASH_BYTES) throw new Malformed('bytes that are no transaction');
  const [index, hash] = [bytes.subarray(0, INDEX_BYTES), bytes.subarray(INDEX_BYTES, INDEX_BYTES + HASH_BYTES)];
  const pruned = bytes.subarray(INDEX_BYTES + HASH_BYTES);
  const firstIndex = Number(Buffer.from(index).readBigUInt64LE());
  return { firstIndex, transaction: parseTransaction(pruned, Buffer.from(hash).toString('hex')) };
}
