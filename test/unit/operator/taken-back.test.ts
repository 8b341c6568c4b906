/** Rights that the operator takes back from a separate signer while the service works for a thief. */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../../daemon/cli/program.ts';
import { proofOf } from '../../../daemon/contract/proof.ts';
import { approvalKey, grantMac } from '../../../daemon/wallet/signer/approval.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { ENDED_FILE, JOURNAL_FILE, OPERATOR_SOCKET } from '../../../daemon/wallet/signer/files.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import { type ForwardGrant, type GasGrant, SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { limitsHeldIn } from '../../../daemon/wallet/signer/register.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { failFolderSync } from '../../support/folder-sync.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { type Answer, fakeIo } from '../cli-kit.ts';
import {
  byPolicy,
  codeOf,
  grantOf,
  limitGrants as grants,
  PASSPHRASE,
  payment,
  SEED,
  useEpochOf,
  WORDS,
} from '../wallet/signer-kit.ts';

type Answers = Record<string, () => [status: number, body: unknown]>;

const MINUTE_MS = 60_000;
const policy = {
  business_id: 1,
  business: 'Shop',
  mode: 'manual',
  per_withdrawal_usd: null,
  per_day_usd: null,
  address_book_only: false,
  used_usd: '0',
};
const unavailable = { error: { code: 'unavailable', message: 'The database is busy: try again' } };
const HONEST: Answers = {
  'policy.grants': () => [200, { grants: grants(0, '0') }],
  'policy.set': () => [200, { policy }],
  'rates.list': () => [200, { rates: [], currencies: [], credits: [] }],
};

let root: string;
let wallet: string;
let socket: string;
let passphrase: string;
let service: Awaited<ReturnType<typeof serveSigner>>;
let daemon: SignerClient;
let answers: Answers;
let asked: string[];
let closeThief: () => void;

const clientOf = (): SignerClient =>
  new SignerClient({
    folder: '/nonexistent',
    remote: socket,
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    sandbox: { sign: () => Promise.reject(new Error('no sandbox here')) },
    log: () => {},
  });
const unlock = async (given = PASSPHRASE) => daemon.unlock(await seal(await daemon.sealKey(), SEAL_UNLOCK, given));

/** A service that answers as a thief likes, and has to prove itself like every other. */
async function thief(dataDir: string): Promise<() => void> {
  const file = { url: '', socket: null, token: 'x'.repeat(43) };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const method = request.url?.split('/').at(-1) ?? '';
      const challenge = request.headers['countinghouse-challenge'];
      if (!challenge) asked.push(method);
      const [status, body] = challenge
        ? [200, { proof: proofOf(file, String(challenge)) }]
        : (answers[method]?.() ?? [503, unavailable]);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  file.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(join(dataDir, 'operator.json'), JSON.stringify(file));
  return () => server.close();
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'taken-'));
  const [run, data] = [join(root, 'run'), join(root, 'data')];
  wallet = join(root, 'wallet');
  socket = join(run, 'signer.sock');
  passphrase = join(root, 'passphrase');
  for (const [folder, mode] of [
    [wallet, 0o700],
    [run, 0o750],
    [data, 0o700],
  ] as const) {
    await mkdir(folder, { mode });
  }
  await writeFile(passphrase, PASSPHRASE);
  await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
  await useEpochOf(wallet);
  const source = () => ({ kind: 'prompt' as const });
  service = await serveSigner({ folder: wallet, socket, autoLockMinutes: 0, source, log: () => {} });
  daemon = clientOf();
  await unlock();
  answers = HONEST;
  asked = [];
  closeThief = await thief(data);
});
afterEach(async () => {
  closeThief();
  await daemon.close();
  await service.close();
  await rm(root, { recursive: true, force: true });
});

const cli = (...argv: string[]) => answering(null, ...argv);
/** `typed`: at a terminal. */
const answering = async (typed: Answer[] | null, ...argv: string[]) => {
  const place = {
    COUNTINGHOUSE_SIGNER_SOCKET: socket,
    COUNTINGHOUSE_SIGNER_DIR: wallet,
    COUNTINGHOUSE_DATA_DIR: join(root, 'data'),
  };
  const { io, ran } = fakeIo(place, typed);
  return { code: await runCli(argv, io), ...ran };
};
const takeBack = () => cli('policy', 'set', 'Shop', '--mode', 'manual', '--yes', '--passphrase-file', passphrase);
/** Limits of LTC that let the payments of this test go. */
const limits = (accountNo = 0, issuedAt = Date.now() - 1_000) =>
  grants(accountNo, '90000000', issuedAt).find(({ asset }) => asset === 'LTC')!;

