/**
 * Withdrawals on a real litecoind, from request to burial: approved by hand with the wallet's passphrase, signed by the
 * signer, sped up, canceled, batched, swept, reorganised away, and sent while the node was down or knew it already.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import type { Shown } from '../support/money.ts';
import type { Operator } from '../support/operator.ts';
import { openShop } from '../support/shop.ts';

const COIN = 100_000_000n;
const BURIED = 12;

type Mempool = { fees: { base: number }; vsize: number; depends: string[] };
type Decoded = {
  vout: { value: number; scriptPubKey: { addresses?: string[] } }[];
  vin: { txid: string; vout: number }[];
};

describe.skipIf(!hasLitecoind)(litecoindTitle('withdrawals on litecoind'), () => {
  let node: Litecoind;
  let service: TestDaemon;
  let operator: Operator;
  let key: string;

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    service = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator } = await openShop(service, ['invoices', 'balance', 'withdraw']));
    await operator.unlock();
    for (const units of [10n, 5n, 3n]) await deposit(units * COIN);
    await node.mine(12);
    await until('the deposits are spendable', async () => (await balance()) === 18);
  });
  afterAll(async () => {
    await service?.stop();
    await node?.remove();
  });

  const call = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const balance = async (): Promise<number> => (await call<{ LTC: number }>('GET', '/balance')).body.LTC;
  const fresh = (): Promise<string> => node.rpc<string>('getnewaddress', []);
  const receivedAt = (address: string, depth = 1): Promise<number> =>
    node.rpc<number>('getreceivedbyaddress', [address, depth]);
  const inMempool = async (txid: string): Promise<boolean> =>
    (await node.rpc<string[]>('getrawmempool', [])).includes(txid);
  const decoded = async (txid: string): Promise<Decoded> => node.rpc<Decoded>('getrawtransaction', [txid, true]);

  /** An address of an invoice of the shop. */
  async function ourAddress(): Promise<string> {
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    return until('litecoind is followed', async () => {
      const paid = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return paid.status === 201 && paid.body.address;
    });
  }
  const deposit = async (units: bigint): Promise<string> => node.pay([{ address: await ourAddress(), units }]);

  async function request(amount: string, address: string): Promise<string> {
    const { status, body } = await call<{ id: string }>('POST', '/withdraw', { amount, crypto: 'LTC', address });
    expect([status, body]).toEqual([201, { id: expect.any(String), status: 'pending' }]);
    return body.id;
  }
  const shown = async (id: string): Promise<Shown> => (await call<Shown>('GET', `/withdrawal/${id}`)).body;
  const when = (id: string, state: string) =>
    until(`withdrawal ${id} is ${state}`, async () => {
      const now = await operator.show(id);
      return now.state === state && now;
    });
  /** The newest transaction of a withdrawal, once the node has it. */
  const sent = (id: string, versions = 1): Promise<string> =>
    until(`version ${versions} of withdrawal ${id} is in the mempool`, async () => {
      const txid = (await operator.show(id)).versions[versions - 1]?.tx_id;
      return txid && (await inMempool(txid)) && txid;
    });

  it('waits for the operator, shows every output, and pays exactly what was asked', async () => {
    const address = await fresh();
    const before = await balance();
    const id = await request('1.5', address);
    expect((await operator.show(id)).state).toBe('requested');
    expect(await node.rpc('getrawmempool', [])).toEqual([]);

    const preview = await operator.approve(id);
    expect(preview.outputs).toContainEqual(
      expect.objectContaining({ address, amount: '1.5', usd_value: '120', change: false }),
    );
    expect(preview.outputs.filter(({ change }) => change)).toHaveLength(1);
    expect(preview.outputs[0]!.groups.replaceAll(' ', '')).toBe(preview.outputs[0]!.address);
    expect(preview.warnings.map(({ code }) => code)).toEqual(['new_address']);

    const txid = await sent(id);
    const { vout } = await decoded(txid);
    expect(
      vout.filter(({ scriptPubKey }) => scriptPubKey.addresses?.includes(address)).map(({ value }) => value),
    ).toEqual([1.5]);
    const entry = await node.rpc<Mempool>('getmempoolentry', [txid]);
    expect(entry.fees.base).toBeCloseTo(Number(preview.fee), 8);
    expect(entry.vsize).toBeLessThanOrEqual(preview.vsize);
    await until(
      'the balance goes along',
      async () => (await balance()) === Number((before - 1.5 - Number(preview.fee)).toFixed(8)),
    );

    await node.mine(1);
    await when(id, 'completed');
    expect(await shown(id)).toMatchObject({ status: 'completed', tx_id: txid, fee: preview.fee });
    expect(await receivedAt(address)).toBe(1.5);
  });

  it('the same address is not new the next time, and who is rejected is not paid', async () => {
    const address = await fresh();
    const first = await request('0.2', address);
    await operator.approve(first);
    await sent(first);
    await node.mine(1);
    await when(first, 'completed');
    const second = await request('0.2', address);
    expect((await operator.preview(second)).warnings).toEqual([]);
    await operator.call('withdrawal.reject', { id: second, reason: 'only a look' });
    expect(await shown(second)).toMatchObject({ status: 'failed', tx_id: null });
  });

  it('is sped up: the recipient gets the same, the fee is higher, and one of the two confirms', async () => {
    const address = await fresh();
    const id = await request('0.7', address);
    await operator.approve(id);
    const first = await sent(id);
    const preview = await operator.replace(id, 'speed-up', '60');
    const second = await sent(id, 2);
    expect(await inMempool(first)).toBe(false);
    expect(preview.outputs).toContainEqual(expect.objectContaining({ address, amount: '0.7' }));
    const { fees } = await node.rpc<Mempool>('getmempoolentry', [second]);
    expect(fees.base).toBeCloseTo(Number(preview.fee), 8);
    const { conflict_key } = await operator.show(id);
    expect((await decoded(second)).vin.map(({ txid, vout }) => `${txid}:${vout}`)).toContain(conflict_key);
    await node.mine(1);
    const done = await when(id, 'completed');
    expect(done).toMatchObject({ tx_id: second, fee: preview.fee });
    expect(await receivedAt(address)).toBe(0.7);
  });

  it('is canceled by replacement: nobody is paid, and it fails once that is buried', async () => {
    const address = await fresh();
    const before = await balance();
    const id = await request('0.8', address);
    await operator.approve(id);
    const first = await sent(id);
    const preview = await operator.replace(id, 'cancel');
    expect(preview.outputs.every(({ change }) => change)).toBe(true);
    await sent(id, 2);
    expect(await inMempool(first)).toBe(false);
    await node.mine(BURIED - 1);
    await until('the cancellation is almost buried', async () => (await operator.show(id)).versions.length === 2);
    expect(await shown(id)).toMatchObject({ status: 'pending' });
    await node.mine(1);
    expect(await when(id, 'failed')).toMatchObject({ reason: 'canceled', tx_id: null });
    expect(await shown(id)).toMatchObject({ status: 'failed', tx_id: null });
    expect(await receivedAt(address, 0)).toBe(0);
    await until(
      'only the fee is gone',
      async () => (await balance()) === Number((before - Number(preview.fee)).toFixed(8)),
    );
  });

  it('several are paid by one transaction', async () => {
    const addresses = [await fresh(), await fresh(), await fresh()];
    const ids = [];
    for (const address of addresses) ids.push(await request('0.25', address));
    const preview = await operator.carryOut({ kind: 'batch', ids });
    expect(preview.outputs.filter(({ change }) => !change).map(({ amount }) => amount)).toEqual([
      '0.25',
      '0.25',
      '0.25',
    ]);
    const txids = [];
    for (const id of ids) txids.push(await sent(id));
    expect(new Set(txids).size).toBe(1);
    await node.mine(1);
    for (const id of ids) await when(id, 'completed');
    for (const address of addresses) expect(await receivedAt(address)).toBe(0.25);
  });

  it('goes back to pending with the block that held it, and is completed by another one', async () => {
    const address = await fresh();
    const id = await request('0.3', address);
    await operator.approve(id);
    await sent(id);
    await node.mine(1);
    const { tx_id } = await when(id, 'completed');
    await node.reorg(1, false);
    await when(id, 'broadcast');
    expect(await shown(id)).toMatchObject({ status: 'pending', tx_id: null });
    const { alerts } = await operator.call('alert.list', {});
    expect(alerts).toContainEqual(expect.objectContaining({ kind: 'withdrawal.undone', subject: id }));
    await node.mine(1);
    expect(await when(id, 'completed')).toMatchObject({ tx_id });
    expect(await receivedAt(address)).toBe(0.3);
  });

  it('waits while the wallet is locked, and is offered again to a node that forgot it', async () => {
    const address = await fresh();
    const id = await request('0.4', address);
    const preview = await operator.preview(id);
    const approvals = await operator.approvals(preview);
    await operator.call('wallet.lock', {});
    await operator.call('withdrawal.approve', { proposal: { kind: 'pay', id }, approvals });
    await until('it waits for the wallet', async () => /locked/.test((await operator.show(id)).problem ?? ''));
    // everything else goes on while it is locked
    expect((await call('POST', '/invoice', { amount: 20 })).status).toBe(201);
    await operator.unlock();
    const txid = await sent(id);

    // the node forgets it, as after a restart without its mempool, and is given it again
    await node.stop();
    await node.launch(['-persistmempool=0']);
    await node.fund();
    await until('it is there again', () => inMempool(txid), 60_000);
    await node.mine(1);
    expect(await when(id, 'completed')).toMatchObject({ tx_id: txid });
    expect(await receivedAt(address)).toBe(0.4);
  });

  it('is signed while the node is down, and sent once when it is back', async () => {
    const address = await fresh();
    const id = await request('0.35', address);
    await node.stop();
    await operator.approve(id);
    const stored = await until('its bytes are stored', async () => {
      const [version] = (await operator.show(id)).versions;
      return version?.tx_id ? version : null;
    });
    expect(stored).toMatchObject({ sent_at: null });
    await node.launch();
    await node.fund();
    expect(await sent(id)).toBe(stored.tx_id);
    // a service that starts anew offers it again: the node knows it, and that is a success
    await service.restart();
    await operator.unlock();
    await node.mine(1);
    expect(await when(id, 'completed')).toMatchObject({ tx_id: stored.tx_id });
    expect(await receivedAt(address)).toBe(0.35);
    const { alerts } = await operator.call('alert.list', {});
    expect(alerts.filter(({ kind }) => kind === 'withdrawal.not_sent')).toEqual([]);
  });

  it('pays for a deposit that is stuck', async () => {
    const txid = await deposit(2n * COIN);
    const outpoint = await until('it is seen', async () => {
      const { vout } = await decoded(txid);
      const at = vout.findIndex(({ value }) => value === 2);
      return `${txid}:${at}`;
    });
    const proposal = { kind: 'bump' as const, business: 'Regtest shop', crypto: 'LTC', outpoint, fee_rate: '100' };
    const preview = await until('it can be bumped', () => operator.propose(proposal).catch(() => null));
    await operator.call('withdrawal.approve', { proposal, approvals: await operator.approvals(preview) });
    const child = await until('the child is in the mempool', async () => {
      const pool = await node.rpc<Record<string, Mempool>>('getrawmempool', [true]);
      return Object.entries(pool).find(([, { depends }]) => depends.includes(txid))?.[0];
    });
    const pool = await node.rpc<Record<string, Mempool>>('getrawmempool', [true]);
    const both = [pool[txid]!, pool[child]!];
    const rate = both.reduce((sum, { fees }) => sum + fees.base, 0) / both.reduce((sum, { vsize }) => sum + vsize, 0);
    expect(rate * 1e8).toBeGreaterThanOrEqual(99.9);
    await node.mine(1);
  });

  it('everything goes out at the end, less the fee', async () => {
    await until('the service has read the last block, which holds everything', async () => {
      const { chains } = await operator.call('status', {});
      const tip = chains.find(({ network, chain }) => network === 'regtest' && chain === 'LTC')?.tip?.height;
      const pool = await node.rpc<string[]>('getrawmempool', []);
      const { withdrawals } = await operator.call('withdrawal.list', { state: 'broadcast' });
      return pool.length === 0 && withdrawals.length === 0 && tip === (await node.rpc<number>('getblockcount', []));
    });
    await until('the balance is that of the last block', async () => (await balance()) > 15);
    const address = await fresh();
    const { withdrawal } = await operator.call('withdrawal.add', {
      business: 'Regtest shop',
      crypto: 'LTC',
      address,
      amount: null,
    });
    const preview = await operator.approve(withdrawal.id);
    expect(preview.outputs).toHaveLength(1);
    await sent(`${withdrawal.id}`);
    await node.mine(1);
    await when(`${withdrawal.id}`, 'completed');
    expect(await receivedAt(address)).toBe(Number(preview.outputs[0]!.amount));
    await until('nothing is left', async () => (await balance()) === 0);
  });
});
