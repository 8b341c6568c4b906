/**
 * A balance that the operator adopted, and the transaction behind it that a second operator confirms only afterwards: an account of
 * Ethereum whose keys are in another wallet, on anvil.
 */
import { hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Result } from '../../daemon/contract/operator.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { EndpointProxy } from '../nodes/evm/endpoint-proxy.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { freshAddress } from '../support/evm-shop.ts';
import { invoicesOf } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
/** Deeper than any ordinary reorganisation. */
const DEEP = 14;
const CHAIN = 'regtest:ETH';
const DENIED = ['eth_getTransactionReceipt', 'eth_getTransactionByHash'];

/** The wallet that has the keys. */
const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(79)).derive("m/44'/60'/0'");
const sender = privateKeyToAccount(`0x${hex.encode(account.deriveChild(0).deriveChild(0).privateKey!)}`);

describe.skipIf(!hasAnvil)(anvilTitle('an adopted balance'), () => {
  let scene: EvmScene;
  let second: EndpointProxy;
  let service: TestDaemon;
  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    second = await EndpointProxy.start(scene.anvil.url);
    const both = `"${scene.proxy.url}", "${second.url.replace('127.0.0.1', 'localhost')}"`;
    service = await startTestDaemon(scene.settings('USDT_ERC20', 'ETH').replace(`"${scene.proxy.url}"`, both));
  });
  afterAll(async () => {
    await service?.stop();
    await second?.close();
    await scene?.stop();
  });

  it('is not counted again with the transaction that it contains', async () => {
    const operator = operatorClient(service.dataDir);
    const proof = async (method: 'ledger.prove' | 'ledger.adopt') => {
      const [found] = (await operator(method, { chain: CHAIN })).chains;
      if (!found) throw new Error('the chain is proved');
      return found;
    };
    const keys = ['--account', `ETH=${account.publicExtendedKey}`, '--no-wallet'];
    const fixed = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--json', '--yes'];
    const added = await cli(service.dataDir, [...fixed, ...keys]);
    expect(added.code, added.err).toBe(0);
    const { key } = (JSON.parse(added.out) as Result<'business.add'>).key;
    const call = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const { when } = invoicesOf<{ id: string; status: string }>(call);
    const { body } = await call<{ id: string }>('POST', '/invoice', { amount: 4_000, crypto: 'ALL' });
    const isAsked = async () => (await call('POST', `/invoice/rp/${body.id}`, { crypto: 'ETH' })).status === 201;
    await until('the chain is followed', isAsked);
    await scene.payCoins([{ address: sender.address, units: 2n * ETHER }]);
    await scene.anvil.mine(DEEP);
    await when(body.id, 'it is paid', ({ status }) => status === 'paid');

    // the second operator tells the balance of the other wallet, and of none of its transactions
    second.behaviour = {
      instead: ({ method }) => (DENIED.includes(method) ? { result: null } : undefined),
    };
    const raw = await sender.signTransaction({
      type: 'eip1559',
      chainId: scene.anvil.chainId,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 3n * GWEI,
      maxPriorityFeePerGas: GWEI,
      to: freshAddress() as Hex,
      value: ETHER / 2n,
    });
    await scene.anvil.rpc('eth_sendRawTransaction', [raw]);
    await scene.anvil.mine(DEEP);
    await until('it is offered', async () => (await proof('ledger.prove')).offers.length > 0);
    const adopted = await proof('ledger.adopt');
    expect(adopted.problems).toEqual([]);
    expect(adopted.lines).toMatchObject([{ crypto: 'ETH', received: '2', paid_out: '0' }]);
    const held = adopted.lines[0]?.held;
    second.behaviour = {};
    const found = await until('the transaction is known', async () => {
      const now = await proof('ledger.prove');
      return now.lines[0]?.paid_out === '0.5' && now;
    });
    expect(found.lines).toMatchObject([{ crypto: 'ETH', received: '2', adopted: '0', held }]);
    // of its amount and of its fee
    const signs = found.corrections.map(({ kind, amount }) => `${kind} ${amount.startsWith('-') ? 'less' : 'more'}`);
    expect(signs.sort()).toEqual(['adopted less', 'adopted more', 'adopted more']);
    // the next payment is the only one
    await scene.payCoins([{ address: sender.address, units: ETHER / 10n }]);
    await scene.anvil.mine(DEEP);
    const { items } = await until('the next payment is there', async () => {
      const now = await operator('inbox.list', {});
      return now.items.length > 0 && now;
    });
    expect(items.map(({ amount }) => amount)).toEqual(['0.1']);
    expect(await until('it is proved', async () => (await proof('ledger.prove')).problems.length === 0)).toBe(true);
  });
});
