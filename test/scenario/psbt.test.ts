/**
 * Withdrawals of accounts whose keys are in another wallet, on a real litecoind. They are signed by the wallet of another node, which
 * follows no chain and knows nothing but the keys and the PSBT.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import type { Branch, ScriptForm } from '../../daemon/domain/chain.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { spawnBound } from '../support/bound-child.ts';
import { bundled } from '../support/bundles.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { otherWallet } from './other-wallet.ts';

const COIN = 100_000_000n;
const FORMS = ['p2wpkh', 'p2sh-p2wpkh', 'p2pkh'] as const satisfies ScriptForm[];
/** The addresses that the other wallet knows, of each branch. */
const KEYS = 6;

type Raw = {
  locktime: number;
  vin: { txid: string; vout: number; sequence: number }[];
  vout: { value: number }[];
};
type Coin = { value: number; scriptPubKey: { hex: string } };
type Detail = Result<'withdrawal.show'>['withdrawal'];

describe.skipIf(!hasLitecoind)(litecoindTitle('withdrawals signed in another wallet'), () => {
  let node: Litecoind;
  let signer: Litecoind;
  let service: TestDaemon;
  beforeAll(async () => {
    [node, signer] = await Promise.all([Litecoind.start(), Litecoind.start()]);
    await node.fund();
    service = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
  });
  afterAll(async () => {
    await service?.stop();
    await Promise.all([node?.remove(), signer?.remove()]);
  });

  const operator = () => operatorClient(service.dataDir);
  const run = (...line: string[]) => cli(service.dataDir, line);
  const show = async (id: number): Promise<Detail> => (await operator()('withdrawal.show', { id: `${id}` })).withdrawal;
  const inState = (id: number, state: Detail['state']) =>
    until(`withdrawal ${id} is ${state}`, async () => {
      const one = await show(id);
      return one.state === state && one;
    });
  const mempool = () => node.rpc<string[]>('getrawmempool', []);

  let shops = 0;

  /** A business with an account of another wallet of its own, and 2 LTC in each of so many coins. */
  async function shop(form: ScriptForm, coins = 1): Promise<{ name: string; key: string }> {
    shops++;
    const other = otherWallet(shops, form);
    const name = `Shop ${shops}`;
    const options = ['--name', name, '--network', 'regtest', '--account', `LTC=${other.descriptor}`, '--no-wallet'];
    const added = await run('business', 'add', ...options, '--json', '--yes');
    expect([added.code, added.err]).toEqual([0, expect.stringContaining('0  ')]);
    const { key } = JSON.parse(added.out) as Result<'business.add'>;
    for (const branch of [0, 1] satisfies Branch[]) {
      for (let index = 0; index < KEYS; index++) {
        await signer.rpc('importprivkey', [other.wif(index, branch), '', false]);
      }
    }
    const headers = { 'mb-api-key': key.key };
    for (let paid = 0; paid < coins; paid++) {
      const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 160, crypto: 'LTC' }, headers);
      const address = await until('litecoind is followed', async () => {
        const asked = await service.call<{ address: string }>('POST', `/invoice/rp/${body.id}`, {}, headers);
        return asked.status === 201 && asked.body.address;
      });
      await node.pay([{ address, units: 2n * COIN }]);
    }
    await node.mine(6);
    await until('the payments are confirmed', async () => {
      const { body } = await service.call<{ LTC: number }>('GET', '/balance', undefined, headers);
      return body.LTC === 2 * coins;
    });
    return { name, key: key.key };
  }

  /** Asks for a withdrawal and approves it, as compared by the command line; without any passphrase. */
  async function approved(business: string, amount: string): Promise<{ id: number; to: string }> {
    const to = await node.newAddress();
    const { withdrawal } = await operator()('withdrawal.add', { business, crypto: 'LTC', address: to, amount });
    const expected = ['--to', to, '--amount', amount];
    const done = await run('withdrawal', 'approve', `${withdrawal.id}`, '--yes', ...expected);
    expect([done.code, done.out, done.err]).toEqual([
      0,
      expect.stringContaining('waits: its PSBT waits for the wallet that has the keys'),
      expect.stringContaining(to.slice(0, 4)),
    ]);
    return { id: withdrawal.id, to };
  }

  /** The PSBT, as the other wallet signs it. */
  async function signedPsbt(id: number): Promise<string> {
    const given = await run('withdrawal', 'psbt', `${id}`);
    expect([given.code, given.err]).toEqual([0, '']);
    const { psbt, complete } = await signer.rpc<{ psbt: string; complete: boolean }>('walletprocesspsbt', [
      given.out.trim(),
    ]);
    expect(complete).toBe(true);
    return psbt;
  }

  async function fileOf(id: number, text: string): Promise<string> {
    const file = join(service.dataDir, `signed-${id}.psbt`);
    await writeFile(file, text);
    return file;
  }

  const handInFile = (id: number, file: string) => run('withdrawal', 'signed', `${id}`, file, '--json');
  const handIn = async (id: number, text: string) => handInFile(id, await fileOf(id, text));

  const codeOf = ({ err }: { err: string }): string => (JSON.parse(err) as { error: { code: string } }).error.code;

  async function needSound(): Promise<void> {
    const { chains } = await operator()('ledger.prove', { chain: 'regtest:LTC' });
    expect(chains).toMatchObject([{ chain: 'regtest:LTC', problems: [] }]);
    expect((await operator()('alert.list', {})).alerts.map(({ kind }) => kind)).toEqual([]);
  }

  it.each(FORMS)('of %s: downloaded, signed, handed in twice, confirmed once', async (form) => {
    const { name, key } = await shop(form);
    const { id, to } = await approved(name, '0.5');
    const first = await run('withdrawal', 'psbt', `${id}`);
    expect((await show(id)).state).toBe('signed');
    expect(codeOf(await handIn(id, first.out))).toBe('psbt.unsigned');
    const psbt = await signedPsbt(id);
    expect((await run('withdrawal', 'psbt', `${id}`)).out).toBe(first.out);

    const file = await fileOf(id, psbt);
    const [one, two] = await Promise.all([handInFile(id, file), handInFile(id, file)]);
    expect([one.code, two.code, one.err, two.err]).toEqual([0, 0, '', '']);
    const { tx_id, versions } = await inState(id, 'broadcast');
    expect([tx_id, versions.length]).toEqual([null, 1]);
    expect(await mempool()).toEqual([versions[0]!.tx_id]);
    expect((await handIn(id, psbt)).code).toBe(0);

    await node.mine(1);
    expect(await inState(id, 'completed')).toMatchObject({ tx_id: versions[0]!.tx_id, problem: null });
    const got = await node.rpc<number>('getreceivedbyaddress', [to]);
    expect(got).toBe(0.5);
    const headers = { 'mb-api-key': key };
    const fee = Number((await show(id)).fee);
    const left = await service.call<{ LTC: number }>('GET', '/balance', undefined, headers);
    expect(left.body.LTC).toBeCloseTo(1.5 - fee, 8);
    await node.mine(12);
    await needSound();
  });

  it('is sped up and canceled by further PSBTs, of which one alone can confirm', async () => {
    const { name } = await shop('p2wpkh', 2);
    const { id } = await approved(name, '0.3');
    const slow = await signedPsbt(id);
    const faster = await run('withdrawal', 'speed-up', `${id}`, '--yes', '--fee-rate', '40');
    expect([faster.code, faster.out]).toEqual([0, expect.stringContaining('its PSBT waits')]);
    // a plan that nobody downloaded gives way to the next one
    const again = await run('withdrawal', 'speed-up', `${id}`, '--yes', '--fee-rate', '60');
    expect(again.code).toBe(0);
    expect((await show(id)).versions.map(({ fee }) => Number(fee))).toEqual([expect.any(Number), expect.any(Number)]);
    const fast = await signedPsbt(id);
    expect(fast).not.toBe(slow);
    expect(codeOf(await handIn(id, slow))).toBe('psbt.replaced');
    expect((await handIn(id, fast)).code).toBe(0);
    await inState(id, 'broadcast');
    expect((await mempool()).length).toBe(1);
    const refused = await run('withdrawal', 'reject', `${id}`, '--yes', '--json');
    expect(codeOf(refused)).toBe('withdrawal.state');

    const cancel = await run('withdrawal', 'cancel', `${id}`, '--yes');
    expect([cancel.code, cancel.out]).toEqual([0, expect.stringContaining('its PSBT waits')]);
    const back = await signedPsbt(id);
    expect(codeOf(await handIn(id, fast))).toBe('psbt.replaced');
    expect((await handIn(id, back)).code).toBe(0);
    await until('the cancellation took its place', async () => {
      const { versions } = await show(id);
      return (await mempool()).includes(`${versions[2]?.tx_id}`);
    });
    await node.mine(12);
    expect(await inState(id, 'failed')).toMatchObject({ reason: { code: 'ended.canceled' } });
    await needSound();
  });

  it('is given up unsigned: its coins are free, and a copy that turns up later never pays beside the next payment', async () => {
    const { name, key } = await shop('p2wpkh', 2);
    const headers = { 'mb-api-key': key };
    const balance = async () => (await service.call<{ LTC: number }>('GET', '/balance', undefined, headers)).body.LTC;
    const first = await approved(name, '0.5');
    expect(codeOf(await run('withdrawal', 'psbt', '999999', '--json'))).toBe('withdrawal.not_found');
    const copy = await signedPsbt(first.id);
    const { deadline_at } = await show(first.id);
    const days = (Date.parse(`${deadline_at}`) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
    const before = await balance();
    const ended = await run('withdrawal', 'reject', `${first.id}`, '--yes');
    expect([ended.code, ended.out]).toEqual([0, expect.stringContaining('is given up')]);
    expect(await show(first.id)).toMatchObject({
      state: 'failed',
      reason: { code: 'ended.unsigned' },
      problem: null,
      deadline_at: null,
      tx_id: null,
    });
    expect(await balance()).toBeGreaterThan(before + 0.5);
    expect(codeOf(await handIn(first.id, copy))).toBe('psbt.abandoned');
    expect(codeOf(await run('withdrawal', 'psbt', `${first.id}`, '--json'))).toBe('psbt.none');
    expect(codeOf(await run('withdrawal', 'reject', `${first.id}`, '--yes', '--json'))).toBe('withdrawal.state');

    // whoever has the copy of the first and the signature of the second sends only one of them
    const second = await approved(name, '0.6');
    const again = await signedPsbt(second.id);
    const coins = async (psbt: string) =>
      (await node.rpc<{ tx: Raw }>('decodepsbt', [psbt])).tx.vin.map(({ txid, vout }) => `${txid}:${vout}`);
    const [was, now] = await Promise.all([coins(copy), coins(again)]);
    expect(now.filter((coin) => was.includes(coin))).not.toEqual([]);
    // another payment finds the coin taken, and waits
    const third = await operator()('withdrawal.add', {
      business: name,
      crypto: 'LTC',
      address: first.to,
      amount: '0.1',
    });
    const { why } = await operator()('withdrawal.propose', { kind: 'pay', id: `${third.withdrawal.id}` });
    expect(why?.code).toBe('spend.abandoned');
    expect((await run('withdrawal', 'reject', `${third.withdrawal.id}`, '--yes')).code).toBe(0);

    expect((await handIn(second.id, again)).code).toBe(0);
    await inState(second.id, 'broadcast');
    const { hex } = await signer.rpc<{ hex: string }>('finalizepsbt', [copy]);
    await expect(node.rpc('sendrawtransaction', [hex])).rejects.toThrow(/txn-mempool-conflict|insufficient fee/);
    await node.mine(12);
    await inState(second.id, 'completed');
    expect(await show(first.id)).toMatchObject({ state: 'failed', reason: { code: 'ended.unsigned' } });
    await needSound();
  });

  it('that takes everything and was given up is planned again as another transaction', async () => {
    const { name } = await shop('p2wpkh');
    const to = await node.newAddress();
    const sweep = async () => {
      const { withdrawal } = await operator()('withdrawal.add', {
        business: name,
        crypto: 'LTC',
        address: to,
        amount: null,
      });
      expect((await run('withdrawal', 'approve', `${withdrawal.id}`, '--yes', '--to', to, '--amount', '2')).code).toBe(
        0,
      );
      return withdrawal.id;
    };
    // a block between the two would make them differ
    const height = await node.rpc<number>('getblockcount', []);
    await until('every block is known', async () => {
      const { chains } = await operator()('status', {});
      return chains.some(({ chain, tip }) => chain === 'LTC' && tip?.height === height);
    });
    const first = await sweep();
    const copy = await signedPsbt(first);
    expect((await run('withdrawal', 'reject', `${first}`, '--yes')).code).toBe(0);
    const second = await sweep();
    const problem = async () => (await show(second)).problem?.values;
    await until('it waits for the next block', async () => /very transaction/.test(JSON.stringify(await problem())));
    await node.mine(1);
    await until('it is planned', async () => (await show(second)).problem?.code === 'wait.outside');
    const psbt = await signedPsbt(second);
    expect(psbt).not.toBe(copy);
    expect((await handIn(second, psbt)).code).toBe(0);
    await inState(second, 'broadcast');
    await node.mine(12);
    await inState(second, 'completed');
    expect((await show(first)).state).toBe('failed');
    await needSound();
  });

  it.each(FORMS)('of %s is recognised where the other wallet sends it by itself', async (form) => {
    const { name } = await shop(form);
    const { id } = await approved(name, '0.4');
    const { hex } = await signer.rpc<{ hex: string }>('finalizepsbt', [await signedPsbt(id)]);
    const txid = await node.rpc<string>('sendrawtransaction', [hex]);
    await inState(id, 'broadcast');
    await node.mine(1);
    expect(await inState(id, 'completed')).toMatchObject({ tx_id: txid, problem: null });
    await node.mine(12);
    await needSound();
  });

  it('is sent once where kill -9 ends the service between the upload and the broadcast', async () => {
    const { name } = await shop('p2pkh');
    const { id } = await approved(name, '0.7');
    const psbt = await signedPsbt(id);
    await service.daemon.stop();
    const child = spawnBound(process.execPath, [await bundled('test/scenario/runner.ts'), service.dataDir], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const died = once(child, 'close');
    let told = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      told += chunk;
    });
    await until('another process serves the same data', async () => told.includes('{"url"'));
    await node.stop();
    expect((await handIn(id, psbt)).code).toBe(0);
    expect((await show(id)).versions).toMatchObject([{ signed_at: expect.any(String), sent_at: null }]);
    child.kill('SIGKILL');
    expect((await died)[1]).toBe('SIGKILL');
    await node.launch();
    expect(await mempool()).toEqual([]);
    await service.resume();
    const { versions } = await inState(id, 'broadcast');
    expect(await mempool()).toEqual([versions[0]!.tx_id]);
    await node.mine(12);
    await inState(id, 'completed');
    await needSound();
  });

  it('that was given up is completed where a copy is sent, and the next payment fails instead', async () => {
    const { name } = await shop('p2pkh', 2);
    const first = await approved(name, '0.5');
    const { hex } = await signer.rpc<{ hex: string }>('finalizepsbt', [await signedPsbt(first.id)]);
    expect((await run('withdrawal', 'reject', `${first.id}`, '--yes', '--reason', 'lost the device')).code).toBe(0);
    expect((await show(first.id)).reason).toMatchObject({ code: 'ended.unsigned_why' });
    const second = await approved(name, '0.5');
    await signedPsbt(second.id);
    const txid = await node.rpc<string>('sendrawtransaction', [hex]);
    await inState(first.id, 'broadcast');
    await node.mine(12);
    expect(await inState(first.id, 'completed')).toMatchObject({ tx_id: txid, reason: null });
    expect((await inState(second.id, 'failed')).reason).toMatchObject({ code: 'ended.conflict' });
    const { chains } = await operator()('ledger.prove', { chain: 'regtest:LTC' });
    expect(chains).toMatchObject([{ problems: [] }]);
  });

  it('ends with an alarm where an altered copy is sent, and is not paid again', async () => {
    const { name } = await shop('p2pkh');
    const { id } = await approved(name, '0.6');
    const { psbt } = await operator()('withdrawal.psbt', { id: `${id}` });
    const { tx } = await node.rpc<{ tx: Raw }>('decodepsbt', [psbt]);
    const outputs = tx.vout.map(({ value }, at) => ({ at, value })).sort((one, other) => one.value - other.value);
    const thief = await node.newAddress();
    // the payment is smaller than the change, and comes first
    const paid = await Promise.all(
      outputs.map(async (one) => [one.at === 0 ? thief : await signer.newAddress(), one.value]),
    );
    const inputs = tx.vin.map(({ txid, vout, sequence }) => ({ txid, vout, sequence }));
    const raw = await node.rpc<string>('createrawtransaction', [
      inputs,
      paid.map(([to, value]) => ({ [`${to}`]: value! })),
      tx.locktime,
    ]);
    const spent = await node.rpc<Coin>('gettxout', [inputs[0]!.txid, inputs[0]!.vout]);
    const coin = {
      txid: inputs[0]!.txid,
      vout: inputs[0]!.vout,
      scriptPubKey: spent.scriptPubKey.hex,
      amount: spent.value,
    };
    const altered = await signer.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithwallet', [raw, [coin]]);
    expect(altered.complete).toBe(true);
    const refused = await handIn(id, altered.hex);
    expect([codeOf(refused), refused.err]).toEqual([
      'psbt.output',
      expect.stringContaining('cancel this withdrawal now'),
    ]);
    expect((await show(id)).state).toBe('signed');

    const txid = await node.rpc<string>('sendrawtransaction', [altered.hex]);
    await node.mine(12);
    const failed = await inState(id, 'failed');
    expect([failed.reason?.code, failed.versions.length]).toEqual(['ended.conflict', 1]);
    const { alerts } = await operator()('alert.list', {});
    expect(alerts.map(({ kind, subject }) => [kind, subject.split(' ')[0]])).toContainEqual([
      'withdrawal.conflict',
      txid,
    ]);
  });

  it('ends by itself: after 30 days what nobody signed, and after seven what nobody downloaded', async () => {
    const { name, key } = await shop('p2wpkh', 2);
    const handed = await approved(name, '0.5');
    await signedPsbt(handed.id);
    const left = await approved(name, '0.4');
    expect((await show(left.id)).state).toBe('approved');
    service.advance(31 * 86_400_000);
    await node.mine(1);
    expect(await inState(left.id, 'rejected')).toMatchObject({ reason: { code: 'ended.expired' }, versions: [] });
    expect(await inState(handed.id, 'failed')).toMatchObject({ reason: { code: 'ended.unsigned' }, problem: null });
    const { body } = await service.call<{ LTC: number }>('GET', '/balance', undefined, { 'mb-api-key': key });
    expect(body.LTC).toBe(4);
  });
});
