/**
 * Judges a signed Monero transaction before it leaves the signer, with the private key that the library made for it:
 * whom each output pays and how much, the fee, and what it spends.
 *
 * Invariant: every output is recomputed, one-time key and commitment, and every receiver can find his output with the
 * public keys in the transaction. So the library is not trusted either.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { RingMember } from '../../../domain/spend.ts';
import { Point, pointOf, scalarOf, sharedSecret } from '../../../monero/curve.ts';
import { openOutput } from '../../../monero/output.ts';
import type { Transaction } from '../../../monero/transaction.ts';
import { differs } from '../judged.ts';

/** A wanted output. `address`: the 65 or 73 bytes of an address. `isOwn`: our change. */
export type Expected = { address: Uint8Array; isSubaddress: boolean; units: bigint; isOwn: boolean };

/** The content that a transaction must have. `rings`: by key image, of exactly the inputs. */
export type Content = {
  outputs: Expected[];
  fee: bigint;
  rings: ReadonlyMap<string, readonly RingMember[]>;
  view: bigint;
};

const KEY_CHARS = 64;
const PAYMENT_ID_AT = 65;
const PAYMENT_ID_DOMAIN = 0x8d;
const NONCE_PAYMENT_ID = 1;

const same = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && Buffer.compare(a, b) === 0;

/** Throws `Rejected('signer.differs')` for any other content. `keys`: the transaction's private keys, in hex. */
export function checkSigned(signed: Transaction, keys: string, content: Content): void {
  const { outputs, fee, rings } = content;
  if (signed.isCoinbase || signed.unlockTime !== 0n) throw differs('the signed transaction is locked');
  if (signed.fee !== fee) throw differs(`the signed transaction has a fee of ${signed.fee}`);
  checkInputs(signed, rings);
  if (signed.outputs.length !== outputs.length) throw differs('the signed transaction has other outputs');
  const isPlain = signed.publicKeys.length === 1 && !signed.hasMore && signed.nonces.length <= 1;
  const hasKeys = signed.outputKeys.length === 0 || signed.outputKeys.length === outputs.length;
  if (!isPlain || !hasKeys) throw differs('the signed transaction says more than it should');
  const secrets = keys.match(new RegExp(`.{${KEY_CHARS}}`, 'g'))?.map((key) => scalarOf(Buffer.from(key, 'hex'))) ?? [];
  const left = [...outputs];
  for (const n of signed.outputs.keys()) {
    const at = left.findIndex((wanted) => pays(signed, n, wanted, secrets, content.view));
    if (at < 0) throw differs('an output of the signed transaction pays somebody else, or another amount');
    left.splice(at, 1);
  }
}

function checkInputs({ keyImages, rings }: Transaction, expected: Content['rings']): void {
  const isSame = keyImages.length === expected.size && new Set(keyImages).size === keyImages.length;
  const isRight = keyImages.every((image, at) => {
    const members = expected.get(image)?.map(({ index }) => BigInt(index));
    return members?.join() === rings[at]?.join();
  });
  if (!isSame || !isRight) throw differs('the signed transaction spends something else');
}

/** Whether output `n` pays exactly this, so that its receiver finds it. */
function pays(
  { outputs, publicKeys, outputKeys, nonces }: Transaction,
  n: number,
  wanted: Expected,
  secrets: readonly bigint[],
  view: bigint,
): boolean {
  const output = outputs[n];
  const [spend, viewKey] = [wanted.address.subarray(1, 33), wanted.address.subarray(33, PAYMENT_ID_AT)];
  const [main, own] = [publicKeys[0], outputKeys[n]];
  if (!output || !main) return false;
  const opens = (secret: Uint8Array | null): boolean => {
    const opened = secret && openOutput(output, n, secret);
    return !!opened && same(opened.spendKey, spend) && opened.units === wanted.units;
  };
  if (wanted.isOwn) return opens(sharedSecret(main, view)) || (own !== undefined && opens(sharedSecret(own, view)));
  // the receiver multiplies the public key with his view key: it must be ours times the base of his address
  const base = wanted.isSubaddress ? pointOf(spend) : Point.BASE;
  for (const [publicKey, secret] of [
    [main, secrets[0]],
    [own, secrets[n + 1]],
  ] as const) {
    if (!base || !publicKey || !secret || !same(base.multiply(secret).toBytes(), publicKey)) continue;
    const shared = sharedSecret(viewKey, secret);
    if (opens(shared)) return shared !== null && hasPaymentId(wanted, shared, nonces);
  }
  return false;
}

/** Whether the receiver of an integrated address finds its payment id. */
function hasPaymentId({ address }: Expected, shared: Uint8Array, nonces: readonly Uint8Array[]): boolean {
  const id = address.subarray(PAYMENT_ID_AT);
  if (id.length === 0) return true;
  const pad = keccak_256(Uint8Array.of(...shared, PAYMENT_ID_DOMAIN));
  const sealed = id.map((byte, i) => byte ^ (pad[i] as number));
  return same(nonces[0], Uint8Array.of(NONCE_PAYMENT_ID, ...sealed));
}
