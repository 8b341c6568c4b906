/** The signer's memory: what survives a crash, and what is noticed when its files are not as it left them. */
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { restoreBackup } from '../../../daemon/app/backup/restore.ts';
import { Store } from '../../../daemon/store/store.ts';
import { openByWords } from '../../../daemon/wallet/backup-key.ts';
import { journalKey } from '../../../daemon/wallet/signer/approval.ts';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { Journal } from '../../../daemon/wallet/signer/journal.ts';
import type { Line } from '../../../daemon/wallet/signer/journal-line.ts';
import { JournalMemory } from '../../../daemon/wallet/signer/journal-memory.ts';
import { spentInDay } from '../../../daemon/wallet/signer/permission.ts';
import { limitsHeldIn } from '../../../daemon/wallet/signer/register.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { codeOf, PASSPHRASE, SEED, WORDS } from './signer-kit.ts';

const KEY = Buffer.alloc(32, 7);
const NOW = Date.UTC(2030, 0);

const root = await mkdtemp(join(tmpdir(), 'journal-'));
afterAll(() => rm(root, { recursive: true }));

const folderOf = (): Promise<string> => mkdtemp(join(root, 'j-'));
const open = (folder: string, key = KEY): Promise<Journal> => Journal.open(folder, key, '73c5da0a', NOW);

const line = (n: number): Line => ({
  kind: 'sign',
  at: NOW + n,
  purpose: 'pay',
  txid: `${n}`.repeat(64).slice(0, 64),
  fee: '2000',
  inputs: [`coin ${n}`, 'a coin of all'],
  entries: [{ uuid: `w-${n}`, identity: `identity ${n} \u2028 é`, feeMax: `${n}000` }],
  spent: { subject: 'regtest/0/BTC', units: `${n}` },
});

/** A journal of four lines, and the state of both files after each. */
const states: { journal: Buffer; head: Buffer }[] = [];
beforeAll(async () => {
  const folder = await folderOf();
  const journal = await open(folder);
  for (let n = 0; n < 4; n++) {
    if (n > 0) await journal.append(line(n));
    states.push({
      journal: await readFile(join(folder, JOURNAL_FILE)),
      head: await readFile(join(folder, HEAD_FILE)),
    });
  }
  await journal.close();
});

/** A folder with these files. */
async function folderWith(journal: Buffer | string | null, head: Buffer | string | null): Promise<string> {
  const folder = await folderOf();
  if (journal !== null) await writeFile(join(folder, JOURNAL_FILE), journal);
  if (head !== null) await writeFile(join(folder, HEAD_FILE), head);
  return folder;
}

async function linesOf(folder: string): Promise<string[]> {
  const journal = await open(folder);
  const uuids = [...journal.memory.signed.keys()];
  await journal.close();
  return uuids;
}

const last = () => states[3]!;

