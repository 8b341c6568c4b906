/** The vault: what opens it, what is refused, and what a crash or damage leaves. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { createVault, openVault, vaultFingerprint } from '../../../daemon/wallet/vault.ts';

const SECRET = { mnemonic: 'zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong', passphrase: 'p\u00e4ss' };
const PASSPHRASE = 'correct horse battery';
const FINGERPRINT = '73c5da0a';
const KEY = Buffer.alloc(32, 9);
/** The product's, in place of which the tests' plugin (test/support/bundles.ts) puts one that costs nothing. */
const COST = { N: 2 ** 17, r: 8, p: 1 };

let folder: string;
let file: string;
/** A vault under a key, where scrypt would only cost time. */
let keyed: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vault-'));
  file = join(folder, 'wallet.json');
  keyed = join(folder, 'keyed.json');
  await createVault(file, SECRET, PASSPHRASE, FINGERPRINT, COST);
  await createVault(keyed, SECRET, KEY, FINGERPRINT);
});
afterAll(() => rm(folder, { recursive: true }));

const codeOf = async (promise: Promise<unknown>): Promise<string | null> => {
  try {
    await promise;
    return null;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const told = `${error.message} ${error.stack}`;
    expect(told).not.toContain('zoo zoo');
    expect(told).not.toContain(PASSPHRASE);
    return error.code;
  }
};

let copies = 0;
/** A damaged copy of a vault's file. */
const altered = async (source: string, change: (text: string) => string | Buffer): Promise<string> => {
  const copy = join(folder, `copy-${copies++}.json`);
  const text = await readFile(source, 'utf8');
  const changed = change(text);
  expect(changed.toString()).not.toBe(text);
  await writeFile(copy, changed);
  return copy;
};

type Parsed = { header: Record<string, unknown>; box: string; checksum: string };
/** A copy altered by somebody who also makes the checksum right. */
const forged = (source: string, change: (vault: Parsed) => Partial<Parsed>): Promise<string> =>
  altered(source, (text) => {
    const vault = JSON.parse(text) as Parsed;
    const { header, box } = { ...vault, ...change(vault) };
    const checksum = createHash('sha256').update(JSON.stringify({ header, box })).digest('hex');
    return JSON.stringify({ header, box, checksum });
  });

