/**
 * Public child derivation (BIP-32 CKDpub): every address of an account from its public key alone.
 *
 * Invariant: an index always gives the same key. A child that BIP-32 calls invalid (probability 2^-127) throws and is
 * never replaced by the next one.
 */
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { pointAdd, pointCompress, pointFromScalar } from 'tiny-secp256k1';
import type { AccountKey, Branch } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';

/** A BIP-32 node without its private key: a compressed point (33 bytes) and a chain code (32 bytes). */
type PublicNode = { publicKey: Uint8Array; chainCode: Uint8Array };

/** A node that has children: `point` is its point uncompressed (65 bytes), because reading a compressed one takes a square root. */
type Parent = PublicNode & { point: Uint8Array };

/** The largest non-hardened index. */
export const INDEX_MAX = 2 ** 31 - 1;

/** A branch node costs one derivation, like an address. A business uses two for each chain. */
const BRANCH_NODES_MAX = 512;
const branchNodes = new LRUCache<string, Parent>({ max: BRANCH_NODES_MAX });

/** Makes a node ready for the derivation of children. Throws on what is no point of the curve. */
export function parentOf({ publicKey, chainCode }: PublicNode): Parent {
  return { publicKey, chainCode, point: pointCompress(publicKey, false) };
}

/**
 * The child of a public node (BIP-32 CKDpub). Throws on a hardened index and on an invalid child. The multiple of the generator and
 * the sum are two calls: the library's single call for both uses its general multiplication, which takes half as long again.
 */
export function deriveChild(parent: Parent, index: number): PublicNode {
  assert(Number.isInteger(index) && index >= 0 && index <= INDEX_MAX, 'a public child has an index from 0 to 2^31 - 1');
  const data = Buffer.allocUnsafe(37);
  data.set(parent.publicKey, 0);
  data.writeUInt32BE(index, 33);
  const digest = createHmac('sha512', parent.chainCode).update(data).digest();
  // throws unless the tweak is from 1 to the curve's order - 1; null is the point at infinity
  const tweak = pointFromScalar(digest.subarray(0, 32), false);
  const publicKey = tweak && pointAdd(parent.point, tweak, true);
  assert(publicKey, `child ${index} is invalid (BIP-32)`);
  return { publicKey, chainCode: digest.subarray(32) };
}

/**
 * The compressed public key (33 bytes) at account/branch/index. Throws on a key that is no secp256k1 account, on an
 * index above 2^31 - 1, and on an invalid child.
 */
export function childPublicKey(account: AccountKey, branch: Branch, index: number): Uint8Array {
  assert(account.kind === 'secp256k1', 'a secp256k1 account derives public keys');
  const key = `${account.publicKey}${account.chainCode}${branch}`;
  let node = branchNodes.get(key);
  if (!node) {
    node = parentOf(deriveChild(accountNode(account.publicKey, account.chainCode), branch));
    branchNodes.set(key, node);
  }
  return deriveChild(node, index).publicKey;
}

function accountNode(publicKeyHex: string, chainCodeHex: string): Parent {
  const node = { publicKey: Buffer.from(publicKeyHex, 'hex'), chainCode: Buffer.from(chainCodeHex, 'hex') };
  assert(node.publicKey.length === 33 && node.chainCode.length === 32, 'an account is a BIP-32 node in hex');
  return parentOf(node);
}
