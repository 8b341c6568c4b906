/**
 * A wallet that was used before, brought to a business on a real litecoind: what was paid to it before the service knew
 * of it is found, far beyond the addresses that were ready, and what was spent since is not counted.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import { CHAINS } from '../../daemon/domain/assets.ts';
import type { AccountKey } from '../../daemon/domain/chain.ts';
import { indicesToWatch } from '../../daemon/domain/indices.ts';
import { createWords } from '../../daemon/wallet/mnemonic.ts';
import { deriveAccounts } from '../../daemon/wallet/wallet.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cheapWallet } from '../support/wallet.ts';
import { type Opened, SOURCES, type Source } from './sources.ts';

const PASSPHRASE = 'a passphrase of the test';
const COIN = 100_000_000n;
const DAY_MS = 86_400_000;
/** Instead of 1,000, which take a while to derive. */
const GAP = 100;
const READ_MS = 240_000;
/** Longer than a reading, so that what is waited for in vain is named. */
const TEST_MS = 900_000;
/**
 * What the old wallet got, in the order of its blocks: branch, index, whole LTC. 240 was paid long before the two that lead
 * to it, and lies beyond what is watched at first; 10,010 was given out after a restore had jumped ahead.
 */
const PAID: readonly (readonly [branch: 0 | 1, index: number, coins: number])[] = [
  [0, 2, 1],
  [0, 240, 2],
  [0, 70, 4],
  [0, 150, 8],
  [1, 0, 16],
  [1, 90, 32],
  [1, 180, 64],
  [0, 10_010, 128],
];

const title = ({ name }: Source): string => litecoindTitle(`a wallet with a past, on litecoind ${name}`);

