import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backupSecretOf, rawPublicKey } from '../../../daemon/wallet/backup-key.ts';
import { openSealed, seal, sealedHeader } from '../../../daemon/wallet/sealed-file.ts';

const secret = backupSecretOf(Buffer.alloc(64, 7));
const stranger = backupSecretOf(Buffer.alloc(64, 8));
const MADE_AT = Date.UTC(2026, 10, 21, 3, 4, 5);
const FRAME = 1_048_576;

async function* chunked(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let [from, i] = [0, 0];
  while (from < bytes.length) {
    const size = sizes[i++ % sizes.length] ?? bytes.length;
    yield bytes.subarray(from, from + size);
    from += size;
  }
}

const all = async (source: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
};
const sealed = (content: Uint8Array, sizes = [65_536]): Promise<Buffer> =>
  all(seal(chunked(content, sizes), rawPublicKey(secret.privateKey), secret.fingerprint, MADE_AT));
const open = (file: Uint8Array, by = secret, sizes = [10_000]): Promise<Buffer> =>
  all(openSealed(chunked(file, sizes), by));

const pattern = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 255));

describe('a sealed file', () => {
  it.each([0, 1, 1_000, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 2 * FRAME + 5])(
    'gives %i bytes back',
    async (length) => {
      const content = pattern(length);
      expect((await open(await sealed(content, [300_000, 17]))).equals(content)).toBe(true);
    },
  );

  it('is the same whatever sizes the bytes come in', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 5_000 }),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
        async (content, sizes) => {
          expect(await open(await sealed(content, sizes), secret, sizes)).toEqual(Buffer.from(content));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('says without a key what it is and whose', async () => {
    const header = await sealedHeader(chunked(await sealed(pattern(10)), [7]));
    expect(header).toMatchObject({
      format: 'countinghouse-backup',
      version: 1,
      fingerprint: secret.fingerprint,
      made_at: '2026-11-21T03:04:05.000Z',
    });
  });

  it('never shows its content, and no two are alike', async () => {
    const content = Buffer.from('the words of nobody '.repeat(50));
    const [one, two] = [await sealed(content), await sealed(content)];
    expect(one.includes('the words')).toBe(false);
    expect(one.equals(two)).toBe(false);
  });

  it('is refused to the words of another wallet', async () => {
    await expect(open(await sealed(pattern(10)), stranger)).rejects.toMatchObject({ code: 'backup.words' });
    // also when it claims to be of that one
    const file = await sealed(pattern(10));
    const forged = Buffer.from(file.toString('latin1').replace(secret.fingerprint, stranger.fingerprint), 'latin1');
    await expect(open(forged, stranger)).rejects.toMatchObject({ code: 'backup.damaged' });
  });

  it('notices every bit that changed', async () => {
    const file = await sealed(pattern(200));
    const line = file.indexOf('\n') + 1;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: line, max: file.length - 1 }),
        fc.integer({ min: 0, max: 7 }),
        async (at, bit) => {
          const changed = Buffer.from(file);
          changed[at] = (changed[at] as number) ^ (1 << bit);
          await expect(open(changed)).rejects.toMatchObject({ code: 'backup.damaged' });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('notices that it was cut off, anywhere, and frames that were left out, swapped or added', async () => {
    const file = await sealed(pattern(2 * FRAME + 500));
    const line = file.indexOf('\n') + 1;
    const [first, second] = [
      file.subarray(line, line + FRAME + 20),
      file.subarray(line + FRAME + 20, line + 2 * FRAME + 40),
    ];
    const rest = file.subarray(line + 2 * FRAME + 40);
    const head = file.subarray(0, line);
    const tampered = [
      Buffer.concat([head, first]),
      Buffer.concat([head, first, second]),
      Buffer.concat([head, second, first, rest]),
      Buffer.concat([head, first, rest]),
      Buffer.concat([head, first, second, rest, rest]),
      file.subarray(0, -1),
      file.subarray(0, line + 3),
      file.subarray(0, line),
    ];
    for (const wrong of tampered) await expect(open(wrong)).rejects.toMatchObject({ code: 'backup.damaged' });
    expect((await open(file)).length).toBe(2 * FRAME + 500);
  });

  it.each(['', 'hello', '{}\n', '{"format":"other"}\n', 'x'.repeat(10_000)])('refuses %j', async (text) => {
    await expect(open(Buffer.from(text))).rejects.toMatchObject({ code: 'backup.format' });
  });
});

describe('the key of a seed', () => {
  it('is X25519 of HKDF, the same for ever', () => {
    expect(rawPublicKey(secret.privateKey).toString('hex')).toMatchInlineSnapshot(
      `"7531e9d4b63bf4f17f70662ab041dbfc0010e9469b72efc49d28f8efb0690d07"`,
    );
    expect(rawPublicKey(stranger.privateKey)).not.toEqual(rawPublicKey(secret.privateKey));
  });
});
