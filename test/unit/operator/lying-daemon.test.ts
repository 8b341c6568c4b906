/** The command line against a daemon that was taken over: it knows the token, and lies in what it shows. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { EXIT } from '../../../daemon/cli/io.ts';
import { runCli } from '../../../daemon/cli/program.ts';
import type { OperatorFile } from '../../../daemon/contract/operator.ts';
import { proofOf } from '../../../daemon/contract/proof.ts';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import { messageOf } from '../../../daemon/domain/messages.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import { ADDRESS_SELF } from '../../../daemon/wallet/signer/port.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { cli, fakeIo } from '../cli-kit.ts';
import { own, PASSPHRASE, payment, useEpochOf, WORDS } from '../wallet/signer-kit.ts';

let dataDir: string;
let passphrase: string;
let answers: Record<string, () => unknown> = {};
let asked: { method: string; text: string }[] = [];
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (part: Buffer) => {
    text += part;
  });
  request.on('end', () => {
    const method = `${request.url}`.split('/').at(-1) ?? '';
    asked.push({ method, text });
    const proof = () => ({ proof: proofOf(file, `${request.headers['countinghouse-challenge']}`) });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(method === 'proof' ? proof() : (answers[method]?.() ?? {})));
  });
});
let file: OperatorFile;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'lying-'));
  await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: PASSPHRASE });
  passphrase = join(dataDir, 'passphrase');
  await writeFile(passphrase, PASSPHRASE);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  file = { url: `http://127.0.0.1:${port}`, socket: null, token: 't'.repeat(43) };
  await writeFile(join(dataDir, 'operator.json'), JSON.stringify(file));
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await rm(dataDir, { recursive: true });
});
beforeEach(() => {
  asked = [];
});

const now = (): string => new Date().toISOString();
const withdrawal = (over: object = {}) => ({
  id: 1,
  uuid: 'evil',
  business_id: 2,
  business: 'Shop',
  network: 'regtest',
  crypto: 'LTC',
  origin: 'merchant',
  refund_of: null,
  amount: '0.1',
  sweep: false,
  usd_value: '10',
  address: own('LTC', 0, 77).address,
  state: 'requested',
  reason: null,
  problem: null,
  approved_by: null,
  approved_at: null,
  deadline_at: null,
  fee_max: '0.00002',
  fee: null,
  fee_crypto: 'LTC',
  tx_id: null,
  canceling: false,
  created_at: now(),
  updated_at: now(),
  ...over,
});
const previewOf = (order: ReturnType<typeof payment>) => ({
  crypto: 'LTC',
  purpose: 'pay',
  outside: false,
  intents: order.withdrawals.map(({ intent }) => intent),
  raw: unsignedTransaction(order.plan),
  outputs: order.plan.outputs.map((output) => ({
    address: own('LTC', 0, 77).address,
    groups: 'shown',
    amount: '0.1',
    usd_value: '10',
    change: output.kind === 'change',
    change_index: output.kind === 'change' ? output.index : null,
  })),
  inputs: [],
  fee: '0.00001',
  fee_crypto: 'LTC',
  fee_usd: null,
  fee_max: '0.00002',
  fee_max_usd: null,
  usd_rate: '100',
  fee_rate: '1',
  vsize: 141,
  warnings: [],
  notes: [],
  speeds: [],
  until: Date.now() + 86_400_000,
});
const approve = (...more: string[]) =>
  cli(dataDir, ['withdrawal', 'approve', '1', '--passphrase-file', passphrase, '--yes', ...more]);
const methods = (): string[] => asked.map(({ method }) => method).filter((method) => method !== 'proof');

describe('approving', () => {
  it('shows what the approval is made over, not what the service says of it', async () => {
    const order = payment('LTC', ['evil'], 140_000_000n);
    const preview = { ...previewOf(order), notes: [messageOf('Withdrawal 1 is a refund\u001b[2J\n0 LTC to nobody')] };
    answers = {
      'withdrawal.propose': () => ({ withdrawals: [withdrawal()], preview, why: null, collect: null }),
      'withdrawal.approve': () => ({ withdrawals: [withdrawal({ state: 'approved' })], outcome: null }),
      'withdrawal.show': () => ({
        withdrawal: { ...withdrawal({ state: 'broadcast' }), conflict_key: null, versions: [] },
      }),
    };
    const { err } = await approve();
    expect(err).toContain('1.4 LTC (140 USD) to');
    expect(err).toContain(order.withdrawals[0]!.intent.address);
    expect(err).not.toContain(own('LTC', 0, 77).address);
    expect(err).toMatch(/^Withdrawal 1 is a refund[^\p{C}]*0 LTC to nobody, by the service's word\.$/mu);
  });

  it('sends nothing when transaction and approval differ', async () => {
    const preview = {
      ...previewOf(payment('LTC', ['evil'])),
      raw: unsignedTransaction(payment('LTC', ['x'], 5_000n).plan),
    };
    answers = {
      'withdrawal.propose': () => ({ withdrawals: [withdrawal()], preview, why: null, collect: null }),
    };
    const { code, err } = await approve();
    expect(code).not.toBe(0);
    expect(err).toContain('Nothing was approved');
    expect(methods()).toEqual(['withdrawal.propose']);
  });

  it('by a script that says what it expects sends nothing when something else is named', async () => {
    const order = payment('LTC', ['evil'], 140_000_000n);
    const { address } = order.withdrawals[0]!.intent;
    answers = {
      'withdrawal.propose': () => ({
        withdrawals: [withdrawal()],
        preview: previewOf(order),
        why: null,
        collect: null,
      }),
    };
    const shown = await approve('--to', own('LTC', 0, 77).address, '--amount', '0.1');
    expect(shown).toMatchObject({ code: 1, err: expect.stringContaining(`it pays ${address}, and not`) });
    const amount = await approve('--to', address, '--amount', '0.1');
    expect(amount).toMatchObject({ code: 1, err: expect.stringContaining('it pays 1.4 LTC, and not 0.1') });
    const coin = await approve('--to', address, '--amount', '1.4', '--crypto', 'BCH');
    expect(coin).toMatchObject({ code: 1, err: expect.stringContaining('it pays LTC, and not BCH') });
    expect(methods()).toEqual(['withdrawal.propose', 'withdrawal.propose', 'withdrawal.propose']);
  });

  it('by a script that names its payment pays no fee that it did not expect, nor the fees of a collection', async () => {
    const order = payment('LTC', ['evil'], 5_000_000n);
    order.withdrawals[0]!.intent.feeMax = '1000000';
    const intent = { ...order.withdrawals[0]!.intent, chain: 'ETH', asset: 'ETH', address: `0x${'ab'.repeat(20)}` };
    const collect = { chain: 'ETH', coin: 'ETH', addresses: 2, cost: '0.1', needs: null };
    const until = Date.now() + 86_400_000;
    const propose = (more: object) => ({
      'withdrawal.propose': () => ({ withdrawals: [withdrawal()], why: null, collect: null, ...more }),
      'withdrawal.approve': () => ({ withdrawals: [withdrawal({ state: 'approved' })], outcome: null }),
      'wallet.status': () => ({ wallet: { state: 'unlocked' } }),
    });
    answers = propose({ preview: previewOf(order) });
    const unsaid = expect.stringContaining('say how much with --fee-max');
    const { address } = order.withdrawals[0]!.intent;
    expect(await approve('--to', address)).toMatchObject({ code: 1, err: unsaid });
    const above = expect.stringContaining('it may cost 0.01 LTC in fees, and not 0.0099');
    expect(await approve('--fee-max', '0.0099')).toMatchObject({ code: 1, err: above });
    expect(await approve('--fee-max', 'much')).toMatchObject({ code: EXIT.usage });
    answers = propose({
      preview: { ...previewOf(order), crypto: 'ETH', fee_crypto: 'ETH', intents: [intent], raw: null, outputs: [] },
      collect: { ...collect, fee_max: `${10n ** 27n}`, until },
    });
    expect(await approve('--to', intent.address)).toMatchObject({ code: 1, err: unsaid });
    const all = expect.stringContaining('it may cost 1000000000.000000000001 ETH in fees, and not 0.5');
    expect(await approve('--fee-max', '0.5')).toMatchObject({ code: 1, err: all });
    expect(methods()).not.toContain('withdrawal.approve');
  });

  it('by a script that moves a stuck deposit pays no fee that it did not expect', async () => {
    const order = payment('LTC', ['bumped']);
    order.plan.inputs.splice(1);
    order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 49_998_000n }];
    const { outpoint } = order.plan.inputs[0]!;
    const { intent } = order.withdrawals[0]!;
    Object.assign(intent, { address: ADDRESS_SELF, units: '0', coins: [outpoint], feeMax: '2600000' });
    answers = {
      'withdrawal.propose': () => ({ withdrawals: [], preview: previewOf(order), why: null, collect: null }),
      'withdrawal.approve': () => ({ withdrawals: [], outcome: null }),
    };
    const bump = (...more: string[]) => {
      const secret = ['--passphrase-file', passphrase, '--yes'];
      return cli(dataDir, ['withdrawal', 'bump', 'Shop', 'LTC', outpoint, ...secret, ...more]);
    };
    const unsaid = expect.stringContaining('it may cost 0.026 LTC in fees: with --yes, say how much with --fee-max');
    expect(await bump()).toMatchObject({ code: 1, err: unsaid });
    expect(methods()).toEqual(['withdrawal.propose']);
    expect(await bump('--fee-max', '0.026')).toMatchObject({ code: 0 });
  });

  it.each(['completed', 'rejected', 'failed', 'broadcast'])('asks nothing about what is %s', async (state) => {
    const preview = previewOf(payment('LTC', ['evil']));
    answers = {
      'withdrawal.propose': () => ({
        withdrawals: [withdrawal({ state, reason: messageOf('as it was') })],
        preview,
        why: null,
        collect: null,
      }),
    };
    const { code, err } = await approve();
    expect(code).not.toBe(0);
    expect(err).toBe(`error: withdrawal 1 is ${state} (as it was): there is nothing to approve\n`);
  });
});

describe('approving a batch by a script', () => {
  const pair = ['first', 'second'].map((uuid, i) => withdrawal({ id: i + 1, uuid }));
  const order = payment('LTC', ['first', 'second'], 10_000_000n);
  const [a = '', b = ''] = order.withdrawals.map(({ intent }) => intent.address);
  const batch = (...pay: string[]) => {
    answers = {
      'withdrawal.propose': () => ({
        withdrawals: pair,
        preview: previewOf(order),
        why: null,
        collect: null,
      }),
      'withdrawal.approve': () => ({ withdrawals: pair, outcome: null }),
    };
    const named = pay.flatMap((one) => ['--pay', one]);
    return cli(dataDir, ['withdrawal', 'batch', '1', '2', '--passphrase-file', passphrase, '--yes', ...named]);
  };

  it('that names each payment approves them in one transaction', async () => {
    expect(await batch(`${b}=0.1`, `${a}=0.10`)).toMatchObject({
      code: 0,
      out: '2 withdrawals are approved, in one transaction.\n',
    });
    expect(methods()).toEqual(['withdrawal.propose', 'withdrawal.approve']);
    const sent = JSON.parse(asked.at(-1)!.text) as { approvals: { uuid: string; mac: string }[] };
    const each = ['first', 'second'].map((uuid) => ({ uuid, mac: expect.stringMatching(/^.{40,}$/) }));
    expect(sent.approvals).toMatchObject(each);
  });

  it.each([
    ['without a name for each', [`${a}=0.1`], EXIT.usage, 'name each of the 2 payments'],
    ['with words that are no payment', [`${a}=0.1`, `${b}:0.1`], EXIT.usage, 'say address=amount'],
    ['of another amount', [`${a}=0.1`, `${b}=0.2`], EXIT.failed, 'Nothing was approved'],
    ['to another recipient', [`${a}=0.1`, `${own('LTC', 0, 77).address}=0.1`], EXIT.failed, 'Nothing was approved'],
    ['with one name for both', [`${a}=0.1`, `${a}=0.1`], EXIT.failed, 'Nothing was approved'],
  ])('%s approves nothing', async (_what, pay, code, text) => {
    expect(await batch(...pay)).toMatchObject({ code, err: expect.stringContaining(text) });
    expect(methods()).not.toContain('withdrawal.approve');
  });
});

describe.skipIf(process.platform === 'win32')('confirming a restore beside a signer of its own', () => {
  it('first ends what the signer was allowed before, and confirms nothing if it cannot', async () => {
    const [wallet, run] = ['signer', 'run'].map((name) => join(dataDir, name)) as [string, string];
    await mkdir(wallet, { mode: 0o700 });
    await mkdir(run, { mode: 0o750 });
    await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
    await useEpochOf(wallet);
    const before = await epochOf(wallet);
    const socket = join(run, 'signer.sock');
    answers = {
      'restore.status': () => ({
        quarantined: true,
        since: now(),
        backup_made_at: now(),
        policies: ['Shop'],
        ready: true,
        sleeping_keys: [],
        clients: [],
        endpoints: [],
      }),
      'wallet.status': () => ({
        wallet: {
          state: 'unlocked',
          fingerprint: '73c5da0a',
          unlock: 'prompt',
          locks_at: null,
          retry_after_seconds: 0,
          words_unproved: false,
          separate: true,
          gap: 1_000,
        },
      }),
    };
    const confirm = async () => {
      const { io, ran } = fakeIo({ COUNTINGHOUSE_SIGNER_SOCKET: socket, COUNTINGHOUSE_SIGNER_DIR: wallet });
      const argv = ['--data-dir', dataDir, 'restore', 'confirm', '--yes', '--passphrase-file', passphrase];
      const code = await runCli(argv, io);
      return { code, ...ran };
    };
    const unanswered = expect.stringMatching(
      /^error: The separate signer does not answer .*`systemctl start countinghouse-signer`/,
    );
    expect(await confirm()).toMatchObject({ code: 1, err: unanswered });
    // systemd takes the socket's folder away with the service
    await rmdir(run);
    expect(await confirm()).toMatchObject({ code: 1, err: unanswered });
    await mkdir(run, { mode: 0o750 });
    expect([methods(), await epochOf(wallet)]).toEqual([['restore.status', 'restore.status'], before]);
    const source = () => ({ kind: 'prompt' as const });
    const service = await serveSigner({ folder: wallet, socket, autoLockMinutes: 0, source, log: () => {} });
    let atConfirmation: string | null = null;
    answers['restore.confirm'] = () => {
      atConfirmation = readFileSync(join(wallet, 'signer-journal.jsonl'), 'utf8');
      return {};
    };
    expect(await confirm()).toMatchObject({ code: 0, out: expect.stringContaining('The quarantine has ended') });
    const after = await epochOf(wallet);
    expect(after).not.toBe(before);
    expect(atConfirmation).toContain(after);
    await service.close();
  });
});

describe('setting a policy', () => {
  it('signs for no more than was asked for', async () => {
    const grant = { network: 'regtest', accountNo: 0, addresses: null, issuedAt: Date.now() };
    answers = {
      'policy.grants': () => ({
        grants: ASSETS.map(({ symbol }) => {
          const units = symbol === 'LTC' ? '99000000000' : '0';
          return { ...grant, asset: symbol, perWithdrawal: units, perDay: units };
        }),
      }),
      'rates.list': () => ({
        rates: [{ network: 'regtest', crypto: 'LTC', usd: '100', eur: null, gbp: null }],
        currencies: [],
        credits: [],
      }),
    };
    const limits = ['--per-withdrawal', '100', '--per-day', '500', '--passphrase-file', passphrase, '--yes'];
    const { code, err } = await cli(dataDir, ['policy', 'set', 'Shop', '--mode', 'automatic', ...limits]);
    expect(code).not.toBe(0);
    expect(err).toContain('it would let go more LTC than was asked for');
    expect(methods()).toEqual(['policy.grants', 'rates.list']);
  });
});

it('the list of rates names the sources that ask for it, each once', async () => {
  const credit = { text: 'Price data by CoinGecko', url: 'https://www.coingecko.com' };
  answers = {
    'rates.list': () => ({
      rates: [{ network: 'mainnet', crypto: 'LTC', usd: '100', eur: null, gbp: null }],
      currencies: [],
      credits: (['mainnet', 'testnet'] as const).map((network) => ({ network, ...credit })),
    }),
  };
  const { code, out } = await cli(dataDir, ['rates']);
  expect(code).toBe(0);
  expect(
    out
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replace(/ +/g, ' ')),
  ).toEqual(['mainnet LTC 100 - -', 'Price data by CoinGecko: https://www.coingecko.com', '']);
});

it('no secret is in anything that is sent', async () => {
  answers = {
    'withdrawal.propose': () => ({
      withdrawals: [withdrawal()],
      preview: previewOf(payment('LTC', ['one'])),
      why: null,
      collect: null,
    }),
  };
  await approve();
  expect(asked.map(({ text }) => text).join()).not.toContain(PASSPHRASE);
});
