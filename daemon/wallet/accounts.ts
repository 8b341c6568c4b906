/**
 * Derives the public keys of a chain's account from a seed. A business watches its addresses with them.
 *
 * BTC and LTC follow BIP-84 (m/84'/coin'/account'), BCH, ETH and BSC follow BIP-44 (m/44'/coin'/account'; an address is
 * account/branch/index), Monero follows Ledger's convention. Coin types are SLIP-44's, ETH and BSC share 60, and every
 * network but mainnet has coin type 1 on every chain, so that no test key can ever hold live money.
 *
 * Invariant: private keys stay in this module, except Monero's of `moneroSecretOf`. They are wiped before a
 * function returns, as far as the language allows.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import type { ChainId, Network } from '../domain/assets.ts';
import type { AccountKey } from '../domain/chain.ts';
import { assert } from '../domain/errors.ts';

/** BIP-43 purpose, and the SLIP-44 coin type on mainnet. */
const PATHS: Readonly<Record<ChainId, { purpose: 44 | 84; coin: number }>> = {
  BTC: { purpose: 84, coin: 0 },
  LTC: { purpose: 84, coin: 2 },
  BCH: { purpose: 44, coin: 145 },
  ETH: { purpose: 44, coin: 60 },
  BSC: { purpose: 44, coin: 60 },
  XMR: { purpose: 44, coin: 128 },
};

const TEST_COIN = 1;
const ACCOUNT_MAX = 2 ** 31 - 1;

/** The public key of account `account` (0 to 2^31 - 1) of a chain on a network. The caller wipes the seed. */
export function accountKey(
  seed: Uint8Array,
  chain: ChainId,
  network: Network,
  account: number,
  imported: readonly ImportedMonero[] = [],
): AccountKey {
  const path = accountPath(chain, network, account);
  if (chain === 'XMR') return moneroAccount(moneroSecretOf(seed, network, account, imported));
  return withNode(seed, path, ({ publicKey, chainCode }) => {
    assert(publicKey && chainCode, 'a derived node has its keys');
    return { kind: 'secp256k1', publicKey: bytesToHex(publicKey), chainCode: bytesToHex(chainCode) };
  });
}

/** BIP-32's fingerprint of the master key, 8 hex digits: identifies a wallet without revealing anything else. */
export function masterFingerprint(seed: Uint8Array): string {
  return withNode(seed, [], (node) => node.fingerprint.toString(16).padStart(8, '0'));
}

/** The path of an account's node, with hardened indices. */
export function accountPath(chain: ChainId, network: Network, account: number): number[] {
  assert(Number.isInteger(account) && account >= 0 && account <= ACCOUNT_MAX, 'an account is from 0 to 2^31 - 1');
  const { purpose, coin } = PATHS[chain];
  return [purpose, network === 'mainnet' ? coin : TEST_COIN, account].map((index) => index + HARDENED_OFFSET);
}

/** Calls `use` with the node at a path, and wipes every private key on the way. */
function withNode<T>(seed: Uint8Array, path: readonly number[], use: (node: HDKey) => T): T {
  const nodes = [HDKey.fromMasterSeed(seed)];
  try {
    for (const index of path) nodes.push(last(nodes).deriveChild(index));
    return use(last(nodes));
  } finally {
    for (const node of nodes) node.wipePrivateData();
  }
}

function last(nodes: HDKey[]): HDKey {
  const node = nodes.at(-1);
  assert(node, 'a path has at least its master');
  return node;
}

/**
 * Ledger's convention: the keccak of the private key at m/44'/128'/account'/0/0 is the private spend key, the keccak of
 * that the private view key (both little-endian, modulo the group's order). So the 24 words restore the same Monero
 * wallet on a Ledger.
 */
function moneroSecret(node: HDKey): MoneroSecret {
  assert(node.privateKey, 'a derived node has its private key');
  return secretFrom(moneroScalar(keccak_256(node.privateKey)));
}

/** Both private keys from the spend key, as in Monero's own wallets. */
function secretFrom(spend: bigint): MoneroSecret {
  const spendBytes = ed25519.Point.Fn.toBytes(spend);
  const view = moneroScalar(keccak_256(spendBytes));
  spendBytes.fill(0);
  return { spend, view };
}

/** A Monero account whose key came from elsewhere, in place of the one from the seed. `spendKey`: the private key, hex. */
export type ImportedMonero = { network: Network; accountNo: number; spendKey: string };

/** The private keys of a Monero account, as numbers below the group's order. */
export type MoneroSecret = { spend: bigint; view: bigint };

/** The private keys of Monero account `account`. They cannot be wiped: they are freed with the process. */
export function moneroSecretOf(
  seed: Uint8Array,
  network: Network,
  account: number,
  imported: readonly ImportedMonero[] = [],
): MoneroSecret {
  const other = imported.find((one) => one.network === network && one.accountNo === account);
  if (other) return secretFrom(moneroScalar(Buffer.from(other.spendKey, 'hex')));
  return withNode(seed, [...accountPath('XMR', network, account), 0, 0], moneroSecret);
}

/** The public part of a Monero account, and the key that sees what it receives. */
export function moneroAccount({ spend, view }: MoneroSecret): AccountKey {
  const { BASE, Fn } = ed25519.Point;
  return { kind: 'monero', privateViewKey: bytesToHex(Fn.toBytes(view)), publicSpendKey: BASE.multiply(spend).toHex() };
}

function moneroScalar(digest: Uint8Array): bigint {
  const value = BigInt(`0x${bytesToHex(digest.reverse())}`);
  digest.fill(0);
  return ed25519.Point.Fn.create(value);
}
