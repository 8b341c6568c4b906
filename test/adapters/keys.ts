/** The keys of the conformance suite's wallet: an account from a fixed seed, and its private half for spending. */
import { createHash } from 'node:crypto';
import { createBase58check } from '@scure/base';
import { HDKey } from '@scure/bip32';
import type { AccountKey } from '../../daemon/domain/chain.ts';

const node = HDKey.fromMasterSeed(Buffer.alloc(32, 7)).derive("m/84'/1'/0'");

const hex = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex');

export const testAccount: AccountKey = {
  kind: 'secp256k1',
  publicKey: hex(node.publicKey),
  chainCode: hex(node.chainCode),
};

const base58check = createBase58check((data: Uint8Array) => new Uint8Array(createHash('sha256').update(data).digest()));

/** The private key of a receiving address in wallet import format, as regtest nodes read it. */
export function privateKeyOf(index: number): string {
  const { privateKey } = node.deriveChild(0).deriveChild(index);
  if (!privateKey) throw new Error('no private key');
  return base58check.encode(Uint8Array.of(0xef, ...privateKey, 1));
}