describe('a policy that is taken back', () => {
  it.each<[string, Answers, number]>([
    ['answers as it should', {}, 0],
    ['answers policy.set with an error', { 'policy.set': () => [503, unavailable] }, 0],
    ['answers nothing', { 'policy.grants': () => [503, unavailable] }, 0],
    ['names another account', { 'policy.grants': () => [200, { grants: grants(7, '0') }] }, 0],
    ['names no limits at all', { 'policy.grants': () => [200, { grants: [] }] }, 0],
    [
      'dated the limits ahead, and dates their end back',
      { 'policy.grants': () => [200, { grants: grants(0, '0', Date.now() - 58 * MINUTE_MS) }] },
      59 * MINUTE_MS,
    ],
  ])('is none any more, though the service %s', async (_, given, aheadMs) => {
    answers = { ...HONEST, ...given };
    const [held, older] = [aheadMs, aheadMs - MINUTE_MS].map((ms) => grantOf(limits(0, Date.now() + ms - 1_000)));
    await daemon.grantPolicy(...held!);
    await daemon.sign(byPolicy('before'));
    const { err } = await takeBack();
    expect(err).toContain('The wallet has ended them, whatever the service says.');
    expect(await codeOf(daemon.sign(byPolicy('after')))).toBe('signer.limit');
    expect(await limitsHeldIn(wallet, Date.now())).toEqual({ policies: [], gas: [], forwards: [] });
    // neither the limits that were in force come back, nor older ones that were kept
    for (const kept of [held, older]) expect(await codeOf(daemon.grantPolicy(...kept!))).toBe('signer.approval');
    expect((await cli('wallet', 'grants')).out).toContain('The wallet signs nothing without asking.');
  });

  it('is ended before the service is asked, of every account, in a wallet that is locked and stays so', async () => {
    await daemon.grantPolicy(...grantOf(limits(0)));
    await daemon.grantPolicy(...grantOf(limits(7)));
    expect((await cli('wallet', 'grants')).out).toMatch(/regtest\/0 +LTC[^\n]* 0\.9 .*\n.*regtest\/7 +LTC/);
    await daemon.lock();
    let left = -1;
    answers = {
      ...HONEST,
      'policy.grants': () => {
        left = (readFileSync(join(wallet, JOURNAL_FILE), 'utf8').match(/"perDay":"0"/g) ?? []).length;
        return [503, unavailable];
      },
    };
    const { err } = await takeBack();
    expect(err).toContain('Set those of other businesses again.');
    expect(asked).toEqual(['policy.grants']);
    expect(left).toBe(2);
    expect((await daemon.status()).state).toBe('locked');
    await unlock();
    expect(await codeOf(daemon.sign(byPolicy('after')))).toBe('signer.limit');
    // a new policy begins at once
    const now = Date.now();
    answers = { ...HONEST, 'policy.grants': () => [200, { grants: grants(0, '0', now) }] };
    expect((await takeBack()).code).toBe(0);
  });

  it('gives the wallet no limits that are dated ahead', async () => {
    const ahead = Date.now() + 50 * MINUTE_MS;
    const asset = { network: 'regtest', crypto: 'LTC', eur: null, gbp: null, usd: '1' };
    answers = {
      ...HONEST,
      'policy.grants': () => [
        200,
        { grants: grants(0, '0', ahead).map((one) => (one.asset === 'LTC' ? { ...limits(0), issuedAt: ahead } : one)) },
      ],
      'rates.list': () => [200, { rates: [asset], currencies: [], credits: [] }],
      'policy.set': () => [200, { policy: { ...policy, mode: 'automatic' } }],
    };
    const amounts = ['--per-withdrawal', '100', '--per-day', '500', '--passphrase-file', passphrase];
    const done = await answering(
      [[/without asking\?/, 'y\n']],
      'policy',
      'set',
      'Shop',
      '--mode',
      'automatic',
      ...amounts,
    );
    expect(done).toMatchObject({ code: 0, err: expect.stringContaining("By the wallet's own record") });
    const [held] = (await limitsHeldIn(wallet, Date.now())).policies;
    expect(held?.grant.issuedAt).toBeLessThanOrEqual(Date.now());
  });

  it('is taken back with a grant of gas, which gas stop ends whatever the service answers', async () => {
    const gas: GasGrant = {
      kind: 'gas',
      network: 'mainnet',
      accountNo: 0,
      chain: 'ETH',
      feeMax: '1000000000000000',
      until: Date.now() + 3_600_000,
      issuedAt: Date.now() - 1,
    };
    await daemon.grantPolicy(gas, grantMac(approvalKey(SEED), await epochOf(wallet), gas));
    expect((await cli('wallet', 'grants')).out).toMatch(/mainnet\/0 +gas on ETH +- +0\.001 /);
    answers = {};
    const { err } = await cli('gas', 'stop', 'Shop', 'ETH', '--yes', '--passphrase-file', passphrase);
    expect(err).toContain('The wallet has ended them');
    expect((await limitsHeldIn(wallet, Date.now())).gas).toEqual([]);
  });
});