describe('a journal', () => {
  it('begins by itself, for the owner alone, and tells afterwards what was written', async () => {
    const folder = await folderWith(last().journal, last().head);
    const journal = await open(folder);
    expect([...journal.memory.signed]).toEqual(
      [1, 2, 3].map((n) => [
        `w-${n}`,
        {
          identity: `identity ${n} \u2028 é`,
          versions: [
            { txid: `${n}`.repeat(64), keys: [`coin ${n}`, 'a coin of all'], epoch: journal.memory.epochs[0] },
          ],
          feeMax: BigInt(n) * 1_000n,
          policyFee: null,
        },
      ]),
    );
    expect(journal.memory.policySpends.map(({ units }) => units)).toEqual([1n, 2n, 3n]);
    await journal.append(line(4));
    await journal.close();
    expect(await linesOf(folder)).toEqual(['w-1', 'w-2', 'w-3', 'w-4']);
    const made = await folderOf();
    await (await open(made)).close();
    expect((await stat(join(made, JOURNAL_FILE))).mode & 0o777).toBe(0o600);
  });

  it('keeps the highest fee that was approved', async () => {
    const folder = await folderOf();
    const journal = await open(folder);
    for (const feeMax of ['5', '9', '7']) {
      await journal.append({ ...line(1), entries: [{ uuid: 'w', identity: 'i', feeMax }] } as Line);
    }
    expect(journal.memory.signed.get('w')?.feeMax).toBe(9n);
    await journal.close();
  });

  it('keeps the inputs of every version, of the same transaction once', async () => {
    const folder = await folderOf();
    const journal = await open(folder);
    const entries = ['w', 'beside it'].map((uuid) => ({ uuid, identity: 'i', feeMax: '1' }));
    for (const txid of ['a', 'b', 'a']) {
      await journal.append({ ...line(1), txid, inputs: [`${txid}:0`, `${txid}:1`], entries } as Line);
    }
    const [epoch] = journal.memory.epochs;
    const versions = ['a', 'b'].map((txid) => ({ txid, keys: [`${txid}:0`, `${txid}:1`], epoch }));
    const known = () => ['w', 'beside it'].map((uuid) => journal.memory.signed.get(uuid)?.versions);
    expect(known()).toEqual([versions, versions]);
    await journal.close();
  });

  it('written by release 0.1.0 is read: what it knew of the inputs is the anchor', async () => {
    const key = Buffer.alloc(32, 7);
    const texts = [
      { kind: 'start', at: NOW, fingerprint: '73c5da0a' },
      ...['a', 'b'].map((txid) => ({
        kind: 'sign',
        at: NOW,
        purpose: 'pay',
        txid,
        fee: '2000',
        entries: ['w-1', 'w-2'].map((uuid) => ({ uuid, identity: 'i', anchor: 'the anchor', feeMax: '1' })),
      })),
    ].map((one) => JSON.stringify(one));
    let mac = '0'.repeat(64);
    const written = texts.map((json, at) => {
      mac = createHmac('sha256', key).update(`${mac}${at} ${json}`).digest('hex');
      return `${mac} ${json}\n`;
    });
    const folder = await folderWith(written.join(''), JSON.stringify({ lines: 3, mac }));
    const journal = await open(folder);
    const versions = ['a', 'b'].map((txid) => ({ txid, keys: ['the anchor'], epoch: null }));
    expect(journal.memory.signed.get('w-2')).toEqual({ identity: 'i', versions, feeMax: 1n, policyFee: null });
    await journal.append(line(4));
    await journal.close();
    expect(await linesOf(folder)).toEqual(['w-1', 'w-2', 'w-4']);
    // from now on its heads are sealed, and one without a seal is none
    const head = JSON.parse(await readFile(join(folder, HEAD_FILE), 'utf8')) as { lines: number; mac: string };
    await writeFile(join(folder, HEAD_FILE), JSON.stringify({ lines: head.lines, mac: head.mac }));
    expect(await codeOf(open(folder))).toBe('signer.journal');
  });

  it('forgets what a policy let go two days ago, once that is much, and no later', () => {
    const memory = new JournalMemory();
    const day = 86_400_000;
    const take = (at: number, times: number) => {
      for (let n = 0; n < times; n++)
        memory.take({ ...line(1), at } as Line, { isBeside: false, epoch: null, bytes: 1 });
    };
    take(NOW, 900);
    take(NOW + day, 900);
    take(NOW + 3 * day, 1_500);
    const times = memory.policySpends.map(({ at }) => (at - NOW) / day);
    expect([times.length, times.filter((at) => at === 0)]).toEqual([1_500, []]);
    take(NOW + 3 * day, 2_500);
    expect(memory.policySpends.filter(({ at }) => at === NOW + 3 * day)).toHaveLength(4_000);
  });

  it('remembers the uses of a day when the clock was ahead for a while', async () => {
    const folder = await folderOf();
    let journal = await open(folder);
    const ahead = 30 * 86_400_000;
    for (const [n, at] of [NOW, NOW + 1_000, NOW + ahead, NOW + ahead + 1_000, NOW + 2_000].entries()) {
      await journal.append({ ...line(n + 1), at } as Line);
    }
    const subject = journal.memory.policySpends[0]!.subject;
    const used = () => spentInDay(journal.memory.policySpends, subject, NOW + 3_000);
    expect(used()).toBe(15n);
    await journal.close();
    journal = await open(folder);
    expect(used()).toBe(15n);
    await journal.close();
  });
});

