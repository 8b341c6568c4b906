/**
 * The root of a list in a header: of a block's transactions, and of their receipts (Yellow Paper, appendix D: a Merkle
 * Patricia trie whose keys are the RLP of the places).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { encodeRlp, numberBytes, type Rlp } from '../../domain/rlp.ts';
import type { Pause } from '../slices.ts';

type Leaf = { nibbles: readonly number[]; value: Uint8Array };

const CHILDREN = 16;
const HASH_BYTES = 32;
/** The first nibble of a path (hex prefix): of a leaf or not, and of an odd number of nibbles or not. */
const LEAF = 2;
const ODD = 1;
/** A receipt may have megabytes, so it is hashed in parts. */
const HASHED_AT_ONCE = 65_536;

/** The root of these values in their order, hex with 0x. Works in short turns. */
export async function trieRoot(values: readonly Uint8Array[], pause: Pause): Promise<string> {
  const leaves = values.map((value, place) => ({ nibbles: nibblesOf(encodeRlp(numberBytes(BigInt(place)))), value }));
  return hexOf(await keccak(encodeRlp(await nodeOf(leaves, 0, pause)), pause));
}

/** The Keccak-256 hash of bytes of any length. */
export async function keccak(bytes: Uint8Array, pause: Pause): Promise<Uint8Array> {
  const hash = keccak_256.create();
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    hash.update(bytes.subarray(at, at + HASHED_AT_ONCE));
    const wait = pause();
    if (wait) await wait;
  }
  return hash.digest();
}

/** Bytes as hex with 0x. */
export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

/** The node of leaves that have their first `depth` nibbles in common. No key begins another one, so no branch has a value. */
async function nodeOf(leaves: readonly Leaf[], depth: number, pause: Pause): Promise<Rlp> {
  const [first] = leaves;
  if (!first) return new Uint8Array();
  if (leaves.length === 1) return [path(first.nibbles.slice(depth), LEAF), first.value];
  const shared = sharedFrom(leaves, depth);
  if (shared > depth) {
    const below = await referenceTo(await nodeOf(leaves, shared, pause), pause);
    return [path(first.nibbles.slice(depth, shared), 0), below];
  }
  const children: Rlp[] = [];
  for (let nibble = 0; nibble < CHILDREN; nibble++) {
    const own = leaves.filter(({ nibbles }) => nibbles[depth] === nibble);
    children.push(own.length === 0 ? new Uint8Array() : await referenceTo(await nodeOf(own, depth + 1, pause), pause));
  }
  return [...children, new Uint8Array()];
}

/** How a node names another one: by its hash, or a short one by itself. */
async function referenceTo(node: Rlp, pause: Pause): Promise<Rlp> {
  const encoded = encodeRlp(node);
  return encoded.length < HASH_BYTES ? node : keccak(encoded, pause);
}

/** Up to which nibble all leaves are alike. */
function sharedFrom([first, ...others]: readonly Leaf[], depth: number): number {
  let to = depth;
  while (others.every(({ nibbles }) => nibbles[to] === first?.nibbles[to])) to++;
  return to;
}

/** Nibbles as bytes, behind their kind. */
function path(nibbles: readonly number[], kind: number): Uint8Array {
  const isOdd = nibbles.length % 2 === 1;
  const all = isOdd ? [kind + ODD, ...nibbles] : [kind, 0, ...nibbles];
  return Uint8Array.from({ length: all.length / 2 }, (_, at) => (all[2 * at] ?? 0) * CHILDREN + (all[2 * at + 1] ?? 0));
}

const nibblesOf = (bytes: Uint8Array): number[] => [...bytes].flatMap((byte) => [byte >> 4, byte % CHILDREN]);
