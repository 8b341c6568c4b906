/**
 * A wallet that was used before, brought to a business on a real litecoind: what was paid to it before the service knew
 * of it is found, far beyond the addresses that were ready, and what was spent since is not counted.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { targetOf } from '../../daemon/chains/utxo/address.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import type { AccountKey } from '../../daemon/domain/chain.ts';
import { createWords } from '../../daemon/wallet/mnemonic.ts';
import { createWallet, deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { type Opened, SOURCES, type Source } from './sources.ts';

const PASSPHRASE = 'a passphrase of the test';
const COIN = 100_000_000n;
const DAY_MS = 86_400_000;
/** Beyond the 20 that the test's service keeps ready, within the gap limit. */
const FAR = 700;

const title = ({ name }: Source): string => litecoindTitle(`a wallet with a past, on litecoind ${name}`);

describe.skipIf(!hasLitecoind).each(SOURCES.map((source) => [title(source), source] as const))('%s', (_, { open }) => {
  let node: Litecoind;
  let source: Opened;
  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    source = await open(node);
  });
  afterAll(async () => {
    await source?.stop();
    await node?.remove();
  });

  async function usedWallet(service: TestDaemon): Promise<Record<(typeof CHAINS)[number], AccountKey>> {
    const vault = join(service.dataDir, 'vault');
    await createWallet(vault, { words: await createWords(12), passphrase: PASSPHRASE });
    const accounts = await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, CHAINS);
    const address = (index: number): string =>
      targetOf(childPublicKey(accounts.LTC, 0, index), 'LTC', 'regtest').address;
    await node.pay([{ address: address(2), units: COIN }]);
    await node.mine(1);
    await node.pay([{ address: address(FAR), units: 3n * COIN }]);
    await node.mine(10);
    return accounts;
  }

  const config = (): string => `
[networks.regtest.LTC]
${source.setting}
[networks.regtest.rates]
LTC = "80"
`;

  const add = (service: TestDaemon, accounts: Record<string, AccountKey>) =>
    operatorClient(service.dataDir)('business.add', {
      name: 'Old shop',
      network: 'regtest',
      account_no: 0,
      accounts,
      birthday: new Date(Date.now() - DAY_MS).toISOString(),
      key: { name: 'shop', scopes: ['balance'] },
    });

  const foundAll = (service: TestDaemon, key: string): Promise<unknown> =>
    until(
      'the past was read',
      async () => {
        const { body } = await service.call<{ LTC: number }>('POST', '/balance', {}, { 'mb-api-key': key });
        return body.LTC === 4;
      },
      60_000,
    );

  it('is read from its birthday on, and the deposits wait in the inbox', async () => {
    const service = await startTestDaemon(config());
    try {
      const { key } = await add(service, await usedWallet(service));
      await foundAll(service, key.key);
      const { items } = await operatorClient(service.dataDir)('inbox.list', {});
      expect(items.map(({ amount, reason, confirmed }) => [amount, reason, confirmed]).sort()).toEqual([
        ['1', 'unassigned', true],
        ['3', 'unassigned', true],
      ]);
      await service.restart();
      await foundAll(service, key.key);
    } finally {
      await service.stop();
    }
  });

  it('is read later when its source is away while the business is added', async () => {
    const service = await startTestDaemon(config());
    try {
      const accounts = await usedWallet(service);
      await source.away();
      const { key, business } = await add(service, accounts);
      expect(business.cryptos).toContain('LTC');
      await source.back();
      await foundAll(service, key.key);
    } finally {
      await service.stop();
    }
  });
});