describe('a vault under a passphrase', () => {
  it('opens with it', async () => {
    expect(await openVault(file, PASSPHRASE)).toEqual({ ...SECRET, monero: [] });
    expect(await vaultFingerprint(file)).toBe(FINGERPRINT);
  });

  it('costs a guess 0.3 s in the product', async () => {
    const source = await readFile(new URL('../../../daemon/wallet/vault.ts', import.meta.url), 'utf8');
    expect(source).toContain('const SCRYPT: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };');
  });

  it('names its format and scrypt’s costs, is the owner’s alone, and shows no secret', async () => {
    const text = await readFile(file, 'utf8');
    expect(JSON.parse(text)).toMatchObject({
      header: {
        format: 'countinghouse-vault',
        version: 1,
        kdf: { name: 'scrypt', ...COST },
        cipher: { name: 'aes-256-gcm' },
      },
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const box = Buffer.from((JSON.parse(text) as Parsed).box, 'base64').toString('utf8');
    // two words: one of three letters may stand in base64 by chance
    for (const secret of ['zoo zoo', SECRET.passphrase, PASSPHRASE]) expect(text + box).not.toContain(secret);
  });

  it.each(['wrong horse battery', '', `${PASSPHRASE} `, 'x'.repeat(10_000)])(
    'does not open with %.30j',
    async (wrong) => {
      expect(await codeOf(openVault(file, wrong))).toBe('vault.passphrase');
    },
  );

  it('does not open with a key', async () => {
    expect(await codeOf(openVault(file, KEY))).toBe('vault.passphrase');
  });

  it('takes the two Unicode spellings of a passphrase for one', async () => {
    const path = join(folder, 'unicode.json');
    await createVault(path, SECRET, 'passphras\u00e9', FINGERPRINT);
    expect(await openVault(path, 'passphrase\u0301')).toEqual({ ...SECRET, monero: [] });
  });

  it.each([
    ['no passphrase', ''],
    ['7 characters', 'seven77'],
    ['1,001 characters', 'x'.repeat(1_001)],
  ])('is not made with %s', async (_, weak) => {
    const path = join(folder, 'weak.json');
    expect(await codeOf(createVault(path, SECRET, weak, FINGERPRINT))).toBe('vault.weak_passphrase');
    expect(await readdir(folder)).not.toContain('weak.json');
  });

  it('leaves the event loop free while it opens', async () => {
    let turns = 0;
    let open = true;
    const count = (): void => {
      turns++;
      if (open) setImmediate(count);
    };
    count();
    await openVault(file, PASSPHRASE);
    open = false;
    expect(turns).toBeGreaterThan(100);
  });
});

describe('a vault under a key', () => {
  it('opens with it and with no other, nor with a passphrase', async () => {
    expect(await openVault(keyed, KEY)).toEqual({ ...SECRET, monero: [] });
    expect(await codeOf(openVault(keyed, Buffer.alloc(32, 8)))).toBe('vault.passphrase');
    expect(await codeOf(openVault(keyed, Buffer.alloc(31, 9)))).toBe('vault.passphrase');
    expect(await codeOf(openVault(keyed, PASSPHRASE))).toBe('vault.passphrase');
  });

  it('has the same length for 12 and for 24 words, and another nonce each time', async () => {
    const boxes = await Promise.all(
      [12, 24, 24].map(async (count, i) => {
        const path = join(folder, `length-${i}.json`);
        await createVault(path, { mnemonic: 'abstract '.repeat(count), passphrase: '' }, KEY, FINGERPRINT);
        return (JSON.parse(await readFile(path, 'utf8')) as Parsed).box;
      }),
    );
    expect(new Set(boxes.map((box) => box.length)).size).toBe(1);
    expect(new Set(boxes).size).toBe(3);
  });
});

describe('damage', () => {
  it('is told from a wrong key at every character of the file', async () => {
    const text = await readFile(keyed, 'utf8');
    const copy = join(folder, 'damaged.json');
    const survivors: string[] = [];
    for (let i = 0; i < text.length; i++) {
      const damaged = text.slice(0, i) + (text.charAt(i) === 'x' ? 'y' : 'x') + text.slice(i + 1);
      await writeFile(copy, damaged);
      const code = await codeOf(openVault(copy, KEY));
      if (code !== 'vault.corrupted') survivors.push(`${i}: ${code}`);
    }
    expect(survivors).toEqual([]);
  });

  it.each<[string, (text: string) => string | Buffer]>([
    ['nothing left', () => ''],
    ['half of it', (text) => text.slice(0, text.length / 2)],
    ['another file', () => '{"hello": 1}'],
    ['random bytes', () => randomBytes(1_000)],
    ['a file too large', (text) => text + ' '.repeat(20_000)],
    ['an unknown version', (text) => text.replace('"version": 1', '"version": 3')],
    ['signs that Base64 skips', (text) => text.replace('"box": "', '"box": " ')],
  ])('is seen with %s', async (_, change) => {
    const copy = await altered(keyed, change);
    expect(await codeOf(openVault(copy, KEY))).toBe('vault.corrupted');
    expect(await codeOf(vaultFingerprint(copy))).toBe('vault.corrupted');
  });

  it('is no matter of the spaces an editor adds', async () => {
    const copy = await altered(keyed, (text) => JSON.stringify(JSON.parse(text), null, 4));
    expect(await openVault(copy, KEY)).toEqual({ ...SECRET, monero: [] });
  });
});

describe('forgery', () => {
  const flip = (box: string, at: number): string => {
    const bytes = Buffer.from(box, 'base64');
    bytes[at < 0 ? bytes.length + at : at]! ^= 1;
    return bytes.toString('base64');
  };
  type Forgery = (vault: Parsed) => Partial<Parsed>;
  const header =
    (fields: Record<string, unknown>): Forgery =>
    (vault) => ({ header: { ...vault.header, ...fields } });
  it.each<[string, Forgery, string]>([
    ['the first byte of the contents', ({ box }) => ({ box: flip(box, 0) }), 'vault.passphrase'],
    ['the tag', ({ box }) => ({ box: flip(box, -1) }), 'vault.passphrase'],
    ['a shorter box', ({ box }) => ({ box: box.slice(0, 400) }), 'vault.passphrase'],
    ['no box', () => ({ box: '' }), 'vault.corrupted'],
    ['the fingerprint', header({ fingerprint: '00000000' }), 'vault.passphrase'],
    ['the nonce', header({ cipher: { name: 'aes-256-gcm', nonce: 'AAAAAAAAAAAAAAAA' } }), 'vault.passphrase'],
    ['a short nonce', header({ cipher: { name: 'aes-256-gcm', nonce: 'AAAA' } }), 'vault.corrupted'],
    ['another cipher', header({ cipher: { name: 'none' } }), 'vault.corrupted'],
    ['a field more', header({ more: 1 }), 'vault.corrupted'],
  ])('of %s does not open', async (_, change, code) => {
    expect(await codeOf(openVault(await forged(keyed, change), KEY))).toBe(code);
  });

  it.each([
    ['memory without end', { N: 2 ** 30, r: 8, p: 1 }],
    ['memory by its blocks', { N: 2 ** 17, r: 1_000, p: 1 }],
    ['passes without end', { N: 2 ** 17, r: 8, p: 1_000_000 }],
    ['a cost that is no power of two', { N: 131_071, r: 8, p: 1 }],
  ])('cannot ask for %s', async (_, cost) => {
    const copy = await forged(file, header({ kdf: { name: 'scrypt', ...cost, salt: 'AAAA' } }));
    expect(await codeOf(openVault(copy, PASSPHRASE))).toBe('vault.corrupted');
  });

  it('cannot cheapen scrypt without the passphrase', async () => {
    const copy = await forged(file, (vault) => header({ kdf: { ...(vault.header.kdf as object), N: 2 } })(vault));
    expect(await codeOf(openVault(copy, PASSPHRASE))).toBe('vault.passphrase');
  });
});

describe('the file', () => {
  it('is never overwritten', async () => {
    const before = await readFile(keyed, 'utf8');
    expect(await codeOf(createVault(keyed, SECRET, KEY, FINGERPRINT))).toBe('vault.exists');
    expect(await readFile(keyed, 'utf8')).toBe(before);
  });

  it('is made by one of two that try at once, and opens', async () => {
    const path = join(folder, 'race.json');
    const codes = await Promise.all(
      [1, 2, 3].map((n) => codeOf(createVault(path, { mnemonic: `words ${n}`, passphrase: '' }, KEY, FINGERPRINT))),
    );
    expect(codes.toSorted()).toEqual([null, 'vault.exists', 'vault.exists'].toSorted());
    const winner = codes.indexOf(null) + 1;
    expect((await openVault(path, KEY)).mnemonic).toBe(`words ${winner}`);
  });

  it('is missing until it is whole: what a crash left is no vault and goes with the next success', async () => {
    const path = join(folder, 'crash.json');
    const leftover = `${path}.0123456789ab.tmp`;
    const other = `${path}.backup`;
    await writeFile(leftover, (await readFile(keyed, 'utf8')).slice(0, 200));
    await writeFile(other, 'the operator’s own');
    expect(await codeOf(openVault(path, KEY))).toBe('vault.missing');
    await createVault(path, SECRET, KEY, FINGERPRINT);
    expect(await openVault(path, KEY)).toEqual({ ...SECRET, monero: [] });
    const names = (await readdir(folder)).filter((name) => name.startsWith('crash'));
    expect(names.toSorted()).toEqual(['crash.json', 'crash.json.backup']);
  });

  it('leaves nothing behind when it cannot be made', async () => {
    await codeOf(createVault(keyed, SECRET, KEY, FINGERPRINT));
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await expect(createVault(join(folder, 'no', 'folder.json'), SECRET, KEY, FINGERPRINT)).rejects.toThrow('ENOENT');
  });
});
