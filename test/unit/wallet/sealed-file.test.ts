import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { pack } from '../../../daemon/app/backup/container.ts';
import { digestsOf, needWhole } from '../../../daemon/app/backup/prove.ts';
import { verifyBackup } from '../../../daemon/app/backup/verify.ts';
import { backupSecretOf, openByWords, rawPublicKey } from '../../../daemon/wallet/backup-key.ts';
import { ageIdentity, inspectSealed, openSealed, seal, sealedHeader } from '../../../daemon/wallet/sealed-file.ts';

const secret = backupSecretOf(Buffer.alloc(64, 7));
const stranger = backupSecretOf(Buffer.alloc(64, 8));
const MADE_AT = Date.UTC(2026, 10, 21, 3, 4, 5);
const CHUNK = 65_536;

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
const sealing = (content: Uint8Array, sizes = [50_000]) =>
  seal(chunked(content, sizes), content.length, rawPublicKey(secret.privateKey), secret.fingerprint, MADE_AT);
const sealed = async (content: Uint8Array, sizes?: number[]): Promise<Buffer> =>
  all((await sealing(content, sizes)).sealed);
const open = (file: Uint8Array, by = secret, sizes = [10_000]): Promise<Buffer> =>
  all(openSealed(chunked(file, sizes), by));

const pattern = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 255));

