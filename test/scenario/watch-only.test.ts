/**
 * Accounts whose keys are in another wallet, on a real litecoind: payments arrive at that wallet's own addresses, and what the other wallet spends leaves the books without an alarm. The node derives the addresses for comparison.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import type { ScriptForm } from '../../daemon/domain/chain.ts';
import { hasWallet } from '../../daemon/wallet/wallet.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { otherWallet } from './other-wallet.ts';
import { type Opened, SOURCES } from './sources.ts';

const COIN = 100_000_000n;
const FORMS = ['p2wpkh', 'p2sh-p2wpkh', 'p2pkh'] as const satisfies ScriptForm[];

type Unspent = { txid: string; vout: number; scriptPubKey: string; amount: number };

describe.skipIf(!hasLitecoind).each(SOURCES.map((source) => [litecoindTitle(source.name), source] as const))(
  'accounts of another wallet, %s',
  (_, { open }) => {
    let node: Litecoind;
    let source: Opened;
    let service: TestDaemon;
    beforeAll(async () => {
      node = await Litecoind.start();
      await node.fund();
      source = await open(node);
      service = await startTestDaemon(litecoinConfig(source.setting));
    });
    afterAll(async () => {
      await service?.stop();
      await source?.stop();
      await node?.remove();
    });

    const operator = () => operatorClient(service.dataDir);
    const add = (name: string, ...options: string[]) =>
      cli(service.dataDir, [
        'business',
        'add',
        '--name',
        name,
        '--network',
        'regtest',
        '--no-wallet',
        '--json',
        ...options,
      ]);

    /** An unpaid invoice's address, once its chain is followed. */
    async function address(key: string): Promise<string> {
      const headers = { 'mb-api-key': key };
      const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' }, headers);
      return until('litecoind is followed', async () => {
        const path = `/invoice/rp/${body.id}`;
        const asked = await service.call<{ address: string }>('POST', path, {}, headers);
        return asked.status === 201 && asked.body.address;
      });
    }

    const balance = async (key: string): Promise<number> =>
      (await service.call<{ LTC: number }>('GET', '/balance', undefined, { 'mb-api-key': key })).body.LTC;

    it.each(FORMS)(
      'receives at the addresses of a wallet with %s, and follows what that wallet spends',
      async (form) => {
        const other = otherWallet(FORMS.indexOf(form) + 1, form);
        const added = await add(`Shop of ${form}`, '--account', `LTC=${other.descriptor}`, '--yes');
        expect([added.code, added.err]).toEqual([0, expect.stringContaining('0  ')]);
        const { business, key } = JSON.parse(added.out) as Result<'business.add'>;
        expect(business).toMatchObject({ watch_only: ['LTC'], cryptos: ['LTC'] });
        expect(await hasWallet(join(service.dataDir, 'vault'))).toBe(false);

        // by the node's own derivation
        const wrapped = { p2wpkh: 'wpkh(KEY)', 'p2sh-p2wpkh': 'sh(wpkh(KEY))', p2pkh: 'pkh(KEY)' }[form];
        const plain = wrapped.replace('KEY', `${other.extended}/0/*`);
        const { descriptor } = await node.rpc<{ descriptor: string }>('getdescriptorinfo', [plain]);
        const derived = await node.rpc<string[]>('deriveaddresses', [descriptor, [0, 2]]);
        const paid = await address(key.key);
        expect(derived[0]).toBe(paid);
        for (const one of derived) expect(added.err).toContain(one);

        await node.pay([{ address: paid, units: 2n * COIN }]);
        await node.mine(6);
        await until('the payment is confirmed', async () => (await balance(key.key)) === 2);

        const to = await node.rpc<string>('getnewaddress', []);
        await spend(other, paid, to);
        // a server's word for an unconfirmed spend counts by its signature, which is read where the script is the service's own kind
        if (form !== 'p2wpkh') await node.mine(1);
        await until('the spent coin left the books', async () => (await balance(key.key)) === 0);
        await node.mine(6);
        const { chains } = await operator()('ledger.prove', { chain: 'regtest:LTC' });
        expect(chains).toMatchObject([{ chain: 'regtest:LTC', problems: [] }]);
        // a quarantine would raise `data.older`
        expect((await operator()('alert.list', {})).alerts.map(({ kind }) => kind)).toEqual([]);
      },
    );

    /** The other wallet sends the whole coin at its first address, less a fee. */
    async function spend(other: ReturnType<typeof otherWallet>, from: string, to: string): Promise<void> {
      const { unspents } = await node.rpc<{ unspents: Unspent[] }>('scantxoutset', ['start', [`addr(${from})`]]);
      const [coin] = unspents;
      expect(coin?.amount).toBe(2);
      const { txid, vout } = coin!;
      const raw = await node.rpc<string>('createrawtransaction', [[{ txid, vout }], { [to]: 1.999 }]);
      const redeem = coin!.scriptPubKey.startsWith('a914') ? await redeemScript(other.publicKey(0)) : {};
      const signed = await node.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithkey', [
        raw,
        [other.wif(0)],
        [{ ...coin!, ...redeem }],
      ]);
      expect(signed.complete).toBe(true);
      await node.rpc('sendrawtransaction', [signed.hex]);
    }

    async function redeemScript(publicKey: string): Promise<{ redeemScript: string }> {
      const { segwit } = await node.rpc<{ segwit: { hex: string } }>('decodescript', [`21${publicKey}ac`]);
      return { redeemScript: segwit.hex };
    }

    it('refuses a key that is in use, a secret, and one that does not say its addresses', async () => {
      const used = await add('Twice', '--account', `LTC=${otherWallet(1, 'p2wpkh').descriptor}`, '--yes');
      expect([used.code, used.err]).toEqual([1, expect.stringContaining('is that of Shop of p2wpkh already')]);
      const { secret, extended } = otherWallet(9, 'p2wpkh');
      const secretly = await add('Secret', '--account', `LTC=${secret}`, '--yes');
      expect([secretly.code, secretly.err]).toEqual([1, expect.stringContaining('That is secret')]);
      expect(`${secretly.err}${secretly.out}`).not.toContain(secret.slice(10, 60));
      const unsaid = await add('Unsaid', '--account', `LTC=${extended}`, '--yes');
      expect([unsaid.code, unsaid.err]).toEqual([1, expect.stringContaining('p2sh-p2wpkh')]);
      const unconfirmed = await add('Unseen', '--account', `LTC=${extended}`, '--script', 'LTC=p2wpkh');
      expect(unconfirmed.code).toBe(1);
      const { businesses } = await operator()('business.list', {});
      expect(businesses.filter(({ watch_only: own }) => own.length > 0)).toHaveLength(FORMS.length);
    });
  },
);
