import { chacha20orig } from '@noble/ciphers/chacha.js';
import { describe, expect, it } from 'vitest';
import { atOnce } from '../../../daemon/chains/slices.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { keyImageOf, littleEndian, Point } from '../../../daemon/monero/curve.ts';
import { isImageOf, oneTimeKey, readSignedImage } from '../../../daemon/monero/key-image.ts';
import {
  HEAD_BYTES,
  keysInHead,
  openPart,
  partsOfFile,
  type SealedPart,
} from '../../../daemon/monero/key-image-file.ts';
import { slowHash } from '../../../daemon/monero/slow-hash/slow-hash.ts';
import { imageParts } from '../../../daemon/operator/key-images.ts';
import { publicOf, signed } from './key-image-kit.ts';

const KEY = 12_345n;
const OTHER = 54_321n;
const isOf = (bytes: Uint8Array, key: bigint): boolean => {
  const image = readSignedImage(bytes);
  return image !== null && isImageOf(image, oneTimeKey(publicOf(key))!);
};

describe('a signed key image', () => {
  it('is that of the key which signed it, and of no other', () => {
    expect(isOf(signed(KEY), KEY)).toBe(true);
    expect(isOf(signed(KEY), OTHER)).toBe(false);
    expect(isOf(signed(KEY, keyImageOf(OTHER)), KEY)).toBe(false);
  });

  it('is refused after a change of any byte', () => {
    const bytes = signed(KEY);
    const accepted = Array.from(bytes, (byte, at) => {
      const changed = Uint8Array.from(bytes);
      changed[at] = byte ^ 1;
      return isOf(changed, KEY);
    });
    expect(accepted.filter(Boolean)).toEqual([]);
  });

  it('is refused with another form of the same numbers, and outside of the group of prime order', () => {
    const bytes = signed(KEY);
    const above = littleEndian(bytes.subarray(32, 64)) + Point.Fn.ORDER;
    const hex = Buffer.from(above.toString(16).padStart(64, '0'), 'hex').reverse();
    expect(readSignedImage(Buffer.concat([bytes.subarray(0, 32), hex, bytes.subarray(64)]))).toBeNull();
    const low = Point.fromHex(`ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f`);
    const twisted = Point.fromBytes(bytes.subarray(0, 32)).add(low).toBytes();
    expect(readSignedImage(Buffer.concat([twisted, bytes.subarray(32)]))).toBeNull();
    expect(readSignedImage(Buffer.concat([Point.ZERO.toBytes(), bytes.subarray(32)]))).toBeNull();
    expect(readSignedImage(bytes.subarray(1))).toBeNull();
  });
});

/** What monero-wallet-cli 0.18 exported of a new wallet, which has no outputs. */
const FROM_CLI =
  '4d6f6e65726f206b657920696d616765206578706f727403bde67a0ea7bca8fe76154833b96c46e4d1854d3cb1188d754f75' +
  'ab93fb22cda9ce84c9d04de23dac9a508388132176f897968db05f65f2280475579ff8115ac24cff967165a60f3bc57d92db' +
  '3784a32bd8086a2767255ddff49351e82a898d45e2541e3a28f2567b7b340f0fac72b9f4ac8b5a00b90c6ba9d8e0332347c8' +
  'd402d006f54ac51940bef072bc06';
const CLI_VIEW_KEY = 'e69b3cd050c82d1db7be2ff1b851ac1ede4f6a84cf656fb31e7111e01ad9c303';
const CLI_PUBLIC_VIEW_KEY = '1a75dca38244be5629f66507b4e86b9f45c9d50a32e2e3f79f8ff6fbdf4d6fe8';
const CLI_PUBLIC_SPEND_KEY = 'a7656a67ba3a142782e3c8f4cd52e06f67751d93bdb5e78a516cac0ed8aed7a9';

/** A file with so many entries, encrypted as a wallet does with a key. */
function file(entries: number, key: Uint8Array): { bytes: Uint8Array; list: Uint8Array } {
  const list = Uint8Array.from({ length: HEAD_BYTES + 96 * entries }, (_, at) => at % 251);
  const nonce = Uint8Array.from({ length: 8 }, (_, at) => at + 1);
  const head = Buffer.from('Monero key image export\u0003', 'latin1');
  return { bytes: Buffer.concat([head, nonce, chacha20orig(key, nonce, list), new Uint8Array(64)]), list };
}

describe('a file of key images', () => {
  const key = new Uint8Array(32).fill(9);

  it.each([1, 2, 3, 1_000])('is read in parts of %s entries', (entriesMax) => {
    const { bytes, list } = file(7, key);
    const parts = partsOfFile(bytes, entriesMax);
    if (typeof parts === 'string') throw new Error(parts);
    expect(parts).toHaveLength(Math.ceil(7 / entriesMax));
    expect(Buffer.concat(parts.map((part) => openPart(part, key)))).toEqual(Buffer.from(list));
    expect(keysInHead(openPart(parts[0]!, key))).toEqual(list.subarray(4, 68));
  });

  it('of monero-wallet-cli opens with the slow hash of its view key', () => {
    const bytes = Buffer.from(FROM_CLI, 'hex');
    const [part, ...others] = partsOfFile(bytes, 10);
    expect(others).toEqual([]);
    const list = openPart(part as SealedPart, atOnce(slowHash(Buffer.from(CLI_VIEW_KEY, 'hex'))));
    expect(Buffer.from(list).toString('hex')).toBe(`00000000${CLI_PUBLIC_SPEND_KEY}${CLI_PUBLIC_VIEW_KEY}`);
  });

  it('is refused when it is not whole, of another version, or has nothing in it', () => {
    const { bytes } = file(2, key);
    for (let length = 24; length < bytes.length; length++) {
      const isWhole = length === bytes.length - 96 || length === bytes.length - 192;
      expect(partsOfFile(bytes.subarray(0, length), 10) === 'damaged', `${length}`).toBe(!isWhole);
    }
    expect(partsOfFile(bytes.subarray(0, 23), 10)).toBe('other');
    const older = Uint8Array.from(bytes);
    older[23] = 2;
    expect(partsOfFile(older, 10)).toBe('other');
    expect(codeOf(() => imageParts(file(0, key).bytes))).toBe('key_images.none');
    expect(codeOf(() => imageParts(bytes.subarray(0, -1)))).toBe('key_images.damaged');
  });

  it('is JSON, too, with or without the frame of JSON-RPC', () => {
    const entry = { key_image: 'ab'.repeat(32), signature: 'cd'.repeat(64) };
    const page = (count: number): string => JSON.stringify({ offset: 0, signed_key_images: Array(count).fill(entry) });
    const partsOf = (text: string) => imageParts(Buffer.from(text));
    expect(partsOf(page(2))).toEqual([{ signed: [entry, entry] }]);
    expect(partsOf(`{"id":"0","result":${page(1)}}`)).toEqual([{ signed: [entry] }]);
    expect(partsOf(page(1_001)).map((part) => 'signed' in part && part.signed.length)).toEqual([500, 500, 1]);
    expect(codeOf(() => partsOf(page(0)))).toBe('key_images.none');
    for (const text of ['', '{}', 'null', page(1).replace('ab', 'x')]) {
      expect(codeOf(() => partsOf(text))).toBe('key_images.format');
    }
  });
});

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return error.code;
  }
  return 'accepted';
}
