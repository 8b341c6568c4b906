/** Two signers on one folder, as after the sudden end of a service: the journal that they leave, and who may write to it. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { Journal, newEpoch, StaleJournal } from '../../../daemon/wallet/signer/journal.ts';
import type { Line } from '../../../daemon/wallet/signer/journal-line.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { codeOf, grantOf, PASSPHRASE, payment, useEpochOf, walletFolder } from './signer-kit.ts';

const KEY = Buffer.alloc(32, 7);
const NOW = Date.UTC(2030, 0);
const SUBJECT = 'regtest/0/BTC';

const root = await mkdtemp(join(tmpdir(), 'two-journals-'));
afterAll(() => rm(root, { recursive: true }));

const folderOf = (): Promise<string> => mkdtemp(join(root, 'j-'));
const open = (folder: string): Promise<Journal> => Journal.open(folder, KEY, '73c5da0a', NOW);

const line = (n: number): Line => ({
  kind: 'sign',
  at: NOW + n,
  purpose: 'pay',
  txid: `${n}`.repeat(64).slice(0, 64),
  fee: '2000',
  inputs: [`coin ${n}`],
  entries: [{ uuid: `w-${n}`, identity: 'i', feeMax: `${n}` }],
  spent: { subject: SUBJECT, units: `${n}` },
});
const grant = (issuedAt: number, perDay: string): Line => ({
  kind: 'grant',
  at: NOW,
  grant: { network: 'regtest', accountNo: 0, asset: 'BTC', perWithdrawal: perDay, perDay, addresses: null, issuedAt },
});

const forward = (issuedAt: number, feeDay: string): Line => ({
  kind: 'forward',
  at: NOW,
  grant: {
    kind: 'forward',
    network: 'regtest',
    accountNo: 0,
    asset: 'BTC',
    address: 'bcrt1q',
    feeSharePpm: null,
    feeMax: feeDay,
    feeDay,
    issuedAt,
  },
});

const text = (folder: string): Promise<string> => readFile(join(folder, JOURNAL_FILE), 'utf8');
const linesIn = async (folder: string): Promise<number> => (await text(folder)).split('\n').length - 1;

async function copied(from: string): Promise<string> {
  const to = await folderOf();
  for (const name of [JOURNAL_FILE, HEAD_FILE]) await copyFile(join(from, name), join(to, name));
  return to;
}

/** Both signers begin with `common`, one writes `first`, the other `second`, and the folder has the lines of both. */
async function forked(common: Line[], first: Line[], second: Line[], { headOf = 'second' } = {}): Promise<string> {
  const mine = await folderOf();
  const append = async (folder: string, lines: Line[]): Promise<void> => {
    const journal = await open(folder);
    for (const one of lines) await journal.append(one);
    await journal.close();
  };
  await append(mine, common);
  const others = await copied(mine);
  const before = await text(mine);
  await append(mine, first);
  await append(others, second);
  await writeFile(join(mine, JOURNAL_FILE), `${await text(mine)}${(await text(others)).slice(before.length)}`);
  if (headOf === 'second') await copyFile(join(others, HEAD_FILE), join(mine, HEAD_FILE));
  return mine;
}

async function reading<T>(folder: string, read: (journal: Journal) => T): Promise<T> {
  const journal = await open(folder);
  try {
    return read(journal);
  } finally {
    await journal.close();
  }
}
const knownIn = (folder: string) =>
  reading(folder, ({ memory, wasJoined }) => ({
    uuids: [...memory.signed.keys()],
    spent: memory.policySpends.map(({ units }) => units),
    wasJoined,
  }));

