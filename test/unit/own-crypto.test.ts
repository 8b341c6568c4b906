/** A till's own functions for the channel are WebCrypto's: what one seals, the other opens. */
import { describe, expect, it } from 'vitest';
import type { Pair, Subtle } from '../../daemon/contract/console-channel.ts';
import { ownCrypto } from '../../renderer/own-crypto.ts';

type Bytes = Uint8Array<ArrayBuffer>;
const CURVE = { name: 'ECDH', namedCurve: 'P-256' };
const GCM = { name: 'AES-GCM', length: 256 };
const bytes = (data: ArrayBuffer): Bytes => new Uint8Array(data);
const text = (value: string): Bytes => new Uint8Array(new TextEncoder().encode(value));
const SIDES: [string, Subtle, Subtle][] = [
  ['own to WebCrypto', ownCrypto, crypto.subtle],
  ['WebCrypto to own', crypto.subtle, ownCrypto],
];

const pairOf = async (from: Subtle) => {
  const pair = (await from.generateKey(CURVE, false, ['deriveBits'])) as Pair;
  return { privateKey: pair.privateKey, said: bytes(await from.exportKey('raw', pair.publicKey)) };
};
const shared = async (from: Subtle, own: CryptoKey, other: Bytes): Promise<Bytes> => {
  const key = await from.importKey('raw', other, CURVE, false, []);
  return bytes(await from.deriveBits({ name: 'ECDH', public: key }, own, 256));
};
const keyOf = async (from: Subtle, secret: Bytes): Promise<CryptoKey> => {
  const material = await from.importKey('raw', secret, 'HKDF', false, ['deriveKey']);
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text('info') };
  return from.deriveKey(how, material, GCM, false, ['encrypt', 'decrypt']);
};

describe.each(SIDES)('%s', (_name, one, other) => {
  it('has the same shared secret, and refuses a point that is none', async () => {
    const [a, b] = [await pairOf(one), await pairOf(other)];
    const secret = await shared(one, a.privateKey, b.said);
    expect(secret).toHaveLength(32);
    expect(await shared(other, b.privateKey, a.said)).toEqual(secret);
    const wrong = b.said.slice();
    wrong[64] = wrong[64]! ^ 1;
    await expect(shared(one, a.privateKey, wrong)).rejects.toThrow();
  });

  it('makes the same MAC', async () => {
    const use = { name: 'HMAC', hash: 'SHA-256' };
    const sign = async (from: Subtle): Promise<Bytes> =>
      bytes(await from.sign(use, await from.importKey('raw', text('code'), use, false, ['sign']), text('said')));
    expect(await sign(one)).toEqual(await sign(other));
  });

  it('opens what the other sealed, for its path alone', async () => {
    const secret = crypto.getRandomValues(new Uint8Array(64));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const [from, to] = [await keyOf(one, secret), await keyOf(other, secret)];
    const box = bytes(await one.encrypt({ name: 'AES-GCM', iv, additionalData: text('/call/x') }, from, text('sale')));
    const open = (path: string) => other.decrypt({ name: 'AES-GCM', iv, additionalData: text(path) }, to, box);
    expect(bytes(await open('/call/x'))).toEqual(text('sale'));
    await expect(open('/call/y')).rejects.toThrow();
  });
});
