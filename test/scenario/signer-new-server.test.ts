/**
 * A server that was taken over is replaced by a new one, on a real litecoind: its words are at home and stay there. The new server is
 * restored from a backup by a pass that is made at home, and pays on.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreBackup } from '../../daemon/app/backup/restore.ts';
import { EXIT } from '../../daemon/cli/io.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Call } from '../../daemon/contract/operator.ts';
import { readPass } from '../../daemon/wallet/backup-pass.ts';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { HomeComputer, isOpen } from './home-computer.ts';

const COIN = 100_000_000n;
/** Instead of 10,000 addresses, which take a minute to derive. */
const JUMP = 25;

describe.skipIf(!hasLitecoind || process.platform === 'win32')(
  litecoindTitle('a new server for the keys at home'),
  () => {
    let node: Litecoind;
    let home: HomeComputer;
    /** The server of now. */
    let service: TestDaemon;
    let call: Call;
    let key: string;
    let backup: string;
    let left: number;

    const merchant = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const start = async (earlier: string | null): Promise<void> => {
      const config = `[console]\nport = ${await freePort()}\n${litecoinConfig(`core_rpc = "${node.url}"`)}`;
      service = await startTestDaemon(config, earlier);
      call = operatorClient(service.dataDir);
    };
    const balance = async () => (await merchant<{ LTC: number }>('GET', '/balance')).body.LTC;
    const invoice = async (): Promise<string> => {
      const { body } = await merchant<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
      return until('an address is given out', async () => {
        const paid = await merchant<{ address: string }>('POST', `/invoice/rp/${body.id}`);
        return paid.status === 201 && paid.body.address;
      });
    };
    const pay = async (amount: string): Promise<void> => {
      const address = await node.rpc<string>('getnewaddress', []);
      const { body } = await merchant<{ id: string }>('POST', '/withdraw', { amount, crypto: 'LTC', address });
      await home.done('withdrawal', 'approve', body.id);
      const state = async () => (await call('withdrawal.show', { id: body.id })).withdrawal.state;
      await until('it is sent', async () => (await state()) === 'broadcast');
      await node.mine(1);
      await until('it is completed', async () => (await state()) === 'completed');
      expect(await node.rpc<number>('getreceivedbyaddress', [address, 1])).toBe(Number(amount));
    };

    beforeAll(async () => {
      buildConsole();
      node = await Litecoind.start();
      await node.fund();
      home = await HomeComputer.make();
      await start(null);
      await home.join(call);
      key = (await home.addBusiness()).key.key;
      await home.connect();
      await isOpen(call);
      await node.pay([{ address: await invoice(), units: 10n * COIN }]);
      await node.mine(12);
      await until('it can be spent', async () => (await balance()) === 10);
      backup = join(home.folder, 'shop.backup');
      await call('backup.make', { file: backup });
      // the record at home knows it, and the backup does not
      await pay('1.5');
      left = await balance();
    });
    afterAll(async () => {
      await home?.remove();
      await service?.stop();
      await node?.remove();
    });

    it('is needed where a foreign address was seen, and nothing is signed any more', async () => {
      await invoice();
      await service.daemon.stop();
      const database = new Database(join(service.dataDir, 'countinghouse.db'));
      const theirs = await node.rpc<string>('getnewaddress', []);
      database.prepare("UPDATE payment SET address = ? WHERE status = 'pending'").run(theirs);
      database.close();
      await service.resume();
      const { code, err } = await home.run('signer', 'audit');
      expect([code, err]).toEqual([4, expect.stringContaining('countinghouse --server shop backup pass FILE')]);
      await home.leave();
      await service.stop();
    });

    it('has the books by the pass, and neither a word nor a wallet', async () => {
      const pass = (await home.done('backup', 'pass', backup)).trim();
      const restored = join(home.folder, 'as-on-the-new-server');
      await restoreBackup(backup, readPass(pass), restored, Date.now(), JUMP);
      await start(restored);
      const files = (await readdir(join(service.dataDir, 'vault'))).filter((name) => !name.startsWith('sandbox-'));
      expect(files).toEqual([expect.stringMatching(/^backup-key-[0-9a-f]{8}\.json$/)]);
      expect((await call('restore.status', {})).quarantined).toBe(true);
    });

    /** The program that signs looks at the same time: of two looks one may find addresses held back. */
    const audited = () =>
      until('a look is over', async () => {
        const look = await home.run('signer', 'audit');
        return look.code !== EXIT.failed && look;
      });

    it('is joined in the place of the old one, and signed for once the operator has looked', async () => {
      await home.join(call);
      await home.connect();
      expect((await audited()).code).toBe(EXIT.foreign);
      await home.done('signer', 'resume');
      expect(JSON.parse(await home.done('--json', 'signer', 'audit'))).toMatchObject({ found: [] });
      await isOpen(call);
    });

    it('takes payments and pays on once that is confirmed at home, with what was paid after the backup', async () => {
      await home.done('restore', 'confirm', '--keep-keys', 'all');
      expect((await call('restore.status', {})).quarantined).toBe(false);
      await until('what was paid after the backup is known', async () => (await balance()) === left);
      await isOpen(call);
      await pay('2');
      const before = await balance();
      await node.pay([{ address: await invoice(), units: COIN }]);
      await node.mine(12);
      await until('the payment can be spent', async () => (await balance()) === before + 1);
      expect((await audited()).code).toBe(0);
    });
  },
);
