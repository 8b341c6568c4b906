/**
 * Approvals and limits that somebody kept: worth nothing after a restore, or once they were revoked, since the journal does
 * not know then what was signed with them.
 */
import { createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inFolder, unpack } from '../../../daemon/app/backup/container.ts';
import { makeBackup } from '../../../daemon/app/backup/make.ts';
import { restoreBackup } from '../../../daemon/app/backup/restore.ts';
import { Store } from '../../../daemon/store/store.ts';
import { openByWords } from '../../../daemon/wallet/backup-key.ts';
import { openSealed } from '../../../daemon/wallet/sealed-file.ts';
import { approvalKey, journalKey, revocationMac } from '../../../daemon/wallet/signer/approval.ts';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { epochOf, Journal, newEpoch, revokeIn } from '../../../daemon/wallet/signer/journal.ts';
import type { Line } from '../../../daemon/wallet/signer/journal-line.ts';
import type { PolicyGrant, UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { approve, codeOf, grantOf, PASSPHRASE, payment, SEED, useEpochOf, WORDS, walletFolder } from './signer-kit.ts';

type Order = UtxoOrder;

const NOW = Date.now();
const GRANT: PolicyGrant = {
  network: 'regtest',
  accountNo: 0,
  asset: 'LTC',
  perWithdrawal: '50000000',
  perDay: '90000000',
  addresses: null,
  issuedAt: NOW,
};

let root: string;
let dataDir: string;
let session: Session;

const folderOf = (dir = dataDir): string => join(dir, 'vault');
const opened = (dir = dataDir): Promise<Session> => Session.open(folderOf(dir), PASSPHRASE, Date.now);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'epochs-'));
  dataDir = join(root, 'data');
  await cheapWallet(folderOf(), { words: WORDS, passphrase: PASSPHRASE });
  await useEpochOf(folderOf());
  await (await Store.open(dataDir)).close();
  session = await opened();
});
afterEach(async () => {
  await session.close();
  await rm(root, { recursive: true });
});

/** Another machine, restored from a backup of now; its wallet is open from here on. */
async function restored(between: () => Promise<void> = async () => {}): Promise<string> {
  const file = join(root, `${(await readdir(root)).length}.backup`);
  await makeBackup({ dataDir, file, release: 'test', now: NOW });
  await between();
  const other = join(root, `restored-${(await readdir(root)).length}`);
  const words = await openByWords(WORDS);
  await restoreBackup(file, words, other, NOW, 60);
  words.close();
  await session.close();
  dataDir = other;
  session = await opened();
  return other;
}

/** The same payment of other coins, with the approval that it had. */
function elsewhere(order: Order): Order {
  const other = payment('LTC', [order.withdrawals[0]!.intent.uuid]);
  return { ...other, withdrawals: order.withdrawals };
}

const anew = (order: Order): Order => ({
  ...order,
  withdrawals: order.withdrawals.map(({ intent }) => ({ intent, approval: approve(intent) })),
});