describe('after a crash', () => {
  it('at any byte of writing a line, all before it is known', async () => {
    const [before, after] = [states[2]!, states[3]!];
    for (let cut = before.journal.length; cut < after.journal.length; cut += 7) {
      const folder = await folderWith(after.journal.subarray(0, cut), before.head);
      expect(await linesOf(folder)).toEqual(['w-1', 'w-2']);
      const journal = await open(folder);
      await journal.append(line(3));
      await journal.close();
      expect(await linesOf(folder)).toEqual(['w-1', 'w-2', 'w-3']);
    }
  });

  it('between line and head, the line is known', async () => {
    expect(await linesOf(await folderWith(last().journal, states[2]!.head))).toEqual(['w-1', 'w-2', 'w-3']);
    expect(await linesOf(await folderWith(states[0]!.journal, null))).toEqual([]);
  });

  it('of the disk between line and head, nothing is given out before a head names the line', async () => {
    const folder = await folderOf();
    const away = `${folder}-away`;
    let isGone = false;
    const beforeWrite = async (): Promise<void> => (isGone ? rename(folder, away) : undefined);
    const journal = await Journal.open(folder, KEY, '73c5da0a', NOW, { beforeWrite });
    isGone = true;
    await expect(journal.append(line(1))).rejects.toThrow('ENOENT');
    isGone = false;
    await rename(away, folder);
    const named = async () => JSON.parse(await readFile(join(folder, HEAD_FILE), 'utf8')) as { lines: number };
    expect([(await named()).lines, [...journal.memory.signed.keys()]]).toEqual([1, ['w-1']]);
    // the same is asked for again, and its line is there already
    await journal.needOurs();
    expect((await named()).lines).toBe(2);
    await journal.close();
    expect(await linesOf(folder)).toEqual(['w-1']);
  });

  it('that left zeros where a line was to be, all before it is known', async () => {
    const torn = Buffer.concat([states[2]!.journal, Buffer.alloc(300)]);
    expect(await linesOf(await folderWith(torn, states[2]!.head))).toEqual(['w-1', 'w-2']);
  });

  it('in the very beginning, it begins', async () => {
    expect(await linesOf(await folderWith('', null))).toEqual([]);
    expect(await linesOf(await folderWith(states[0]!.journal.subarray(0, 50), null))).toEqual([]);
  });
});

