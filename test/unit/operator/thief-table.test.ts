/**
 * The table of resources/docs/security.md: what a thief can do who has taken over the service. Each cell has a test that controls the
 * service: the ones named here, and those of this file.
 */
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressProblems } from '../../../daemon/app/backup/verify.ts';
import { runCli } from '../../../daemon/cli/program.ts';
import { proofOf } from '../../../daemon/contract/proof.ts';
import { openByWords } from '../../../daemon/wallet/backup-key.ts';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { replyBox } from '../../../daemon/wallet/signer/seal.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { startTestDaemon } from '../../support/daemon.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { fakeIo } from '../cli-kit.ts';
import { byPolicy, codeOf, grantOf, own, PASSPHRASE, payment, useEpochOf, WORDS } from '../wallet/signer-kit.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const DOCUMENT = join(ROOT, 'resources', 'docs', 'security.md');
const HERE = 'unit/operator/thief-table.test.ts';
const HOME = 'unit/home/taken-over.test.ts';

type Proof = [file: string, test: string];
type Row = { row: string; same: 'yes' | 'no'; separate: 'yes' | 'no'; home: 'yes' | 'no'; proofs: Proof[] };

/** Each row by its beginning, the beginnings of its three cells, and the tests that attack it. */
const ROWS: Row[] = [
  {
    row: "Read the wallet's memory and files, trace it",
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HOME, 'hears no passphrase, no word and no key, whatever the operator does and it answers'],
      ['e2e/signer.test.ts', "are not in the daemon's memory, and are in the signer's"],
      ['unit/wallet/signer-service.test.ts', 'shows the user of the daemon no file, and signs for it'],
      ['unit/wallet/signer-service.test.ts', 'does not begin in a folder that others may enter'],
    ],
  },
  {
    row: 'Get your passphrase at `wallet unlock`',
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HOME, 'may ask six things, and none that takes a passphrase or gives words'],
      [HERE, 'of the same user reads what is sealed to a key that it names'],
      [HERE, 'beside a separate signer is asked for no key, and gets no box'],
      [
        'unit/wallet/signer-service.test.ts',
        'gets no passphrase from the command line where others could have put a socket',
      ],
    ],
  },
  {
    row: 'Restore an older record of signatures',
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HOME, 'spends no limit again by going back, or by ending a connection: the record is at home'],
      [HERE, 'of the same user puts an older record back, and a limit is spent again'],
      ['unit/wallet/signer-service.test.ts', 'shows the user of the daemon no file, and signs for it'],
      [
        'unit/wallet/signer-epochs.test.ts',
        'a thief who removes both files of the journal makes what was approved worthless',
      ],
    ],
  },
  {
    row: 'Get a signature without an approval or a policy',
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HOME, 'gets nothing signed that was not approved, or was approved otherwise'],
      ['unit/wallet/signer-judge.test.ts', 'with %s: %s'],
      [
        'unit/wallet/signer-judge.test.ts',
        'is nothing before it is granted, and what was granted by the operator alone',
      ],
      [
        'unit/wallet/signer-bounds.test.ts',
        'bounds, whatever a daemon asks for, what leaves in 24 hours by every version that may confirm',
      ],
      [
        'unit/wallet/signer-policy-fees.test.ts',
        'that paid a batch lets the fees of its payments alone go within its limit',
      ],
      [
        'unit/wallet/signer-policy-fees.test.ts',
        'lets no fee of a batch go for one of its payments, though it counted before',
      ],
    ],
  },
  {
    row: 'Keep the wallet from locking itself',
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HERE, 'of the same user says that it locked, and locks nothing'],
      [
        'unit/wallet/signer-process.test.ts',
        'closes although somebody asks again and again for what it refuses, and for what it signed before',
      ],
      ['unit/wallet/signer-process.test.ts', 'closes although somebody repeats what the operator sealed and granted'],
      [
        'unit/wallet/signer-process.test.ts',
        'closes although somebody asks for version after version of what was approved once',
      ],
      [HOME, 'fills no record at home by asking for the same signature again and again'],
    ],
  },
  {
    row: 'Keep a lock, or a policy that you take back, from the wallet',
    same: 'yes',
    separate: 'no',
    home: 'no',
    proofs: [
      [HOME, 'keeps neither a lock nor a limit that is taken back from the wallet, whatever it answers'],
      [HERE, 'of the same user says that it locked, and locks nothing'],
      ['unit/operator/taken-back.test.ts', 'is ended before the service is asked, of every account'],
      ['unit/operator/kept-limits.test.ts', 'do not come into force after the policy was taken back'],
      ['unit/operator/kept-limits.test.ts', 'of %s leaves the command only once the wallet has it'],
      ['unit/operator/taken-back.test.ts', 'with every connection of its socket, does not keep a lock'],
      ['unit/operator/taken-back.test.ts', 'ends every approval and limit and locks the wallet without its passphrase'],
    ],
  },
  {
    row: 'Send your takings to another address',
    same: 'no',
    separate: 'no',
    home: 'no',
    proofs: [
      ['scenario/forwarding.test.ts', 'changed by a thief of the service, pays nobody, and tells it once'],
      ['unit/wallet/signer-forward.test.ts', 'needs the passphrase for another address, and takes no older one'],
      ['unit/wallet/signer-forward.test.ts', 'lets many small payments burn no more than the fees of a day'],
      ['unit/wallet/signer-forward-key.test.ts', 'goes on by as many addresses a day as a wallet looks past'],
      ['unit/wallet/signer-forward-gas.test.ts', 'lets nobody send %s'],
    ],
  },
  {
    row: 'Move your coin to addresses of yours that a search would not find',
    same: 'yes',
    separate: 'yes',
    home: 'yes',
    proofs: [
      ['unit/wallet/signer-evm.test.ts', 'gives deposit addresses twice the gas of the grant at most'],
      [
        'unit/wallet/signer-evm.test.ts',
        'gives gas only up to 100,000 addresses above those that had some before the grant',
      ],
      [
        'unit/wallet/signer-forward-gas.test.ts',
        'moves no more in a day than twice its fees, however small the parts and whoever gets them',
      ],
      ['unit/wallet/signer-forward-gas.test.ts', 'for a stranger'],
      ['unit/wallet/signer-forward-gas.test.ts', 'goes further out only by another word of the operator'],
      ['unit/wallet/signer-evm.test.ts', 'hides no money at an address where a search by the words does not look'],
    ],
  },
  {
    row: 'Give payers an address of its own',
    same: 'yes',
    separate: 'yes',
    home: 'yes',
    proofs: [
      [HERE, 'gives payers an address of its own, and the drill names one that it stored'],
      ['unit/home/auditor.test.ts', 'shows a foreign address of %s: signing stops until the operator has looked'],
    ],
  },
  {
    row: 'Send the first change of a wallet that was imported or restored',
    same: 'yes',
    separate: 'yes',
    home: 'yes',
    proofs: [
      [HERE, 'sends the first change of an imported wallet a million addresses out, and no later one'],
      ['unit/wallet/signer-change.test.ts', 'of words that were just made begins at the first address'],
    ],
  },
  {
    row: 'Replace a payment that is not confirmed',
    same: 'yes',
    separate: 'yes',
    home: 'yes',
    proofs: [
      [
        'unit/wallet/signer-judge.test.ts',
        'is signed at a higher fee, up to what was approved, after the approval ended too',
      ],
      ['unit/wallet/signer-judge.test.ts', 'is signed above that with a new approval only'],
      ['unit/wallet/signer-judge.test.ts', 'is cancelled by paying ourselves, and to nobody else'],
    ],
  },
];

