/**
 * Backups and restores as an operator types them; and what the words alone bring back, on a real litecoind.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveAddress } from '../../daemon/chains/derive.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { createWords, seedOf } from '../../daemon/wallet/mnemonic.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';

const COIN = 100_000_000n;
const DAY_MS = 86_400_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countinghouse-cli-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const written = async (name: string, text: string): Promise<string> => {
  const file = join(folder, name);
  await writeFile(file, `${text}\n`);
  return file;
};

describe.skipIf(!hasLitecoind)(litecoindTitle('an operator who lost the machine'), () => {
  let node: Litecoind;
  let service: TestDaemon;
  let words: string;
  let wordsFile: string;
  let passphraseFile: string;

  const config = (): string => litecoinConfig(`core_rpc = "${node.url}"`);
  const address = async (account: number, index: number): Promise<string> => {
    const key = accountKey(await seedOf(words, ''), 'LTC', 'regtest', account);
    return deriveAddress('LTC', 'regtest', key, 0, index).address;
  };

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    words = await createWords(12);
    wordsFile = await written('words', words);
    passphraseFile = await written('passphrase', 'correct horse battery');
    service = await startTestDaemon(config());
    const add = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--words-file', wordsFile];
    const added = await cli(service.dataDir, [...add, '--passphrase-file', passphraseFile]);
    expect(added).toMatchObject({ code: 0 });
    await node.pay([{ address: await address(0, 1), units: 2n * COIN }]);
    // an account that another copy of this wallet used, far out
    await node.pay([{ address: await address(2, 15), units: 5n * COIN }]);
    await node.mine(2);
  });
  afterAll(async () => {
    await service?.stop();
    await node?.remove();
  });

  it('backs up while the service runs and while it does not, drills, and restores elsewhere', async () => {
    const first = join(folder, 'first.backup');
    const made = await cli(service.dataDir, ['backup', first, '--json']);
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(made.out)).toMatchObject({ file: first });
    expect(await cli(service.dataDir, ['backup', first])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/exists already/),
    });

    const drill = await cli(service.dataDir, ['backup', 'verify', first, '--passphrase-file', passphraseFile]);
    expect(drill).toMatchObject({ code: 0, out: expect.stringMatching(/This backup brings everything back/) });
    expect(await cli(service.dataDir, ['backup', 'verify', first])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--words-file/),
    });

    await service.daemon.stop();
    const second = join(folder, 'second.backup');
    expect(await cli(service.dataDir, ['backup', second])).toMatchObject({ code: 0 });
    await service.resume();

    const elsewhere = join(folder, 'elsewhere');
    const restore = ['--data-dir', elsewhere, 'restore', second, '--words-file', wordsFile];
    expect(await cli(service.dataDir, restore)).toMatchObject({ code: 1, err: expect.stringMatching(/--yes/) });
    expect(await cli(service.dataDir, [...restore, '--yes'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/quarantined/),
    });
    expect((await readdir(elsewhere)).sort()).toEqual(['countinghouse.db', 'countinghouse.toml', 'lock', 'vault']);
    // nothing is asked of somebody whose answer would be of no use
    expect(await cli(service.dataDir, restore)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/another folder/),
    });
    const nobody = await cli(service.dataDir, ['--data-dir', join(folder, 'nothing'), 'backup', join(folder, 'x')]);
    expect(nobody).toMatchObject({ code: 1, err: expect.stringMatching(/nothing to back up/) });
  });

  it('finds accounts and money with the words alone', async () => {
    const fresh = await startTestDaemon(config());
    try {
      const birthday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
      // the default, restores by twenties, derives ten times as many addresses
      const far = ['--gap', '20', '--restores', '1'];
      const restore = ['restore', 'words', '--network', 'regtest', '--birthday', birthday, ...far, '--json'];
      const secrets = ['--words-file', wordsFile, '--passphrase-file', passphraseFile];
      const done = await cli(fresh.dataDir, [...restore, ...secrets]);
      expect(done.err).toMatch(/Looking for used accounts: LTC/);
      expect(done.code).toBe(0);
      const { businesses, used } = JSON.parse(done.out);
      expect(used).toEqual([
        { chain: 'LTC', account_no: 0, receiving: 1, change: -1 },
        { chain: 'LTC', account_no: 2, receiving: 15, change: -1 },
      ]);
      expect(
        businesses.map((one: { account_no: number; balances: unknown }) => [one.account_no, one.balances]),
      ).toEqual([
        [0, [{ crypto: 'LTC', amount: '2', withheld: null, unproven: null, locked: null }]],
        [1, []],
        [2, [{ crypto: 'LTC', amount: '5', withheld: null, unproven: null, locked: null }]],
      ]);
      expect(done.out).not.toContain(words.split(' ').slice(0, 2).join(' '));
      const again = await cli(fresh.dataDir, [...restore, ...secrets]);
      expect(again).toMatchObject({ code: 0 });
      expect(JSON.parse(again.out).businesses).toEqual([]);
      // none of the addresses that may have been given out before is given out again
      const call = operatorClient(fresh.dataDir);
      expect((await call('business.nextAccount', { network: 'regtest' })).account_no).toBe(3);
    } finally {
      await fresh.stop();
    }
  });
});