describe('refused', () => {
  const lines = (): string[] =>
    last()
      .journal.toString()
      .split(/(?<=\n)/);
  it.each<[string, () => [journal: Buffer | string | null, head: Buffer | string | null]]>([
    ['without the newest line', () => [states[2]!.journal, last().head]],
    ['in an older state, with the newer head', () => [states[0]!.journal, last().head]],
    ['cut in its newest line', () => [last().journal.subarray(0, -5), last().head]],
    ['empty', () => ['', last().head]],
    ['gone', () => [null, last().head]],
    ['without its head', () => [last().journal, null]],
    ['with a head that is none', () => [last().journal, '{}']],
    ["cut short, with a head made of a line's own MAC", () => [states[2]!.journal, JSON.stringify(headOfLine(3))]],
    [
      'cut short, with such a head and the seal of the newest',
      () => [states[2]!.journal, JSON.stringify({ ...JSON.parse(last().head.toString()), ...headOfLine(3) })],
    ],
    ['without the seal of its head', () => [last().journal, JSON.stringify(headOfLine(4))]],
    ['with a head of another length', () => [last().journal, JSON.stringify({ lines: 3, mac: headMac() })]],
    ['without a line in the middle', () => [lines().toSpliced(2, 1).join(''), last().head]],
    ['with two lines exchanged', () => [[lines()[0], lines()[2], lines()[1], lines()[3]].join(''), last().head]],
    ['with a line twice', () => [[...lines(), lines()[3]].join('') + lines()[3], last().head]],
    [
      'with lines that it did not write',
      () => [`${last().journal}${'0'.repeat(64)} {}\n${'0'.repeat(64)} {}\n`, last().head],
    ],
  ])('%s', async (_, files) => {
    const folder = await folderWith(...files());
    expect(await codeOf(open(folder))).toBe('signer.journal');
    expect(await codeOf(open(folder))).toBe('signer.journal');
  });

  it('under another key', async () => {
    expect(await codeOf(open(await folderWith(last().journal, last().head), Buffer.alloc(32, 8)))).toBe(
      'signer.journal',
    );
  });

  it('with any byte changed', async () => {
    const folder = await folderWith(last().journal, last().head);
    await fc.assert(
      fc.asyncProperty(fc.nat(last().journal.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const altered = Buffer.from(last().journal);
        altered[at]! ^= by;
        await writeFile(join(folder, JOURNAL_FILE), altered);
        await writeFile(join(folder, HEAD_FILE), last().head);
        expect(await codeOf(open(folder))).toBe('signer.journal');
      }),
      { numRuns: 100 },
    );
  });
});

/** What a head without a seal says when so many lines stand. */
const headOfLine = (lines: number): { lines: number; mac: string } => ({
  lines,
  mac: last().journal.toString().split('\n')[lines - 1]!.slice(0, 64),
});
const headMac = (): string => (JSON.parse(last().head.toString()) as { mac: string }).mac;

it('with a line of a newer release is refused with what to do, and stays as it is', async () => {
  const folder = await folderOf();
  const newer = await open(folder);
  await newer.append({ kind: 'of a newer release', at: NOW } as unknown as Line);
  await newer.close();
  const before = await readFile(join(folder, JOURNAL_FILE));
  for (const read of [open, (one: string) => limitsHeldIn(one, NOW)]) {
    await expect(read(folder)).rejects.toMatchObject({
      code: 'store.newer',
      message: expect.stringContaining('written by a newer release: install that release'),
    });
  }
  expect(await readFile(join(folder, JOURNAL_FILE))).toEqual(before);
});