describe('the table', () => {
  const [, table = ''] = readFileSync(DOCUMENT, 'utf8').split('## What a thief can do who has taken over the service');
  const rows = table
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| |'))
    .map((line) =>
      line
        .split('|')
        .slice(1, 5)
        .map((cell) => cell.trim()),
    );

  it('has the rows that are attacked, with these answers', () => {
    const answer = (cell: string): string => /^(?:yes|no)|^by the three above/.exec(cell)![0];
    expect(rows.map(([, same, separate, home]) => [answer(same!), answer(separate!), answer(home!)])).toEqual(
      ROWS.map(({ row, same, separate, home }) => [
        row.startsWith('Get a signature') ? 'by the three above' : same,
        separate,
        home,
      ]),
    );
    for (const [at, { row }] of ROWS.entries()) expect(rows[at]![0]).toContain(row);
  });

  it('names tests that there are', () => {
    const missing = ROWS.flatMap(({ proofs }) => proofs).filter(
      ([file, name]) => !readFileSync(join(ROOT, 'test', file), 'utf8').includes(name),
    );
    expect(missing).toEqual([]);
  });
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'thief-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

type Heard = { method: string; body: string };

/** A service that a thief controls: it proves itself like every other, and answers as the thief likes. */
async function takenOver(answers: Record<string, unknown>) {
  const data = join(root, 'data');
  await mkdir(data, { mode: 0o700, recursive: true });
  const heard: Heard[] = [];
  const file = { url: '', socket: null, token: 'x'.repeat(43) };
  const server = createServer((request, response) => {
    let body = '';
    request
      .setEncoding('utf8')
      .on('data', (part: string) => {
        body += part;
      })
      .on('end', () => {
        const method = request.url?.split('/').at(-1) ?? '';
        const challenge = request.headers['countinghouse-challenge'];
        if (!challenge) heard.push({ method, body });
        const answer = challenge ? { proof: proofOf(file, String(challenge)) } : answers[method];
        response.writeHead(answer === undefined ? 503 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer ?? { error: { code: 'unavailable', message: 'Try again' } }));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  file.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(join(data, 'operator.json'), JSON.stringify(file));
  return { data, heard, close: () => server.close() };
}

const WALLET = {
  state: 'unlocked',
  fingerprint: '73c5da0a',
  unlock: 'prompt',
  locks_at: null,
  retry_after_seconds: 0,
  words_unproved: false,
  separate: false,
  gap: 1_000,
};

async function command(env: Record<string, string>, ...argv: string[]) {
  const { io, ran } = fakeIo(env);
  return { code: await runCli(argv, io), ...ran };
}

async function passphraseFile(): Promise<string> {
  const path = join(root, 'passphrase');
  await writeFile(path, PASSPHRASE);
  return path;
}

describe('the passphrase', () => {
  it('of the same user reads what is sealed to a key that it names', async () => {
    const box = await replyBox();
    const thief = await takenOver({ 'wallet.sealKey': { seal_key: box.key }, 'wallet.unlock': { wallet: WALLET } });
    const env = { COUNTINGHOUSE_DATA_DIR: thief.data };
    const { code } = await command(env, 'wallet', 'unlock', '--passphrase-file', await passphraseFile());
    thief.close();
    expect(code).toBe(0);
    const { sealed } = JSON.parse(thief.heard.find(({ method }) => method === 'wallet.unlock')!.body);
    expect(await box.open(SEAL_UNLOCK, sealed)).toBe(PASSPHRASE);
  });

  it('beside a separate signer is asked for no key, and gets no box', async () => {
    const { key } = await replyBox();
    const wallet = { wallet: WALLET };
    const thief = await takenOver({
      'wallet.sealKey': { seal_key: key },
      'wallet.unlock': wallet,
      'wallet.status': wallet,
    });
    const { env, close } = await separateSigner(thief.data);
    const { code, err } = await command(env, 'wallet', 'unlock', '--passphrase-file', await passphraseFile());
    await close();
    thief.close();
    expect([code, err]).toEqual([0, '']);
    expect(thief.heard.map(({ method }) => method)).not.toContain('wallet.sealKey');
    expect(thief.heard.filter(({ body }) => body.includes('sealed'))).toEqual([]);
  });
});

async function separateSigner(data: string) {
  const [wallet, run] = [join(root, 'wallet'), join(root, 'run')];
  await mkdir(wallet, { mode: 0o700 });
  await mkdir(run, { mode: 0o750 });
  await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
  const socket = join(run, 'signer.sock');
  const source = () => ({ kind: 'prompt' as const });
  const service = await serveSigner({ folder: wallet, socket, autoLockMinutes: 0, source, log: () => {} });
  const env = { COUNTINGHOUSE_DATA_DIR: data, COUNTINGHOUSE_SIGNER_SOCKET: socket, COUNTINGHOUSE_SIGNER_DIR: wallet };
  return { env, close: () => service.close() };
}

describe('a lock', () => {
  it('of the same user says that it locked, and locks nothing', async () => {
    const thief = await takenOver({ 'wallet.lock': { wallet: { ...WALLET, state: 'locked' } } });
    const { code, out } = await command({ COUNTINGHOUSE_DATA_DIR: thief.data }, 'wallet', 'lock');
    thief.close();
    expect([code, out]).toEqual([0, expect.stringContaining('locked')]);
    expect(thief.heard.map(({ method }) => method)).toEqual(['wallet.lock']);
  });
});

describe('the record of signatures', () => {
  it('of the same user puts an older record back, and a limit is spent again', async () => {
    const wallet = join(root, 'wallet');
    await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
    await useEpochOf(wallet);
    const open = () => Session.open(wallet, PASSPHRASE, Date.now);
    const files = [JOURNAL_FILE, HEAD_FILE];
    let session = await open();
    await session.grant(
      ...grantOf({
        network: 'regtest',
        accountNo: 0,
        asset: 'LTC',
        perWithdrawal: '50000000',
        perDay: '50000000',
        addresses: null,
        issuedAt: 1,
      }),
    );
    await session.close();
    for (const name of files) await copyFile(join(wallet, name), join(root, name));
    session = await open();
    await session.sign(byPolicy('first'));
    expect(await codeOf(session.sign(byPolicy('second')))).toBe('signer.limit');
    await session.close();
    for (const name of files) await copyFile(join(root, name), join(wallet, name));
    session = await open();
    await session.sign(byPolicy('second'));
    await session.close();
  });
});

describe('change', () => {
  it('sends the first change of an imported wallet a million addresses out, and no later one', async () => {
    const wallet = join(root, 'wallet');
    await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
    await useEpochOf(wallet);
    const session = await Session.open(wallet, PASSPHRASE, Date.now);
    const signed = (uuid: string, index: number) => {
      const order = payment('LTC', [uuid]);
      Object.assign(order.plan.outputs.at(-1)!, own('LTC', 1, index), { index });
      return session.sign(order);
    };
    expect(await codeOf(signed('too far', 1_000_001))).toBe('signer.differs');
    await signed('far', 1_000_000);
    expect(await codeOf(signed('farther', 1_001_001))).toBe('signer.differs');
    await signed('a little farther', 1_001_000);
    await session.close();
  });
});

describe('a service', () => {
  it('gives payers an address of its own, and the drill names one that it stored', async () => {
    const service = await startTestDaemon();
    const foreign = 'rltc1qthisaddressbelongstosomebodyelse';
    const database = join(service.dataDir, 'countinghouse.db');
    const db = new Database(database);
    db.prepare(`UPDATE target SET address = ? || id WHERE branch = 0 AND chain_key = 'sandbox:LTC'`).run(foreign);
    db.close();
    const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 10, crypto: 'LTC' });
    const asked = await service.call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
    expect(asked.body.address).toContain(foreign);
    await service.daemon.stop();
    const words = await openByWords(WORDS);
    expect(addressProblems(database, words).foreign).toContainEqual(expect.stringContaining(asked.body.address));
    words.close();
    await service.stop();
  });
});