describe('forward end with a separate signer', () => {
  const shop = (network: 'regtest' | 'sandbox') => ({
    id: 1,
    uuid: '00000000-0000-4000-8000-000000000001',
    name: 'Shop',
    network,
    time_zone: 'Europe/Berlin',
    account_no: 0,
    cryptos: ['LTC'],
    possible_cryptos: ['LTC'],
    watch_only: [],
    brand: { name: null, accent: null, logo: null, contact: null, favourites: [], currency: null },
    balances: [],
    created_at: '2026-01-31T02:00:00.000Z',
  });
  const businesses = (network: 'regtest' | 'sandbox'): Answers => ({
    'business.list': () => [200, { businesses: [shop(network)] }],
    'forwarding.list': () => [200, { plans: [] }],
    'forwarding.end': () => [200, { plan: null }],
  });
  const forward = (asset: 'LTC' | 'BTC', accountNo = 0): ForwardGrant => ({
    kind: 'forward',
    network: 'regtest',
    accountNo,
    asset,
    address: 'rltc1qexample',
    feeSharePpm: 100,
    feeMax: null,
    feeDay: '10000',
    issuedAt: Date.now() - 1,
  });
  const give = async (grant: ForwardGrant) =>
    daemon.grantPolicy(grant, grantMac(approvalKey(SEED), await epochOf(wallet), grant));
  const held = async () =>
    (await limitsHeldIn(wallet, Date.now())).forwards.map(({ grant }) => `${grant.asset}/${grant.accountNo}`);
  const end = () => cli('forward', 'end', 'Shop', 'LTC', '--yes', '--passphrase-file', passphrase);

  it('ends the grants of this coin alone, twice without harm, also in a locked wallet', async () => {
    for (const grant of [forward('LTC'), forward('LTC', 7), forward('BTC')]) await give(grant);
    expect(await held()).toEqual(['LTC/0', 'LTC/7', 'BTC/0']);
    await daemon.lock();
    answers = businesses('regtest');
    const first = await end();
    expect([first.code, first.err]).toEqual([0, expect.stringContaining('The wallet has ended them')]);
    expect(await held()).toEqual(['BTC/0']);
    expect(await end()).toMatchObject({ code: 0, out: 'LTC is not forwarded any more.\n' });
    expect(await held()).toEqual(['BTC/0']);
    expect((await daemon.status()).state).toBe('locked');
  });

  it('ends them though the service answers nothing', async () => {
    await give(forward('LTC'));
    answers = {};
    const { code, err } = await end();
    expect([code, err]).toEqual([1, expect.stringContaining('The wallet has ended them, whatever the service says.')]);
    expect(await held()).toEqual([]);
  });

  it('of a business of the sandbox ends no grant of real money, and shows what the wallet holds', async () => {
    await give(forward('LTC'));
    answers = businesses('sandbox');
    const { code, err } = await end();
    expect(code).toBe(0);
    expect(err).toContain('Shop is of the sandbox, says the service: the wallet ends nothing.');
    expect(err).toMatch(/it signs without asking:\n[\s\S]*forward LTC/);
    expect(await held()).toEqual(['LTC/0']);
  });
});

