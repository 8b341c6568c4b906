/** The built-in endpoints of Ethereum and BNB Smart Chain, the built-in nodes of Monero, and when a chain that only they connect is needed. */
import { tmpdir } from 'node:os';
import { getDomain } from 'tldts';
import { afterEach, describe, expect, it } from 'vitest';
import { isNeeded } from '../../../daemon/app/chains/needed.ts';
import { addBusiness, changeBusiness } from '../../../daemon/app/shops/businesses.ts';
import { builtInEndpoints } from '../../../daemon/chains/evm/built-in.ts';
import { sortedUrls } from '../../../daemon/chains/evm/urls.ts';
import { openAdapter } from '../../../daemon/chains/registry.ts';
import { builtInNodes } from '../../../daemon/chains/xmr/built-in.ts';
import { loadConfig } from '../../../daemon/config/config.ts';
import { ASSETS, NETWORKS } from '../../../daemon/domain/assets.ts';
import { Bench } from '../app/bench.ts';

const NOTHING = { coreRpc: null, coreRpcCookie: null, electrum: [], monerod: [], rpc: [] };

describe.each(['ETH', 'BSC'] as const)('built-in endpoints of %s', (chain) => {
  const { asked, sockets } = sortedUrls(builtInEndpoints('mainnet', chain));

  it('are encrypted, carry no key, and are of several operators', () => {
    for (const url of [...asked, ...sockets]) {
      const { protocol, username, search, hash } = new URL(url);
      expect([protocol, username, search, hash]).toEqual([expect.stringMatching(/^(https|wss):$/), '', '', '']);
    }
    expect(asked.length).toBeGreaterThanOrEqual(5);
    expect(sockets.length).toBeGreaterThanOrEqual(1);
    expect(new Set(asked.map((url) => getDomain(url))).size).toBe(asked.length);
  });

  it('are for mainnet alone', () => {
    for (const network of NETWORKS) if (network !== 'mainnet') expect(builtInEndpoints(network, chain)).toEqual([]);
  });

  it('are not used where public servers are refused, or on a network for tests', () => {
    const context = { publicServers: false } as Parameters<typeof openAdapter>[3];
    expect(openAdapter('mainnet', chain, NOTHING, context)).toBeNull();
    expect(openAdapter('regtest', chain, NOTHING, { ...context, publicServers: true })).toBeNull();
  });
});

describe('built-in nodes of Monero', () => {
  const nodes = builtInNodes('mainnet');

  it('are encrypted, carry no login, and are of several operators', () => {
    for (const url of nodes) expect(url).toMatch(/^https:\/\/[a-z0-9.-]+:\d+$/);
    expect(nodes.length).toBeGreaterThanOrEqual(5);
    expect(new Set(nodes.map((url) => getDomain(url))).size).toBe(nodes.length);
  });

  it('are for mainnet alone, and for an operator who chose to use them', () => {
    for (const network of NETWORKS) if (network !== 'mainnet') expect(builtInNodes(network)).toEqual([]);
    const config = loadConfig({ dataDir: tmpdir(), env: {}, flags: {} });
    expect(config.monero).toEqual({ publicNodes: 'never', socksProxy: null, proxyFor: 'onion' });
    const context = { publicServers: false } as Parameters<typeof openAdapter>[3];
    expect(openAdapter('mainnet', 'XMR', NOTHING, context)).toBeNull();
    expect(openAdapter('regtest', 'XMR', NOTHING, { ...context, publicServers: true })).toBeNull();
  });
});

describe('a chain that only the defaults connect', () => {
  let bench: Bench;
  afterEach(() => bench.app.store.close());
  const only = (...symbols: string[]) =>
    bench.app.store.write((tx) => {
      const all = ASSETS.filter(({ chain }) => chain === 'ETH' || chain === 'BSC').map(({ symbol }) => symbol);
      const business = bench.app.directory.business(bench.businessId);
      changeBusiness(
        bench.app,
        business,
        { enable: symbols, disable: all.filter((one) => !symbols.includes(one)) },
        tx,
      );
    });

  it('is needed by the assets that a business takes there or on the network with the same addresses', async () => {
    bench = await Bench.open('ETH', {}, { also: ['BSC', 'BTC'] });
    const chains = bench.app.chains.all();
    for (const chain of chains) chain.dormant = true;
    const needed = () => chains.filter((chain) => isNeeded(bench.app, chain)).map(({ adapter }) => adapter.chain);
    await only();
    expect(needed()).toEqual(['BTC']);
    await only('USDT_BEP20');
    expect(needed()).toEqual(['ETH', 'BSC', 'BTC']);
    await only('USDT_ERC20');
    await bench.invoice({ crypto: 'USDT_ERC20' });
    await only();
    // its address was given out
    expect(needed()).toEqual(['ETH', 'BTC']);
  });

  it('is looked for when a business changes, and not with every payment', async () => {
    bench = await Bench.open('ETH', {}, { also: ['BSC'] });
    const woken: string[] = [];
    bench.app.wake.on({
      business: () => woken.push('business'),
      pool: () => woken.push('pool'),
    });
    await only('USDT_ERC20');
    await bench.invoice({ crypto: 'USDT_ERC20' });
    expect(woken).toEqual(['business', 'pool']);
  });

  it('is not taken by a new business unasked, if it asks for gas', async () => {
    bench = await Bench.open('ETH', {}, { also: ['BSC', 'BTC'] });
    const { app } = bench;
    const accounts = Object.fromEntries(
      app.directory.accounts().map(({ chainKey, key }) => [chainKey.split(':')[1]!, key]),
    );
    const taken = async (accountNo: number) => {
      const terms = {
        name: `shop no. ${accountNo}`,
        network: 'mainnet',
        timeZone: 'UTC',
        accountNo,
        accounts,
        birthday: null,
      } as const;
      const id = await app.store.write((tx) => addBusiness(app, terms, tx));
      return app.directory.business(id).enabled.map(({ symbol }) => symbol);
    };
    for (const chain of app.chains.all()) chain.dormant = chain.adapter.chain !== 'BSC';
    expect((await taken(1)).toSorted()).toEqual(['BNB', 'BTC', 'USDT_BEP20']);
    for (const chain of app.chains.all()) chain.dormant = true;
    expect(await taken(2)).toEqual(['BTC']);
  });
});
