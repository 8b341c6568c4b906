/**
 * A service on an anvil that is lost, and comes back from its backup: what was paid after the backup is paid no second time, and
 * the next nonce is the right one. And what its words alone bring back.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { type AssetId, assetOf } from '../../daemon/domain/assets.ts';
import { formatUnits } from '../../daemon/domain/money.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { openVault } from '../../daemon/wallet/vault.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { startTestDaemon, until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';

const UNIT = 10n ** 6n;
/** More blocks than a checkpoint has. */
const AWAY = 200;
/** Instead of 10,000, which take a minute to derive. */
const JUMP = 25;

describe.skipIf(!hasAnvil)(anvilTitle('a shop that is lost, on anvil'), () => {
  let scene: EvmScene;
  let config: string;
  let first: EvmShop;
  let folder: string;
  let tank: string;
  let laterTxid: string | null;
  const ids: Record<string, string> = {};
  const at: Record<string, string> = {};

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    config = scene.settings(scene.asset, 'ETH');
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-lost-'));
    first = await EvmShop.open(scene, config);
    await first.fillTank(ETHER / 10n);
    ({ address: tank } = (await first.desk()).tank);
    at.first = await first.invoicePaid(scene.asset, 100n * UNIT, 100);
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
    await request('of the coin', '0.01', 'ETH');
    await first.operator.call('backup.make', { file: join(folder, 'now.backup') });

    await first.operator.approve(ids['asked for']!);
    await first.sent(ids['asked for']!);
    await first.operator.approve(ids['of the coin']!);
    await first.sent(ids['of the coin']!);
    await first.bury();
    // an invoice, its collection, and a withdrawal of which the backup knows nothing
    at.later = await first.invoicePaid(scene.asset, 50n * UNIT, 50);
    await first.mining('that is in the tank', async () => (await first.tokensAt(at.later!)) === 0n);
    await request('made later', '15');
    await first.operator.approve(ids['made later']!);
    await first.mining('it is paid', async () => (await first.operator.show(ids['made later']!)).state === 'completed');
    laterTxid = (await first.operator.show(ids['made later']!)).tx_id;
    await first.bury();
    await scene.anvil.mine(AWAY);
    await first.operator.approve(ids['asked for, paid last']!);
    await first.sent(ids['asked for, paid last']!);
    await first.service.daemon.stop();
  });
  afterAll(async () => {
    await first?.stop().catch(() => {});
    await scene?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function request(name: string, amount: string, asset: AssetId = scene.asset): Promise<void> {
    at[name] = freshAddress();
    ids[name] = await first.request(asset, amount, at[name]);
  }

  const nonces = async (): Promise<[number, string]> => [
    Number(await scene.anvil.rpc('eth_getTransactionCount', [tank, 'latest'])),
    (await scene.anvil.rpc<{ queued: string }>('txpool_status', [])).queued,
  ];

  it('comes back from the file: finds what was paid, pays no one twice, and goes on with the next nonce', async () => {
    const dataDir = join(folder, 'restored');
    const opened = await openByVault(join(first.service.dataDir, 'vault'), PASSPHRASE);
    await restoreBackup(join(folder, 'now.backup'), opened, dataDir, Date.now(), JUMP);
    opened.close();
    const shop = await EvmShop.goOn(scene, config, { dataDir, key: first.key });
    try {
      for (const name of ['sent', 'asked for', 'of the coin']) {
        await until(`"${name}" is found`, async () => (await shop.operator.show(ids[name]!)).state === 'completed');
      }
      // the pool is not read: it is found once a block has it
      await shop.bury();
      await until(
        'the last one is found',
        async () => (await shop.operator.show(ids['asked for, paid last']!)).state === 'completed',
      );
      await until('it is ready', async () => (await shop.operator.call('restore.status', {})).ready);
      const { alerts } = await shop.operator.call('alert.list', {});
      const unknown = alerts.filter(({ kind }) => kind === 'restore.unknown_spend');
      // the withdrawal; the collection and its funding moved money between addresses of the wallet
      expect(unknown.map(({ subject }) => subject)).toEqual([`regtest:ETH ${laterTxid}`]);
      await until('it takes over', async () =>
        shop.operator.call('restore.confirm', { keep_keys: 'all' }).catch(() => null),
      );
      await shop.operator.unlock();
      expect((await shop.desk()).plan).toMatchObject({
        state: 'stopped',
        problem: { code: 'gas.restored', values: {} },
      });
      const [used] = await nonces();
      await shop.operator.approve(ids['never paid']!);
      await shop.mining('it is paid', async () => (await shop.operator.show(ids['never paid']!)).state === 'completed');
      expect(await nonces()).toEqual([used + 1, '0x0']);
      const paid = { sent: 11n, 'asked for': 12n, 'asked for, paid last': 13n, 'never paid': 14n, 'made later': 15n };
      for (const [name, amount] of Object.entries(paid)) {
        expect([name, await shop.tokensAt(at[name]!)]).toEqual([name, amount * UNIT]);
      }
      expect(await shop.coinsAt(at['of the coin']!)).toBe(ETHER / 100n);
      await shop.bury();
      await until('the books are the chain', async () => (await shop.proof()).length === 0);
      expect((await shop.asset(scene.asset)).amount).toBe('85');
      // a payer is not given the address of the invoice that the backup does not know
      expect((await shop.invoice(scene.asset, 20)).address).not.toBe(at.later);
    } finally {
      await shop.stop();
    }
  });

  it('finds its accounts by balances and nonces, and its money by logs, with the words alone', async () => {
    const unspent = await first.tokensAt(tank);
    const coins = (await Promise.all([tank, at.first!, at.later!].map((address) => first.coinsAt(address)))).reduce(
      (sum, units) => sum + units,
    );
    const { mnemonic } = await openVault(join(first.service.dataDir, 'vault', 'wallet.json'), PASSPHRASE);
    const [wordsFile, passphraseFile] = [join(folder, 'words'), join(folder, 'passphrase')];
    await writeFile(wordsFile, `${mnemonic}\n`);
    await writeFile(passphraseFile, 'correct horse battery\n');
    // the proxy passes thousands of calls on one by one
    const service = await startTestDaemon(config.replace(scene.proxy.url, scene.anvil.url));
    try {
      const birthday = new Date().toISOString().slice(0, 10);
      const near = ['--gap', '20', '--restores', '1'];
      const restore = ['restore', 'words', '--network', 'regtest', '--birthday', birthday, ...near, '--json'];
      const secrets = ['--words-file', wordsFile, '--passphrase-file', passphraseFile];
      const done = await cli(service.dataDir, [...restore, ...secrets]);
      expect(done.err).toMatch(/Looking for used accounts: ETH (?:begins|\d+ % of [1-9][\d,]* addresses)/);
      expect(done.code).toBe(0);
      const { used, businesses } = JSON.parse(done.out);
      // both deposits were collected: their nonces alone tell that they were used
      expect(used).toEqual([{ chain: 'ETH', account_no: 0, receiving: 1, change: 0 }]);
      expect(businesses.map((one: { balances: unknown }) => one.balances)).toEqual([
        [
          { crypto: 'ETH', amount: formatUnits(coins, assetOf('ETH')), withheld: null, unproven: null, locked: null },
          {
            crypto: 'USDT_ERC20',
            amount: formatUnits(unspent, assetOf('USDT_ERC20')),
            withheld: null,
            unproven: null,
            locked: null,
          },
        ],
      ]);
      expect(unspent).toBe(85n * UNIT);
      const { alerts } = await new Operator(service.dataDir, PASSPHRASE).call('alert.list', {});
      expect(alerts.filter(({ kind }) => kind === 'restore.unknown_spend')).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});