describe('a service that keeps the operator out', () => {
  it('with every connection of its socket, does not keep a lock or the end of all approvals from the wallet', async () => {
    expect((await stat(join(wallet, OPERATOR_SOCKET))).mode & 0o777).toBe(0o600);
    await daemon.grantPolicy(...grantOf(limits()));
    const taken: Socket[] = [];
    for (let n = 0; n < 10; n++) {
      const one = connect({ path: socket });
      one.on('error', () => {});
      taken.push(one);
    }
    await Promise.all(taken.map((one) => new Promise<void>((resolve) => one.once('connect', () => resolve()))));
    const before = await epochOf(wallet);
    await cli('wallet', 'lock');
    const status = clientOf();
    for (const one of taken) one.destroy();
    await daemon.close();
    daemon = status;
    expect((await daemon.status()).state).toBe('locked');
    const again = Array.from({ length: 10 }, () => connect({ path: socket }).on('error', () => {}));
    await cli('wallet', 'revoke', '--yes', '--passphrase-file', passphrase);
    expect(await epochOf(wallet)).not.toBe(before);
    for (const one of again) one.destroy();
  });

  it('by being away, does not hide what the wallet did', async () => {
    closeThief();
    const locked = await cli('wallet', 'lock');
    expect([locked.code, locked.err]).toEqual([
      1,
      expect.stringContaining('The wallet is locked. The service does not answer'),
    ]);
    expect((await daemon.status()).state).toBe('locked');
    const unlocked = await cli('wallet', 'unlock', '--passphrase-file', passphrase);
    expect(unlocked.err).toContain('The wallet is unlocked. The service does not answer');
    expect((await daemon.status()).state).toBe('unlocked');
    const before = await epochOf(wallet);
    const revoked = await cli('wallet', 'revoke', '--yes', '--passphrase-file', passphrase);
    expect(revoked.err).toContain('The wallet has ended every approval');
    expect(await epochOf(wallet)).not.toBe(before);
  });

  it('with wrong guesses, makes itself wait and not the operator', async () => {
    for (let n = 0; n < 4; n++) {
      const guess = unlock('a wrong one').catch((error: Error) => error.message);
      expect(await guess).toMatch(n < 3 ? /passphrase/ : /Too many wrong passphrases/);
    }
    const before = await epochOf(wallet);
    const { err } = await cli('wallet', 'revoke', '--yes', '--passphrase-file', passphrase);
    expect(err).not.toContain('Too many');
    expect(await epochOf(wallet)).not.toBe(before);
    await writeFile(passphrase, 'one of the operator');
    for (let n = 0; n < 4; n++) await cli('wallet', 'unlock', '--passphrase-file', passphrase);
    const { err: late } = await cli('wallet', 'unlock', '--passphrase-file', passphrase);
    expect(late).toContain('Too many wrong passphrases');
  });
});

describe('wallet halt', () => {
  it('ends every approval and limit and locks the wallet without its passphrase', async () => {
    await daemon.grantPolicy(...grantOf(limits()));
    const approved = payment('LTC', ['approved-before']);
    const before = await epochOf(wallet);
    answers = {};
    expect(await cli('wallet', 'halt', '--yes')).toMatchObject({ code: 0, out: 'The wallet is locked.\n' });
    expect((await daemon.status()).state).toBe('locked');
    expect((await cli('wallet', 'grants')).out).toContain('The wallet signs nothing without asking.');
    await unlock();
    expect(await epochOf(wallet)).not.toBe(before);
    expect(await codeOf(daemon.sign(approved))).toBe('signer.approval');
    expect(await codeOf(daemon.sign(byPolicy('after')))).toBe('signer.limit');
    await expect(stat(join(wallet, ENDED_FILE))).rejects.toThrow('ENOENT');
    await useEpochOf(wallet);
    expect((await daemon.sign(payment('LTC', ['approved-anew']))).fee).toBe(2_000n);
  });

  it('holds from its first moment, before anybody locks the wallet', async () => {
    await daemon.sign(payment('LTC', ['one']));
    await writeFile(join(wallet, ENDED_FILE), '');
    await expect(daemon.sign(payment('LTC', ['two']))).rejects.toThrow('The process that holds the wallet ended');
    expect((await daemon.status()).state).toBe('locked');
  });

  it('locks the wallet also where its folder takes no mark, and says what is left', async () => {
    await daemon.sign(payment('LTC', ['before']));
    // no file can be made behind it, whoever runs the test
    await symlink(join(wallet, 'nowhere', 'mark'), join(wallet, ENDED_FILE));
    const { code, err } = await cli('wallet', 'halt', '--yes');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /The wallet is locked, and its approvals and limits did not end\. .*\(ENOENT\)\. Mend that/,
      ),
    ]);
    expect((await daemon.status()).state).toBe('locked');
  });

  it('does not call done what a power failure would take back', async () => {
    await daemon.sign(payment('LTC', ['before']));
    await failFolderSync(wallet);
    const { code, err } = await cli('wallet', 'halt', '--yes');
    vi.restoreAllMocks();
    expect([code, err]).toEqual([1, expect.stringMatching(/did not end\. .*\(EIO\)\. Mend that, and repeat/)]);
    expect((await daemon.status()).state).toBe('locked');
  });

  it('says so where no signer answers', async () => {
    await chmod(wallet, 0o700);
    await service.close();
    const { code, err } = await cli('wallet', 'halt', '--yes');
    expect([code, err]).toEqual([0, expect.stringContaining('It could not be locked as well')]);
    expect((await stat(join(wallet, ENDED_FILE))).mode & 0o777).toBe(0o600);
  });
});