describe('after a restore', () => {
  it('an approval of before pays nothing, whatever coin it is shown with, and a new one does', async () => {
    const order = payment('LTC', ['kept']);
    await restored(async () => {
      // after the backup it was paid
      await session.sign(order);
    });
    for (const kept of [order, elsewhere(order)]) {
      await expect(session.sign(kept)).rejects.toThrow('before the wallet was restored');
      expect(await codeOf(session.sign(kept))).toBe('signer.approval');
    }
    await useEpochOf(folderOf());
    await session.sign(anew(elsewhere(order)));
  });

  it('nor after a second restore, of the same backup or of a later one', async () => {
    const order = payment('LTC', ['kept']);
    const seen = new Set([await epochOf(folderOf())]);
    for (let restores = 0; restores < 3; restores++) {
      await restored();
      seen.add(await epochOf(folderOf()));
      expect(await codeOf(session.sign(order))).toBe('signer.approval');
    }
    expect(seen.size).toBe(4);
  });

  it('limits are to be granted anew, and a grant that was kept is none', async () => {
    const grant = grantOf(GRANT);
    const later = grantOf({ ...GRANT, perDay: '99000000', issuedAt: NOW + 1_000 });
    await session.grant(...grant);
    await restored();
    const byPolicy = payment('LTC', ['by policy']);
    byPolicy.withdrawals[0]!.approval = { by: 'policy' };
    expect(await codeOf(session.sign(byPolicy))).toBe('signer.limit');
    for (const kept of [grant, later]) expect(await codeOf(session.grant(...kept))).toBe('signer.approval');
    expect(await codeOf(session.sign(byPolicy))).toBe('signer.limit');
    await useEpochOf(folderOf());
    await session.grant(...grantOf(GRANT));
    await session.sign(byPolicy);
  });

  it('a kept approval of a higher fee raises none', async () => {
    const order = payment('LTC', ['dear']);
    await session.sign(order);
    const dearer = structuredClone(order);
    dearer.plan.outputs.find(({ kind }) => kind === 'change')!.units -= 7_000n;
    dearer.plan.fee += 7_000n;
    const { intent } = dearer.withdrawals[0]!;
    const raised = { ...intent, feeMax: '9000' };
    dearer.withdrawals = [{ intent: raised, approval: approve(raised) }];
    await restored();
    expect(await codeOf(session.sign(dearer))).toBe('signer.approval');
    await useEpochOf(folderOf());
    expect((await session.sign(anew(dearer))).fee).toBe(9_000n);
  });

  it('what the backup knows as signed is signed again as it was, and as another version only with all of its coins', async () => {
    const order = payment('LTC', ['known']);
    const [first, second, third] = order.plan.inputs;
    const signed = await session.sign(order);
    await restored();
    expect(await session.sign(order)).toEqual(signed);
    // one that was signed after the backup may have left the second coin out: then both could be mined
    const apart = elsewhere(order);
    apart.plan.inputs = [apart.plan.inputs[0]!, second!, third!];
    apart.previous = { ...order.previous, ...apart.previous };
    const unapproved = { ...apart.withdrawals[0]!, approval: { by: 'policy' as const } };
    await expect(session.sign({ ...apart, withdrawals: [unapproved] })).rejects.toThrow('signed after the backup');
    expect(await codeOf(session.sign(apart))).toBe('signer.approval');
    const covered = { ...apart, plan: { ...apart.plan, inputs: [...apart.plan.inputs, first!] } };
    covered.plan.outputs = covered.plan.outputs.map((one) =>
      one.kind === 'change' ? { ...one, units: one.units + first!.units } : one,
    );
    await session.sign(covered);
    // from here on the journal knows one that is covered, and still what it does not
    expect(await codeOf(session.sign(apart))).toBe('signer.approval');
    await useEpochOf(folderOf());
    await session.sign(anew(apart));
  });

  it('a journal that cannot be trusted keeps the restore from nothing, and signs nothing', async () => {
    await session.sign(payment('LTC', ['one']));
    await session.close();
    const journal = await readFile(join(folderOf(), JOURNAL_FILE));
    await writeFile(join(folderOf(), JOURNAL_FILE), journal.subarray(0, -20));
    session = await Session.open((await walletFolder({ beside: true })).folder, PASSPHRASE, Date.now);
    expect(await codeOf(restored())).toBe('signer.journal');
    expect(await readdir(folderOf())).toContain(JOURNAL_FILE);
  });

  it('a journal of a newer release is none that can be left with its approvals', async () => {
    await session.close();
    const newer = await Journal.open(folderOf(), journalKey(SEED), '73c5da0a', NOW);
    await newer.append({ kind: 'of a newer release', at: NOW } as unknown as Line);
    await newer.close();
    const before = await readdir(root);
    expect(await codeOf(restored())).toBe('store.newer');
    const [into] = (await readdir(root)).filter((name) => name.startsWith('restored-') && !before.includes(name));
    expect(await readdir(join(root, into!))).not.toContain('countinghouse.db');
    session = await Session.open((await walletFolder({ beside: true })).folder, PASSPHRASE, Date.now);
  });
});

describe('a wallet that comes back from its words', () => {
  it('acts on no approval that was made for it elsewhere', async () => {
    const order = payment('LTC', ['elsewhere']);
    await session.close();
    dataDir = join(root, 'another');
    await cheapWallet(folderOf(), { words: WORDS, passphrase: PASSPHRASE });
    session = await opened();
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    await useEpochOf(folderOf());
    await session.sign(anew(order));
  });

  it('goes on with a journal that lies there, and not with that of another wallet', async () => {
    const order = payment('LTC', ['signed']);
    await session.sign(order);
    await session.close();
    await rm(join(folderOf(), 'wallet.json'));
    await expect(cheapWallet(folderOf(), { passphrase: PASSPHRASE })).rejects.toMatchObject({
      code: 'signer.journal',
    });
    expect(await readdir(folderOf())).not.toContain('wallet.json');
    await cheapWallet(folderOf(), { words: WORDS, passphrase: PASSPHRASE });
    session = await opened();
    await useEpochOf(folderOf());
    expect(await codeOf(session.sign(anew(elsewhere(order))))).toBe('signer.conflict');
  });
});

it('a thief who removes both files of the journal makes what was approved worthless', async () => {
  const order = payment('LTC', ['paid']);
  await session.sign(order);
  await session.close();
  for (const name of [JOURNAL_FILE, HEAD_FILE]) await rm(join(folderOf(), name));
  session = await opened();
  for (const kept of [order, elsewhere(order)]) expect(await codeOf(session.sign(kept))).toBe('signer.approval');
});