describe('a disk that takes no more', () => {
  /** Appends until it fails, in a process whose files may have 2 KiB, and once more when there is room again. */
  const script = `
    const { Journal } = await import(${JSON.stringify(new URL('../../../daemon/wallet/signer/journal.ts', import.meta.url))});
    const journal = await Journal.open(process.argv[1], Buffer.alloc(32, 7), '73c5da0a', 0);
    const line = (n) => ({ kind: 'sign', at: n, purpose: 'pay', txid: 't'.repeat(300), fee: '0',
      inputs: ['a'], entries: [{ uuid: 'n-' + n, identity: 'i', feeMax: '1' }] });
    const failed = [];
    for (let n = 0; n < 8; n++) await journal.append(line(n)).catch((error) => failed.push(error.code));
    console.log(JSON.stringify({ failed, known: [...journal.memory.signed.keys()] }));
    await journal.close();`;

  it('leaves the journal as it was', async () => {
    const folder = await folderOf();
    const command = 'ulimit -f 2; exec "$0" --input-type=module -e "$1" "$2"';
    const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, script, folder]);
    const { failed, known } = JSON.parse(stdout) as { failed: string[]; known: string[] };
    expect(failed.length).toBeGreaterThan(2);
    expect(new Set(failed)).toEqual(new Set(['EFBIG']));
    expect(await linesOf(folder)).toEqual(known);
    expect(known.length).toBeGreaterThan(1);
  });

  /** The folder is away while a line is half written, so that the half stays. It is there again for the next line. */
  const half = `
    import { rename, stat } from 'node:fs/promises';
    const { Journal, StaleJournal } = await import(${JSON.stringify(new URL('../../../daemon/wallet/signer/journal.ts', import.meta.url))});
    const [folder, away] = [process.argv[1], process.argv[1] + '-away'];
    const beforeWrite = async () => { if ((await stat(folder + '/${JOURNAL_FILE}')).size > 1500) await rename(folder, away); };
    const journal = await Journal.open(folder, Buffer.alloc(32, 7), '73c5da0a', 0, { beforeWrite });
    const line = (n) => ({ kind: 'sign', at: n, purpose: 'pay', txid: 't'.repeat(300), fee: '0',
      inputs: ['a'], entries: [{ uuid: 'n-' + n, identity: 'i', feeMax: '1' }] });
    let error = null;
    for (let n = 0; error === null; n++) error = await journal.append(line(n)).then(() => null, (reason) => reason);
    await rename(away, folder);
    const again = await journal.append(line(9)).then(() => null, (reason) => reason);
    await journal.close();
    console.log(JSON.stringify({ code: error.code, isStale: again instanceof StaleJournal, known: [...journal.memory.signed.keys()] }));`;

  it('and keeps the half of a line: it is to be opened again, which drops that', async () => {
    const folder = await folderOf();
    const command = 'ulimit -f 2; exec "$0" --input-type=module -e "$1" "$2"';
    const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, half, folder]);
    const { code, isStale, known } = JSON.parse(stdout) as { code: string; isStale: boolean; known: string[] };
    expect([code, isStale]).toEqual(['ENOENT', true]);
    expect((await stat(join(folder, JOURNAL_FILE))).size).toBe(2_048);
    expect(await linesOf(folder)).toEqual(known);
  });
});

it('takes no line that could not be read again', async () => {
  const folder = await folderWith(last().journal, last().head);
  const journal = await open(folder);
  expect(await codeOf(journal.append({ ...line(4), txid: 'x'.repeat(5_000_000) } as Line))).toBe('signer.journal');
  await journal.append(line(4));
  await journal.close();
  expect(await linesOf(folder)).toEqual(['w-1', 'w-2', 'w-3', 'w-4']);
});

it('a journal beyond 64 MiB is opened, backed up whole, and opened again where it was restored', async () => {
  const dataDir = await folderOf();
  const vault = join(dataDir, 'vault');
  const fingerprint = (await cheapWallet(vault, { words: WORDS, passphrase: PASSPHRASE })).fingerprint;
  const key = journalKey(SEED);
  const journal = await Journal.open(vault, key, fingerprint, NOW);
  // as many inputs as a line of 4 MiB has room for
  const inputs = Array.from({ length: 50_000 }, (_, n) => `${n.toString(16).padStart(64, '0')}:${n}`);
  for (let n = 1; n < 20; n++) await journal.append({ ...line(n), inputs: [`${n}`.padEnd(3_600_000)] } as Line);
  await journal.append({ ...line(20), inputs } as Line);
  await journal.close();
  const { size } = await stat(join(vault, JOURNAL_FILE));
  expect(size).toBeGreaterThan(64 * 1_048_576);
  const store = await Store.open(dataDir);
  await store.close();
  const file = join(await folderOf(), 'large.backup');
  await makeBackup({ dataDir, file, release: 'test', now: NOW });
  const restored = join(await folderOf(), 'restored');
  const opened = await openByWords(WORDS);
  await restoreBackup(file, opened, restored, NOW);
  opened.close();
  const again = await Journal.open(join(restored, 'vault'), key, fingerprint, NOW);
  expect([...again.memory.signed.keys()].slice(-1)).toEqual(['w-20']);
  expect(again.memory.signed.get('w-20')?.versions[0]?.keys).toEqual(inputs);
  await again.close();
});
