/** SipHash-2-4 is the published one: vectors of its authors, and a second implementation in plain 64-bit words. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sipHash53, sipKey } from '../../../daemon/kit/sip-hash.ts';

const KEY = '000102030405060708090a0b0c0d0e0f';
const LAST_53 = 2n ** 53n - 1n;

const rotated = (word: bigint, bits: bigint): bigint => BigInt.asUintN(64, (word << bits) | (word >> (64n - bits)));
const sum = (one: bigint, other: bigint): bigint => BigInt.asUintN(64, one + other);

/** As the paper writes it. */
function plain(key: Buffer, message: Buffer): bigint {
  const [k0, k1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)];
  let v0 = k0 ^ 0x736f6d6570736575n;
  let v1 = k1 ^ 0x646f72616e646f6dn;
  let v2 = k0 ^ 0x6c7967656e657261n;
  let v3 = k1 ^ 0x7465646279746573n;
  const rounds = (count: number): void => {
    for (let round = 0; round < count; round++) {
      v0 = sum(v0, v1);
      v2 = sum(v2, v3);
      v1 = rotated(v1, 13n) ^ v0;
      v3 = rotated(v3, 16n) ^ v2;
      v0 = rotated(v0, 32n);
      v2 = sum(v2, v1);
      v0 = sum(v0, v3);
      v1 = rotated(v1, 17n) ^ v2;
      v3 = rotated(v3, 21n) ^ v0;
      v2 = rotated(v2, 32n);
    }
  };
  const padded = padding(message);
  for (let at = 0; at < padded.length; at += 8) {
    v3 ^= padded.readBigUInt64LE(at);
    rounds(2);
    v0 ^= padded.readBigUInt64LE(at);
  }
  v2 ^= 0xffn;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

function padding(message: Buffer): Buffer {
  const padded = Buffer.alloc(message.length + 8 - (message.length % 8));
  message.copy(padded);
  padded[padded.length - 1] = message.length;
  return padded;
}

function ours(key: string, message: Buffer): bigint {
  const padded = padding(message);
  const words = Array.from({ length: padded.length / 4 }, (_, at) => padded.readUInt32LE(4 * at));
  return BigInt(sipHash53(sipKey(key), words));
}

it.each([
  [0, '310e0edd47db6f72'],
  [1, 'fd67dc93c539f874'],
  [2, '5a4fa9d909806c0d'],
  [3, '2d7efbd796666785'],
  [15, 'e545be4961ca29a1'],
])('hashes the first %i bytes to %s', (length, expected) => {
  const message = Buffer.from(KEY, 'hex').subarray(0, length);
  const whole = Buffer.from(expected, 'hex').readBigUInt64LE();
  expect(plain(Buffer.from(KEY, 'hex'), message)).toBe(whole);
  expect(ours(KEY, message)).toBe(whole & LAST_53);
});

it('hashes any message as the plain one does', () => {
  for (let n = 0; n < 2_000; n++) {
    const key = randomBytes(16);
    const message = randomBytes(n % 16);
    expect(ours(key.toString('hex'), message), `${key.toString('hex')} ${message.toString('hex')}`).toBe(
      plain(key, message) & LAST_53,
    );
  }
});

it('takes no other key', () => {
  expect(() => sipKey('00')).toThrow('32 hexadecimal digits');
});