describe('revoking', () => {
  const mac = async (next: string, of = folderOf()) => revocationMac(approvalKey(SEED), await epochOf(of), next);

  it('ends what was approved and granted, once, and only by who has the words', async () => {
    const order = payment('LTC', ['revoked']);
    await session.grant(...grantOf(GRANT));
    const next = newEpoch();
    const word = await mac(next);
    expect(await codeOf(session.revoke(newEpoch(), word))).toBe('signer.approval');
    await session.sign(payment('LTC', ['still']));
    await session.revoke(next, word);
    // what was kept of this ends nothing later
    expect(await codeOf(session.revoke(next, word))).toBe('signer.approval');
    expect(await epochOf(folderOf())).toBe(next);
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    await session.close();
    session = await opened();
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    expect(await codeOf(session.grant(...grantOf(GRANT)))).toBe('signer.approval');
  });

  it('holds in a journal that was begun by release 0.1.0', async () => {
    await session.close();
    const json = JSON.stringify({ kind: 'start', at: NOW, fingerprint: '73c5da0a' });
    const first = createHmac('sha256', journalKey(SEED))
      .update(`${'0'.repeat(64)}0 ${json}`)
      .digest('hex');
    await writeFile(join(folderOf(), JOURNAL_FILE), `${first} ${json}\n`);
    await writeFile(join(folderOf(), HEAD_FILE), JSON.stringify({ lines: 1, mac: first }));
    await useEpochOf(folderOf());
    const order = payment('LTC', ['old']);
    const another = payment('LTC', ['another']);
    session = await opened();
    await session.sign(another);
    await session.close();
    await revokeIn(folderOf(), journalKey(SEED), '73c5da0a', NOW);
    session = await opened();
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    await useEpochOf(folderOf());
    await session.sign(anew(order));
  });
});

describe('a disk that took the line and not the head', () => {
  const named = async () =>
    (JSON.parse(await readFile(join(folderOf(), HEAD_FILE), 'utf8')) as { lines: number }).lines;
  /** The folder is away while a head is written. */
  async function behind(work: (one: Session) => Promise<void>): Promise<void> {
    let isGone = true;
    const away = `${folderOf()}-away`;
    await session.close();
    session = await Session.open(folderOf(), PASSPHRASE, Date.now, async () => {
      if (isGone) await rename(folderOf(), away);
      isGone = false;
    });
    await expect(work(session)).rejects.toThrow('ENOENT');
    await rename(away, folderOf());
  }

  it('of a revocation: what is asked for next has it know the new epoch', async () => {
    const next = newEpoch();
    const mac = revocationMac(approvalKey(SEED), await epochOf(folderOf()), next);
    await behind((one) => one.revoke(next, mac));
    expect(await codeOf(session.sign(payment('LTC', ['w-1'])))).toBe('signer.approval');
    await useEpochOf(folderOf());
    expect(await session.sign(payment('LTC', ['w-1']))).toHaveProperty('txid');
  });

  it('of limits: asked for again they are in force for good', async () => {
    const before = await named();
    await behind((one) => one.grant(...grantOf(GRANT)));
    await session.grant(...grantOf(GRANT));
    expect(await named()).toBe(before + 1);
  });
});

it('a wrong epoch in the head is put right, and misleads nobody but who approves', async () => {
  const order = payment('LTC', ['one']);
  await session.close();
  const head = JSON.parse(await readFile(join(folderOf(), HEAD_FILE), 'utf8')) as object;
  await writeFile(join(folderOf(), HEAD_FILE), JSON.stringify({ ...head, epoch: newEpoch() }));
  await useEpochOf(folderOf());
  const misled = anew(order);
  session = await opened();
  expect(await codeOf(session.sign(misled))).toBe('signer.approval');
  await session.sign(order);
  await useEpochOf(folderOf());
  await session.sign(anew(payment('LTC', ['another'])));
});

it.each([
  [HEAD_FILE, JOURNAL_FILE],
  [JOURNAL_FILE, HEAD_FILE],
])(
  'a backup takes the head before the journal, which may be ahead of its head but not behind (%s came first)',
  async (...names) => {
    for (const name of names) {
      // a folder may list them in the order in which they were made
      const bytes = await readFile(join(folderOf(), name));
      await rm(join(folderOf(), name));
      await writeFile(join(folderOf(), name), bytes);
    }
    const file = join(root, 'order.backup');
    await makeBackup({ dataDir, file, release: 'test', now: NOW });
    const words = await openByWords(WORDS);
    const packed = await unpack(openSealed(createReadStream(file), words.secret), inFolder(join(root, 'unpacked')));
    words.close();
    expect(packed.indexOf(`vault/${HEAD_FILE}`)).toBeGreaterThan(0);
    expect(packed.indexOf(`vault/${JOURNAL_FILE}`)).toBeGreaterThan(packed.indexOf(`vault/${HEAD_FILE}`));
  },
);