describe('a journal with the lines of two signers', () => {
  it.each([
    ['the first', [line(1)], [line(2)], [line(3), line(4)], 'first'],
    ['the second', [line(1)], [line(2)], [line(3), line(4)], 'second'],
    ['a signer that wrote more', [line(1)], [line(2), line(3)], [line(4)], 'first'],
    ['signers without a line in common', [], [line(1), line(2), line(3)], [line(4)], 'second'],
  ])('keeps what each signed, with the head of %s', async (_, common, first, second, headOf) => {
    const folder = await forked(common, first, second, { headOf });
    const all = { uuids: ['w-1', 'w-2', 'w-3', 'w-4'], spent: [1n, 2n, 3n, 4n] };
    expect(await knownIn(folder)).toEqual({ ...all, wasJoined: true });
    // told once, and one chain from now on
    expect(await knownIn(folder)).toEqual({ ...all, wasJoined: false });
    const journal = await open(folder);
    await journal.append(line(5));
    await journal.close();
    expect((await knownIn(folder)).uuids).toEqual([...all.uuids, 'w-5']);
    const { lines } = JSON.parse(await readFile(join(folder, HEAD_FILE), 'utf8')) as { lines: number };
    expect(lines).toBe(await linesIn(folder));
  });

  it('notices when a joined line is taken away again', async () => {
    const folder = await forked([line(1)], [line(2)], [line(3)]);
    await knownIn(folder);
    const lines = (await text(folder)).split(/(?<=\n)/);
    for (const at of [2, 3]) {
      await writeFile(join(folder, JOURNAL_FILE), lines.toSpliced(at, 1).join(''));
      expect(await codeOf(open(folder))).toBe('signer.journal');
    }
  });

  it('allows nothing by limits of which one of the two did not know, until newer ones are granted', async () => {
    const perDay = ({ memory }: Journal) => memory.grants.get(SUBJECT)?.perDay;
    const folder = await forked([grant(1, '900')], [line(2)], [grant(2, '0')]);
    expect(await reading(folder, perDay)).toBe('0');
    const raised = await forked([grant(1, '10')], [line(2)], [grant(2, '900')]);
    expect(await reading(raised, perDay)).toBe('0');
    const crossed = await forked([grant(1, '10')], [grant(3, '5')], [grant(2, '900')]);
    expect(await reading(crossed, perDay)).toBe('0');
    expect(await reading(crossed, ({ memory }) => memory.grants.get(SUBJECT)?.issuedAt)).toBe(3);
    const journal = await open(crossed);
    await journal.append(grant(4, '7'));
    await journal.close();
    expect(await reading(crossed, perDay)).toBe('7');
  });

  it('forwards nothing by a grant of which one of the two did not know, until a newer one is made', async () => {
    const feeDay = ({ memory }: Journal) => memory.forwardGrants.get(`forward/${SUBJECT}`)?.feeDay;
    const folder = await forked([forward(1, '900')], [line(2)], [forward(2, '800')]);
    expect(await reading(folder, feeDay)).toBe('0');
    expect((await knownIn(folder)).uuids).toEqual(['w-2']);
    const journal = await open(folder);
    await journal.append(forward(3, '700'));
    await journal.close();
    expect(await reading(folder, feeDay)).toBe('700');
  });

  it.each<[string, () => Promise<string>]>([
    [
      'that ends the approvals of a chain that goes on',
      () => forked([line(1)], [line(2)], [{ kind: 'revoked', at: NOW, epoch: newEpoch() }]),
    ],
    [
      'that stands there already',
      async () => {
        const folder = await forked([line(1)], [line(2)], []);
        await writeFile(join(folder, JOURNAL_FILE), `${await text(folder)}${(await text(folder)).split('\n')[1]}\n`);
        return folder;
      },
    ],
    [
      'that begins',
      async () => {
        const [folder, other] = [await forked([line(1)], [], []), await forked([], [], [])];
        await writeFile(join(folder, JOURNAL_FILE), `${await text(folder)}${await text(other)}`);
        return folder;
      },
    ],
  ])('is refused with a line %s', async (_, made) => {
    expect(await codeOf(open(await made()))).toBe('signer.journal');
  });
});

describe('a signer whose journal another one continued', () => {
  it('writes nothing, and finds all lines when it opens the journal again', async () => {
    const folder = await folderOf();
    const [former, next] = [await open(folder), await open(folder)];
    await next.append(line(1));
    const before = await text(folder);
    await expect(former.append(line(2))).rejects.toBeInstanceOf(StaleJournal);
    expect(await text(folder)).toBe(before);
    await former.close();
    await next.append(line(3));
    await next.close();
    expect(await knownIn(folder)).toEqual({ uuids: ['w-1', 'w-3'], spent: [1n, 3n], wasJoined: false });
  });

  it('writes nothing beside a head that another one wrote', async () => {
    const folder = await folderOf();
    const journal = await open(folder);
    const head = join(folder, HEAD_FILE);
    await writeFile(head, (await readFile(head, 'utf8')).replace(/"seal":"."/, '"seal":"'));
    await writeFile(head, `${await readFile(head, 'utf8')} `);
    await expect(journal.append(line(1))).rejects.toBeInstanceOf(StaleJournal);
    await journal.close();
  });

  it('has both lines when the other wrote in the same moment', async () => {
    const folder = await folderOf();
    const other = await open(folder);
    const journal = await Journal.open(folder, KEY, '73c5da0a', NOW, { beforeWrite: () => other.append(line(2)) });
    await expect(journal.append(line(1))).rejects.toBeInstanceOf(StaleJournal);
    await journal.close();
    await other.close();
    expect(await knownIn(folder)).toEqual({ uuids: ['w-2', 'w-1'], spent: [2n, 1n], wasJoined: true });
  });

  it('judges the order again by what the other signed', async () => {
    const { folder, remove } = await walletFolder();
    const [one, two] = [
      await Session.open(folder, PASSPHRASE, Date.now),
      await Session.open(folder, PASSPHRASE, Date.now),
    ];
    await one.sign(payment('LTC', ['same']));
    expect(await codeOf(two.sign(payment('LTC', ['same'])))).toBe('signer.conflict');
    expect((await two.sign(payment('LTC', ['another']))).fee).toBe(2_000n);
    const limits = { network: 'regtest' as const, accountNo: 0, asset: 'BTC' as const, addresses: null };
    await one.grant(...grantOf({ ...limits, perWithdrawal: '1', perDay: '2', issuedAt: Date.now() }));
    await two.close();
    await one.close();
    await useEpochOf(folder);
    await remove();
  });
});