describe('a sealed file', () => {
  it.each([0, 1, 1_000, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 5])(
    'gives %i bytes back',
    async (length) => {
      const content = pattern(length);
      expect((await open(await sealed(content, [300_000, 17]))).equals(content)).toBe(true);
    },
  );

  it('is read back without the secret by the one who sealed it, and a flipped bit is noticed', async () => {
    const content = pattern(2 * CHUNK + 5);
    const { sealed: file, reopen } = await sealing(content);
    const written = await all(file);
    expect((await all(reopen(chunked(written, [10_000])))).equals(content)).toBe(true);
    for (const at of [30, written.length >> 1, written.length - 1]) {
      const flipped = Buffer.from(written);
      flipped[at]! ^= 1;
      await expect(all(reopen(chunked(flipped, [10_000])))).rejects.toMatchObject({ code: 'backup.damaged' });
    }
    const another = await sealing(content);
    await all(another.sealed);
    await expect(all(another.reopen(chunked(written, [10_000])))).rejects.toMatchObject({ code: 'backup.damaged' });
  });

  it('of packed files must hold exactly what went in', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countinghouse-proof-'));
    try {
      const files = ['manifest.json', 'countinghouse.db'].map((name) => ({ name, path: join(folder, name) }));
      for (const { path } of files) writeFileSync(path, path);
      const [content, made] = [await all(pack(files)), await digestsOf(files)];
      await needWhole(chunked(content, [100]), made);
      writeFileSync(files[1]!.path, 'written later');
      const other = await digestsOf(files);
      for (const wrong of [other, new Map([...made].slice(1)), new Map([...made, ['countinghouse.toml', '']])])
        await expect(needWhole(chunked(content, [100]), wrong)).rejects.toMatchObject({ code: 'backup.damaged' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

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
    expect(header).toMatchObject({ fingerprint: secret.fingerprint, made_at: '2026-11-21T03:04:05.000Z' });
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
    const line = file.indexOf('-> X25519');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: line, max: file.length - 1 }),
        fc.integer({ min: 0, max: 7 }),
        async (at, bit) => {
          const changed = Buffer.from(file);
          changed[at] = (changed[at] as number) ^ (1 << bit);
          await expect(open(changed)).rejects.toMatchObject({
            code: expect.stringMatching(/^backup\.(damaged|words|format)$/),
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('notices that it was cut off, anywhere, and frames that were left out, swapped or added', async () => {
    const file = await sealed(pattern(2 * CHUNK + 500));
    const line = file.indexOf('\n', file.indexOf('\n--- ') + 1) + 1 + 16;
    const whole = CHUNK + 16;
    const [first, second] = [file.subarray(line, line + whole), file.subarray(line + whole, line + 2 * whole)];
    const rest = file.subarray(line + 2 * whole);
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
      file.subarray(0, line - 5),
    ];
    for (const wrong of tampered) await expect(open(wrong)).rejects.toMatchObject({ code: 'backup.damaged' });
    expect((await open(file)).length).toBe(2 * CHUNK + 500);
  });

  it.each(['', 'hello', '{}\n', '{"format":"other"}\n', 'x'.repeat(10_000)])('refuses %j', async (text) => {
    await expect(open(Buffer.from(text))).rejects.toMatchObject({ code: 'backup.format' });
  });
});

describe('a file on the disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countinghouse-sealed-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('shows without the key that it was cut off, or that something was added', async () => {
    const path = join(folder, 'one.backup');
    const file = await sealed(pattern(CHUNK + 100));
    writeFileSync(path, file);
    expect(await inspectSealed(path)).toMatchObject({ fingerprint: secret.fingerprint });
    writeFileSync(path, Buffer.concat([file, Buffer.alloc(1)]));
    await expect(inspectSealed(path)).rejects.toMatchObject({ code: 'backup.damaged' });
    for (const length of [file.length - 1, CHUNK, 300]) {
      writeFileSync(path, file);
      truncateSync(path, length);
      await expect(inspectSealed(path)).rejects.toMatchObject({ code: 'backup.damaged' });
    }
  });

  const missing = spawnSync('age', ['--version']).error !== undefined;
  it.skipIf(missing)('is opened by the program age, and opens what age made for the same key', async () => {
    const [path, key] = [join(folder, 'two.backup'), join(folder, 'identity.txt')];
    const content = pattern(3 * CHUNK + 7);
    writeFileSync(path, await sealed(content));
    writeFileSync(key, `${ageIdentity(secret.privateKey)}\n`, { mode: 0o600 });
    const options = { encoding: 'buffer', maxBuffer: 2 ** 20 } as const;
    const { stdout } = await promisify(execFile)('age', ['--decrypt', '--identity', key, path], options);
    expect(stdout.equals(content)).toBe(true);
    const recipient = execFileSync('age-keygen', ['-y', key], { encoding: 'utf8' }).trim();
    expect((await sealed(Buffer.from('x'))).toString('latin1')).not.toContain(recipient);
    execFileSync('age', ['--recipient', recipient, '--output', join(folder, 'three'), path]);
    // without our line in its header it is not taken for a backup
    const foreign = all(openSealed(createReadStream(join(folder, 'three')), secret));
    await expect(foreign).rejects.toMatchObject({ code: 'backup.format' });
  });
});

describe('a backup of release 0.1.0', () => {
  const path = join(import.meta.dirname, '../../releases/0.1.0.backup');
  const words = openByWords(`${'abandon '.repeat(11)}about`);

  it('still opens, and the drill finds all of it', async () => {
    const report = await verifyBackup(path, await words, null);
    expect(report).toMatchObject({ addresses: 2, problems: [], manifest: { release: '0.1.0' } });
    expect(await inspectSealed(path)).toMatchObject({ fingerprint: '73c5da0a', made_at: '2026-11-21T03:04:05.000Z' });
  });

  it('is refused where it was changed or cut off, and to other words', async () => {
    const file = readFileSync(path);
    const { secret: own } = await words;
    for (const at of [file.indexOf('\n') + 1, file.indexOf('\n') + 9, file.length - 1]) {
      const changed = Buffer.from(file);
      changed[at] = changed[at]! ^ 1;
      await expect(open(changed, own)).rejects.toMatchObject({ code: 'backup.damaged' });
      await expect(open(file.subarray(0, at), own)).rejects.toMatchObject({ code: 'backup.damaged' });
    }
    await expect(open(file, secret)).rejects.toMatchObject({ code: 'backup.words' });
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