describe.skipIf(!hasLitecoind).each(SOURCES.map((source) => [title(source), source] as const))(
  '%s',
  (_, { name, open }) => {
    // a server is asked for each of the thousands of addresses around a jump
    const ofNode = name === SOURCES[0]!.name;
    const paid = ofNode ? PAID : PAID.slice(0, -1);
    const held = paid.reduce((sum, [, , units]) => sum + units, 0);
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

    async function usedWallet(
      service: TestDaemon,
      payments = paid,
    ): Promise<Record<(typeof CHAINS)[number], AccountKey>> {
      const vault = join(service.dataDir, 'vault');
      await cheapWallet(vault, { words: await createWords(12), passphrase: PASSPHRASE });
      const accounts = await deriveAccounts(vault, PASSPHRASE, 'regtest', 0, CHAINS);
      for (const [branch, index, units] of payments) {
        const { address } = addressOfKey(childPublicKey(accounts.LTC, branch, index), 'LTC', 'regtest');
        await node.pay([{ address, units: BigInt(units) * COIN }]);
        await node.mine(1);
      }
      await node.mine(10);
      return accounts;
    }

    const config = (): string => litecoinConfig(source.setting);

    const add = (service: TestDaemon, accounts: Record<string, AccountKey>) =>
      operatorClient(service.dataDir)('business.add', {
        name: 'Old shop',
        network: 'regtest',
        account_no: 0,
        accounts,
        birthday: new Date(Date.now() - DAY_MS).toISOString(),
        gap: GAP,
        key: { name: 'shop', scopes: ['balance', 'invoices'] },
      });

    const foundAll = (service: TestDaemon, key: string, sum = held): Promise<unknown> =>
      until(
        'the past was read',
        async () => {
          const { body } = await service.call<{ LTC: number }>('POST', '/balance', {}, { 'mb-api-key': key });
          return body.LTC === sum;
        },
        READ_MS,
      );

    const readToEnd = (call: ReturnType<typeof operatorClient>) =>
      until('the past was read', async () => (await call('wallet.discovery', {})).rescans.length === 0, READ_MS);

    const request = async (service: TestDaemon, key: string): Promise<string> => {
      const headers = { 'mb-api-key': key };
      const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' }, headers);
      return (await service.call<{ address: string }>('POST', `/invoice/rp/${body.id}`, {}, headers)).body.address;
    };

    /** Another program with the same words receives a payment at an address that the service has not derived yet. */
    async function paidElsewhere(service: TestDaemon, { LTC }: Record<string, AccountKey>, key: string) {
      const call = operatorClient(service.dataDir);
      const db = new Database(join(service.dataDir, 'countinghouse.db'), { readonly: true });
      const next = () => db.prepare("SELECT next_index FROM account WHERE chain_key = 'regtest:LTC'").pluck().get();
      await until('the pool is full', async () => {
        return (await call('status', {})).pools.every(({ ready, wanted }) => ready >= wanted);
      });
      const index = Number(next());
      const { address } = addressOfKey(childPublicKey(LTC!, 0, index), 'LTC', 'regtest');
      await node.pay([{ address, units: COIN }]);
      await node.mine(1);
      const prove = async () => (await call('ledger.prove', { chain: 'regtest:LTC' })).chains[0]?.problems;
      expect(await prove()).toEqual([]);
      await request(service, key);
      await until('the address is derived', async () => Number(next()) > index);
      db.close();
      expect(await prove()).toEqual([expect.stringContaining('the source holds 1 LTC that our books do not')]);
      const { alerts } = await call('alert.list', {});
      expect(JSON.stringify(alerts.find(({ kind }) => kind === 'ledger.differs'))).toContain('source rescan LTC');
      expect(await call('source.rescan', { network: 'regtest', chain: 'LTC' })).toEqual({ begun: true });
      await foundAll(service, key, held + 1);
      await readToEnd(call);
      expect(await prove()).toEqual([]);
    }

    /** No payer is given an address that the old wallet may have given to somebody. */
    async function gaveOutBefore(service: TestDaemon, key: string): Promise<void> {
      const address = await request(service, key);
      const db = new Database(join(service.dataDir, 'countinghouse.db'), { readonly: true });
      const index = db.prepare('SELECT idx FROM target WHERE address = ?').pluck().get(address);
      const change = db.prepare("SELECT next_change FROM account WHERE chain_key = 'regtest:LTC'").pluck().get();
      db.close();
      expect(index).toBeGreaterThanOrEqual(indicesToWatch(ofNode ? 10_010 : 240, GAP, 1).at(-1)!.to);
      expect(change).toBeGreaterThanOrEqual(indicesToWatch(180, GAP, 1).at(-1)!.to);
    }

    it(
      'is read from its birthday on, and the deposits wait in the inbox',
      async () => {
        const service = await startTestDaemon(config());
        try {
          const accounts = await usedWallet(service);
          const { key } = await add(service, accounts);
          await foundAll(service, key.key);
          const call = operatorClient(service.dataDir);
          const { items } = await call('inbox.list', {});
          const deposits = paid.filter(([branch]) => branch === 0).map(([, , units]) => `${units} unassigned`);
          expect(items.map(({ amount, reason }) => `${amount} ${reason}`).sort()).toEqual(deposits.sort());
          await readToEnd(call);
          await gaveOutBefore(service, key.key);
          if (ofNode) {
            const { chains } = await call('ledger.prove', { chain: 'regtest:LTC' });
            const lines = [{ received: `${held}`, held: `${held}` }];
            expect(chains).toMatchObject([{ compared: true, problems: [], lines }]);
          }
          await service.restart();
          await foundAll(service, key.key);
          if (ofNode) await paidElsewhere(service, accounts, key.key);
        } finally {
          await service.stop();
        }
      },
      TEST_MS,
    );

    it(
      'is read later when its source is away while the business is added',
      async () => {
        const service = await startTestDaemon(config());
        try {
          // without the far indices, which take long to derive
          const [first] = PAID;
          const accounts = await usedWallet(service, [first!]);
          await source.away();
          const { key, business } = await add(service, accounts);
          expect(business.cryptos).toContain('LTC');
          await source.back();
          await foundAll(service, key.key, first![2]);
        } finally {
          await service.stop();
        }
      },
      TEST_MS,
    );
  },
);
