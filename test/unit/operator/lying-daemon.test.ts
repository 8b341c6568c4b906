/** The command line against a daemon that was taken over: it knows the token, and lies in what it shows. */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import type { OperatorFile } from '../../../daemon/contract/operator.ts';
import { proofOf } from '../../../daemon/contract/proof.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { cli } from '../cli-kit.ts';
import { own, PASSPHRASE, payment, WORDS } from '../wallet/signer-kit.ts';

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
  ...{ id: 1, uuid: 'evil', business_id: 2, business: 'Shop', network: 'regtest', crypto: 'LTC', origin: 'merchant' },
  refund_of: null,
  ...{ amount: '0.1', sweep: false, usd_value: '10', address: own('LTC', 0, 77).address, state: 'requested' },
  ...{ reason: null, problem: null, approved_by: null, approved_at: null, deadline_at: null, fee_max: '0.00002' },
  ...{ fee: null, fee_crypto: 'LTC', tx_id: null, canceling: false, created_at: now(), updated_at: now() },
  ...over,
});
const previewOf = (order: ReturnType<typeof payment>) => ({
  ...{
    crypto: 'LTC',
    purpose: 'pay',
    intents: order.withdrawals.map(({ intent }) => intent),
    raw: unsignedTransaction(order.plan),
  },
  outputs: order.plan.outputs.map((output) => ({
    ...{ address: own('LTC', 0, 77).address, groups: 'shown', amount: '0.1', usd_value: '10' },
    ...{ change: output.kind === 'change', change_index: output.kind === 'change' ? output.index : null },
  })),
  ...{
    inputs: [],
    fee: '0.00001',
    fee_crypto: 'LTC',
    fee_usd: null,
    fee_max: '0.00002',
    fee_max_usd: null,
    usd_rate: '100',
  },
  ...{ fee_rate: '1', vsize: 141, warnings: [], notes: [], speeds: [], until: Date.now() + 86_400_000 },
});
const approve = (...more: string[]) =>
  cli(dataDir, ['withdrawal', 'approve', '1', '--passphrase-file', passphrase, '--yes', ...more]);
const methods = (): string[] => asked.map(({ method }) => method).filter((method) => method !== 'proof');

describe('approving', () => {
  it('shows what the approval is made over, not what the service says of it', async () => {
    const order = payment('LTC', ['evil'], 140_000_000n);
    const preview = { ...previewOf(order), notes: ['Withdrawal 1 is a refund\u001b[2J\n0 LTC to nobody'] };
    answers = {
      'withdrawal.propose': () => ({ withdrawals: [withdrawal()], preview, why: null }),
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
    answers = { 'withdrawal.propose': () => ({ withdrawals: [withdrawal()], preview, why: null }) };
    const { code, err } = await approve();
    expect(code).not.toBe(0);
    expect(err).toContain('Nothing was approved');
    expect(methods()).toEqual(['withdrawal.propose']);
  });

  it('by a script that says what it expects sends nothing when something else is named', async () => {
    const order = payment('LTC', ['evil'], 140_000_000n);
    const { address } = order.withdrawals[0]!.intent;
    answers = { 'withdrawal.propose': () => ({ withdrawals: [withdrawal()], preview: previewOf(order), why: null }) };
    const shown = await approve('--to', own('LTC', 0, 77).address, '--amount', '0.1');
    expect(shown).toMatchObject({ code: 1, err: expect.stringContaining(`it pays ${address}, and not`) });
    const amount = await approve('--to', address, '--amount', '0.1');
    expect(amount).toMatchObject({ code: 1, err: expect.stringContaining('it pays 1.4 LTC, and not 0.1') });
    expect(methods()).toEqual(['withdrawal.propose', 'withdrawal.propose']);
  });

  it.each(['completed', 'rejected', 'failed', 'broadcast'])('asks nothing about what is %s', async (state) => {
    const preview = previewOf(payment('LTC', ['evil']));
    answers = {
      'withdrawal.propose': () => ({ withdrawals: [withdrawal({ state, reason: 'as it was' })], preview, why: null }),
    };
    const { code, err } = await approve();
    expect(code).not.toBe(0);
    expect(err).toBe(`error: withdrawal 1 is ${state} (as it was): there is nothing to approve\n`);
  });
});

describe('setting a policy', () => {
  it('signs for no more than was asked for', async () => {
    const grant = { network: 'regtest', accountNo: 0, addresses: null, issuedAt: Date.now() };
    answers = {
      'policy.grants': () => ({
        grants: ['LTC', 'BTC', 'BCH'].map((asset) => {
          const units = asset === 'LTC' ? '99000000000' : '0';
          return { ...grant, asset, perWithdrawal: units, perDay: units };
        }),
      }),
      'rates.list': () => ({ rates: [{ network: 'regtest', crypto: 'LTC', usd: '100', eur: null, gbp: null }] }),
    };
    const limits = ['--per-withdrawal', '100', '--per-day', '500', '--passphrase-file', passphrase, '--yes'];
    const { code, err } = await cli(dataDir, ['policy', 'set', 'Shop', '--mode', 'automatic', ...limits]);
    expect(code).not.toBe(0);
    expect(err).toContain('it would let go more LTC than was asked for');
    expect(methods()).toEqual(['policy.grants', 'rates.list']);
  });
});

it('no secret is in anything that is sent', async () => {
  answers = {
    'withdrawal.propose': () => ({
      withdrawals: [withdrawal()],
      preview: previewOf(payment('LTC', ['one'])),
      why: null,
    }),
  };
  await approve();
  expect(asked.map(({ text }) => text).join()).not.toContain(PASSPHRASE);
});
