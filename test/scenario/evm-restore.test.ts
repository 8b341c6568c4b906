/**
 * A service on an anvil that is lost, and comes back from its backup, or from its words alone: used addresses are found, what
 * was paid after the backup is paid no second time, and the next nonce is the right one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';

const UNIT = 10n ** 6n;
/** Instead of 10,000 and 1,000, which take a minute to derive. */
const JUMP = 60;
const GAP = 60;
const STARTED_MS = 120_000;

describe.skipIf(!hasAnvil)(anvilTitle('a shop that is lost, on anvil'), { timeout: STARTED_MS }, () => {
  let scene: EvmScene;
  let config: string;
  let first: EvmShop;
  let folder: string;
  let tank: string;
  const ids: Record<string, string> = {};
  const at: Record<string, string> = {};

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    config = scene.settings(scene.asset, 'ETH');
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-lost-'));
    first = await EvmShop.open(scene, config);
    await first.fillTank(ETHER / 10n);
    ({ address: tank } = (await first.desk()).tank);
    await first.invoicePaid(scene.asset, 100n * UNIT, 100);
    await first.collect(ETHER / 20n);
    await first.mining('it is in the tank', async () => (await first.asset(scene.asset)).in_tank === '100');
    await request('sent', '11');
    await first.operator.approve(ids.sent!);
    await first.sent(ids.sent!);
    for (const [name, amount] of [
      ['asked for', '12'],
      ['asked for, paid last', '13'],
      ['never paid', '14'],
    ] as const) {
      await request(name, amount);
    }
    await first.operator.call('backup.make', { file: join(folder, 'now.backup') });

    await first.operator.approve(ids['asked for']!);
    await first.sent(ids['asked for']!);
    await first.bury();
    // an invoice, its collection, and a withdrawal of which the backup knows nothing
    at.later = await first.invoicePaid(scene.asset, 50n * UNIT, 50);
    await first.mining('that is in the tank', async () => (await first.tokensAt(at.later!)) === 0n);
    await request('made later', '15');
    await first.operator.approve(ids['made later']!);
    await first.mining('it is paid', async () => (await first.operator.show(ids['made later']!)).state === 'completed');
    await first.bury();
    await first.operator.approve(ids['asked for, paid last']!);
    await first.sent(ids['asked for, paid last']!);
    await first.service.daemon.stop();
  }, STARTED_MS);
  afterAll(async () => {
    await first?.stop().catch(() => {});
    await scene?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function request(name: string, amount: string): Promise<void> {
    at[name] = freshAddress();
    ids[name] = await first.request(scene.asset, amount, at[name]);
  }

  const nonces = async (): Promise<[number, string]> => [
    Number(await scene.anvil.rpc('eth_getTransactionCount', [tank, 'latest'])),
    (await scene.anvil.rpc<{ queued: string }>('txpool_status', [])).queued,
  ];

  it('comes back from the file: finds what was paid, pays no one twice, and goes on with the next nonce', async () => {
    const dataDir = join(folder, 'restored');
    const opened = await openByVault(join(first.service.dataDir, 'vault'), PASSPHRASE);
    await restoreBackup(join(folder, 'now.backup'), opened.secret, dataDir, Date.now(), JUMP);
    opened.close();
    const shop = await EvmShop.goOn(scene, config, { dataDir, key: first.key });
    try {
      for (const name of ['sent', 'asked for']) {
        await until(`"${name}" is found`, async () => (await shop.operator.show(ids[name]!)).state === 'completed');
      }
      // the pool is not read: it is found once a block has it
      await shop.bury();
      await until(
        'the last one is found',
        async () => (await shop.operator.show(ids['asked for, paid last']!)).state === 'completed',
      );
      const { alerts } = await until('the others are told', async () => {
        const now = await shop.operator.call('alert.list', {});
        return now.alerts.some(({ kind }) => kind === 'restore.unknown_spend') && now;
      });
      const unknown = alerts.filter(({ kind }) => kind === 'restore.unknown_spend');
      expect(unknown.map(({ message }) => message)).toEqual([expect.stringContaining(at['made later']!)]);
      await until('it is ready', async () => (await shop.operator.call('restore.status', {})).ready);
      await until('it takes over', async () => shop.operator.call('restore.confirm', {}).catch(() => null));
      await shop.operator.unlock();
      const [used] = await nonces();
      await shop.operator.approve(ids['never paid']!);
      await shop.mining('it is paid', async () => (await shop.operator.show(ids['never paid']!)).state === 'completed');
      expect(await nonces()).toEqual([used + 1, '0x0']);
      const paid = { sent: 11n, 'asked for': 12n, 'asked for, paid last': 13n, 'never paid': 14n, 'made later': 15n };
      for (const [name, amount] of Object.entries(paid)) {
        expect([name, await shop.tokensAt(at[name]!)]).toEqual([name, amount * UNIT]);
      }
      await shop.bury();
      await until('the books are the chain', async () => (await shop.proof()).length === 0);
      expect((await shop.asset(scene.asset)).amount).toBe('85');
      // a payer is not given the address of the invoice that the backup does not know
      expect((await shop.invoice(scene.asset, 20)).address).not.toBe(at.later);
    } finally {
      await shop.stop();
    }
  });

  it('comes back from the words alone: finds addresses by balance, events and nonce, and pays from there', async () => {
    const service: TestDaemon = await startTestDaemon(config);
    try {
      // one more address that holds the coin alone, beyond those that are empty again
      const [wordsFile, passphraseFile] = [join(folder, 'words'), join(folder, 'passphrase')];
      await writeFile(wordsFile, first.words);
      await writeFile(passphraseFile, PASSPHRASE);
      const options = ['--network', 'regtest', '--birthday', '2026-01-01', '--gap', `${GAP}`, '--wait', '60'];
      const files = ['--words-file', wordsFile, '--passphrase-file', passphraseFile];
      const { code, out, err } = await cli(service.dataDir, [
        'restore',
        'words',
        ...options,
        ...files,
        '--yes',
        '--json',
      ]);
      expect([code, code === 0 ? '' : err]).toEqual([0, '']);
      const { businesses } = JSON.parse(out) as {
        businesses: { business: string; key: string; balances: unknown[] }[];
      };
      expect(businesses).toMatchObject([
        { account_no: 0, balances: expect.arrayContaining([{ crypto: 'USDT_ERC20', amount: '85' }]) },
      ]);
      const shop = EvmShop.of(scene, service, businesses[0]!);
      await shop.operator.unlock();
      const [used] = await nonces();
      expect((await shop.desk()).tank.address).toBe(tank);
      const to = freshAddress();
      const id = await shop.request('USDT_ERC20', '80', to);
      await shop.operator.approve(id);
      await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
      expect(await nonces()).toEqual([used + 1, '0x0']);
      expect(await shop.tokensAt(to)).toBe(80n * UNIT);
      await shop.bury();
      await until('the books are the chain', async () => (await shop.proof()).length === 0);
    } finally {
      await service.stop();
    }
  });
});
