/**
 * An account of Bitcoin Cash whose keys are in another wallet, on bcash: there is no PSBT, so nothing is paid out here, and what the
 * other wallet spends is recognised and leaves the books without an alarm.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { MS_PER_DAY } from '../../daemon/domain/time.ts';
import { ElectrumServer } from '../nodes/electrum-server.ts';
import { hasNpmNodes, NpmNode, npmNodesTitle } from '../nodes/npm-node.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { otherWallet } from './other-wallet.ts';

const COIN = 100_000_000n;
const BLOCKS_BURIED = 12;

type Decoded = { vin: { txid: string; vout: number }[]; vout: { n: number; value: number }[] };

describe.skipIf(!hasNpmNodes).each([
  ['over Core RPC', false],
  ['over Electrum', true],
] as const)(npmNodesTitle('an account of another wallet on bcash, %s'), (_, isElectrum) => {
  let node: NpmNode;
  let server: ElectrumServer | null = null;
  let service: TestDaemon;

  beforeAll(async () => {
    node = await NpmNode.start('bcash');
    await node.fund();
    if (isElectrum) server = await ElectrumServer.start({ node, segwit: false });
    service = await startTestDaemon(`
[networks.regtest.BCH]
${server ? `electrum = ["${server.url}"]` : `core_rpc = "${node.url}"`}
[networks.regtest.rates]
BCH = "400"
`);
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
    await node?.remove();
  });

  const operator = () => operatorClient(service.dataDir);

  /** Blocks, which a server in front of the node reads when it is told. */
  async function mine(count: number): Promise<void> {
    await node.mine(count);
    await server?.followed.update();
  }

  it('receives, books what the other wallet spends as moved outside, and pays nothing out here', async () => {
    const other = otherWallet(3, 'p2pkh');
    const options = ['--name', 'Stall', '--network', 'regtest', '--account', `BCH=${other.descriptor}`, '--no-wallet'];
    const added = await cli(service.dataDir, ['business', 'add', ...options, '--json', '--yes']);
    expect([added.code, added.err]).toEqual([0, expect.stringContaining('0  ')]);
    const { key } = JSON.parse(added.out) as Result<'business.add'>;
    const headers = { 'mb-api-key': key.key };
    const call = <Body>(method: string, path: string, body?: object) => service.call<Body>(method, path, body, headers);
    const balance = async () => (await call<{ BCH: number }>('GET', '/balance')).body.BCH;

    const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'BCH' });
    const address = await until('bcash is followed', async () => {
      const asked = await call<{ address: string }>('POST', `/invoice/rp/${body.id}`, {});
      return asked.status === 201 && asked.body.address;
    });
    expect(added.err.replaceAll(/\s/g, '')).toContain(address.replace(/^bchreg:/, ''));
    const paid = await node.pay([{ address, units: 2n * COIN }]);
    await mine(BLOCKS_BURIED);
    await until('the payment is confirmed', async () => (await balance()) === 2);

    const asked = { business: 'Stall', crypto: 'BCH', address: await node.newAddress(), amount: '0.5' };
    await expect(operator()('withdrawal.add', asked)).rejects.toMatchObject({ code: 'account.watch_only' });

    const raw = await node.rpc<string>('getrawtransaction', [paid]);
    const { vout } = await node.rpc<Decoded>('decoderawtransaction', [raw]);
    const coin = vout.find(({ value }) => value === 2)!;
    const spent = await node.spend(other.wif(0), paid, coin.n);
    await mine(1);
    await until('the spent coin left the books', async () => (await balance()) === 0);
    await mine(BLOCKS_BURIED);
    const { chains } = await operator()('ledger.prove', { chain: 'regtest:BCH' });
    // bcash cannot list the coins of a script, so its balance is compared over Electrum alone
    const lines = isElectrum ? [{ crypto: 'BCH', received: '2', paid_out: '2', held: '0' }] : [];
    expect(chains).toMatchObject([{ chain: 'regtest:BCH', problems: [], lines }]);
    const day = (offset: number) => new Date(service.now() + offset * MS_PER_DAY).toISOString().slice(0, 10);
    const { rows } = await operator()('export.page', { business: 'Stall', from: day(-1), to: day(1) });
    const told = rows.map(({ kind, amount, tx_id }) => [kind, Math.abs(Number(amount)), tx_id]);
    // blocks that are mined within a second have times of their own
    expect(told.sort()).toEqual([
      ['receipt', 2, paid],
      ['withdrawal', 2, spent],
    ]);
    // a quarantine would raise `data.older`
    expect((await operator()('alert.list', {})).alerts.map(({ kind }) => kind)).toEqual([]);
    // what came afterwards is received as before
    const next = await call<{ id: string }>('POST', '/invoice', { amount: 400, crypto: 'BCH' });
    const second = await call<{ address: string }>('POST', `/invoice/rp/${next.body.id}`, {});
    expect(second.body.address).not.toBe(address);
    await node.pay([{ address: second.body.address, units: COIN }]);
    await mine(BLOCKS_BURIED);
    await until('the second payment is confirmed', async () => (await balance()) === 1);
  });
});
