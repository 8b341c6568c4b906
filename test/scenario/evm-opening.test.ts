/**
 * A shop on an anvil that comes back from its words alone, long after it paid in the chain's coin. No list has these payments: an endpoint
 * with the states of that time shows them, and at one that has forgotten these the books begin with what is there.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openVault } from '../../daemon/wallet/vault.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';

const UNIT = 10n ** 6n;
/** More than a checkpoint has. */
const BLOCKS_SINCE = 600;
const MINED_AT_ONCE = 50;
/** Blocks whose states the endpoint has then. */
const STATES = 128;

describe.skipIf(!hasAnvil)(anvilTitle('a shop with a long past, on anvil'), () => {
  let scene: EvmScene;
  let config: string;
  let first: EvmShop;
  let folder: string;
  let tank: string;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    config = scene.settings(scene.asset, 'ETH');
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-opening-'));
    first = await EvmShop.open(scene, config);
    await first.fillTank(ETHER / 10n);
    tank = (await first.desk()).tank.address;
    await first.invoicePaid(scene.asset, 100n * UNIT, 100);
    await first.collect(ETHER / 20n);
    await first.mining('it is in the tank', async () => (await first.asset(scene.asset)).in_tank === '100');
    const id = await first.request('ETH', '0.005', freshAddress());
    await first.operator.approve(id);
    await first.mining('it is paid', async () => (await first.operator.show(id)).state === 'completed');
    // shows the tank while it had more
    const tokens = await first.request(scene.asset, '11', freshAddress());
    await first.operator.approve(tokens);
    await first.mining('it is paid', async () => (await first.operator.show(tokens)).state === 'completed');
    const last = await first.request('ETH', '0.007', freshAddress());
    await first.operator.approve(last);
    await first.mining('it is paid', async () => (await first.operator.show(last)).state === 'completed');
    await first.service.daemon.stop();
    for (let mined = 0; mined < BLOCKS_SINCE; mined += MINED_AT_ONCE) await scene.anvil.mine(MINED_AT_ONCE);
  });
  afterAll(async () => {
    await first?.stop().catch(() => {});
    await scene?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    { title: 'finds each of its payments at an endpoint that has old states', keeps: true, paidOut: '0.012' },
    { title: 'begins with what the chain has at its addresses where the endpoint has not', keeps: false, paidOut: '0' },
  ])('$title', async ({ keeps, paidOut }) => {
    scene.proxy.behaviour = scene.pruned(STATES);
    const { mnemonic } = await openVault(join(first.service.dataDir, 'vault', 'wallet.json'), PASSPHRASE);
    const [wordsFile, passphraseFile] = [join(folder, 'words'), join(folder, 'passphrase')];
    await writeFile(wordsFile, `${mnemonic}\n`);
    await writeFile(passphraseFile, 'correct horse battery\n');
    // the proxy passes thousands of calls on one by one
    const service = await startTestDaemon(keeps ? config.replace(scene.proxy.url, scene.anvil.url) : config);
    try {
      const birthday = new Date().toISOString().slice(0, 10);
      const near = ['--gap', '20', '--restores', '1'];
      const restore = ['restore', 'words', '--network', 'regtest', '--birthday', birthday, ...near, '--json'];
      const done = await cli(service.dataDir, [
        ...restore,
        '--words-file',
        wordsFile,
        '--passphrase-file',
        passphraseFile,
      ]);
      expect(done.code).toBe(0);
      const [business] = JSON.parse(done.out).businesses;
      const shown = (symbol: string): string =>
        business.balances.find(({ crypto }: { crypto: string }) => crypto === symbol).amount;
      const { call } = new Operator(service.dataDir, PASSPHRASE);
      const [proof] = (await call('ledger.prove', { chain: 'regtest:ETH' })).chains;
      expect(proof).toMatchObject({ compared: true, problems: [], error: null });
      expect(shown(scene.asset)).toBe('89');
      const { desks } = await call('gas.status', {});
      const desk = desks.find((one) => one.tank.address === tank);
      expect(BigInt(Math.round(Number(desk?.tank.amount) * 1e12))).toBe((await first.coinsAt(tank)) / 10n ** 6n);
      expect(proof?.corrections).toEqual([]);
      const line = proof?.lines.find(({ crypto }) => crypto === 'ETH');
      expect([line?.paid_out, line?.adopted]).toEqual([paidOut, '0']);
    } finally {
      await service.stop();
    }
  });
});
