/** How the light client reaches servers: certificates pinned on first use, and a SOCKS5 proxy for onion services. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ElectrumAdapter, type ElectrumOptions } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { selfSigned } from '../nodes/certificate.ts';
import { ElectrumServer, FollowedChain } from '../nodes/electrum-server.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { SocksProxy } from '../nodes/socks-proxy.ts';
import { undoAll } from '../support/undo.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';

const MINUTE_MS = 60_000;
const signal = () => AbortSignal.timeout(15_000);

describe.skipIf(!hasLitecoind)(litecoindTitle('reaching Electrum servers'), () => {
  let node: Litecoind;
  let followed: FollowedChain;
  let folder: string;
  const opened: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.mine(5);
    followed = await FollowedChain.start(node);
  });
  afterAll(async () => {
    await followed?.stop();
    await node?.remove();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'electrum-'));
  });
  afterEach(async () => {
    await undoAll(opened.splice(0).map((one) => () => one.close()));
    await rm(folder, { recursive: true, force: true });
  });

  const serve = async (options: Parameters<typeof ElectrumServer.start>[1]): Promise<ElectrumServer> => {
    const server = await ElectrumServer.start(followed, options);
    opened.push(server);
    return server;
  };
  function open(
    servers: string[],
    options: Partial<ElectrumOptions> = {},
  ): { adapter: ElectrumAdapter; alerts: string[] } {
    const alerts: string[] = [];
    const adapter = new ElectrumAdapter({
      chain: 'LTC',
      network: 'regtest',
      servers,
      folder,
      list: new FactBook(),
      alert: (server, message) => alerts.push(`${server}: ${message}`),
      ...options,
    });
    opened.push(adapter);
    return { adapter, alerts };
  }

  describe('a certificate that nobody vouches for', () => {
    it(
      'is the one of the first time, or the server is dropped with an alert',
      async () => {
        const server = await serve({ tls: true });
        const first = open([server.url]);
        expect((await first.adapter.begin(null, signal())).at(-1)?.height).toBe(5);
        const pins = JSON.parse(await readFile(join(folder, 'LTC-regtest.certificates.json'), 'utf8')) as Record<
          string,
          string
        >;
        expect(Object.keys(pins)).toEqual([`127.0.0.1:${server.port}`]);
        expect(Object.values(pins)[0]).toMatch(/^[0-9a-f]{64}$/);
        await first.adapter.close();

        const again = open([server.url]);
        await again.adapter.begin(null, signal());
        expect(again.alerts).toEqual([]);
        await again.adapter.close();

        await server.close();
        server.certificate = selfSigned();
        await server.listen();
        const { adapter, alerts } = open([server.url], { own: true, timeouts: { ownRetryMs: 1_000 } });
        await expect(adapter.begin(null, signal())).rejects.toThrow('it shows another certificate than before');
        expect(alerts).toHaveLength(1);
        expect(alerts[0]).toMatch(`${server.url}: it shows another certificate than before (SHA-256`);
        expect(alerts[0]).toContain(
          `take the line of 127.0.0.1:${server.port} out of electrum/LTC-regtest.certificates.json`,
        );
        expect(adapter.servers()[0]).toMatchObject({ state: 'dropped' });
        expect(JSON.parse(await readFile(join(folder, 'LTC-regtest.certificates.json'), 'utf8'))).toEqual(pins);

        // The operator takes the line out: the server is back within a minute, without a restart, and the alert stays.
        await writeFile(join(folder, 'LTC-regtest.certificates.json'), '{}');
        await until(() => adapter.servers()[0]?.state === 'ready', 'the server to be back', MINUTE_MS);
        expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(5);
        expect(alerts).toHaveLength(1);
      },
      2 * MINUTE_MS,
    );
  });

  describe('a SOCKS5 proxy', () => {
    async function proxyTo(port: number): Promise<SocksProxy> {
      const proxy = await SocksProxy.to(port);
      opened.push(proxy);
      return proxy;
    }

    it('leads to onion services, whose names are not looked up here', async () => {
      const server = await serve({});
      const proxy = await proxyTo(server.port);
      const onion = `tcp://${'a'.repeat(56)}.onion:50001`;
      const { adapter } = open([onion], { proxy: proxy.url });
      expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(5);
      expect(proxy.asked).toEqual([`${'a'.repeat(56)}.onion:50001`]);
      expect(adapter.health().source).toBe(onion);
    });

    it('is not used for others, unless it is for all', async () => {
      const server = await serve({ tls: true });
      const proxy = await proxyTo(server.port);
      const straight = open([server.url], { proxy: proxy.url });
      await straight.adapter.begin(null, signal());
      expect(proxy.asked).toEqual([]);
      const named = open([`ssl://server.example:50002`], { proxy: proxy.url, proxyForAll: true });
      await named.adapter.begin(null, signal());
      expect(proxy.asked).toEqual(['server.example:50002']);
    });

    it('is missed, in words, for an onion service without one', async () => {
      const { adapter } = open([`tcp://${'b'.repeat(56)}.onion:50001`]);
      await expect(adapter.begin(null, signal())).rejects.toThrow(
        'an onion service needs a proxy: set electrum.socks_proxy',
      );
    });
  });

  it('tells in words why there is no connection, and tries again by itself', async () => {
    const server = await serve({ line: null });
    await server.close();
    const { adapter } = open([server.url]);
    let hints = 0;
    adapter.onHint(() => hints++);
    await expect(adapter.begin(null, signal())).rejects.toThrow(
      `[networks.regtest.LTC] electrum: no server is connected (${server.url}: nothing answers there (connection refused))`,
    );
    await server.listen();
    await until(() => adapter.health().error === null, 'the server to be found');
    await until(() => hints > 0, 'a hint');
  });

  it('refuses a server of another chain', async () => {
    const server = await serve({});
    const { adapter, alerts } = open([server.url], { chain: 'BTC' });
    await expect(adapter.begin(null, signal())).rejects.toThrow('it serves another chain, beginning with 530827f3');
    expect(alerts).toHaveLength(1);
  });

  it.each([
    { min: '1.0', max: '1.2' },
    { min: '1.7', max: '2.0' },
  ])('does without a server that speaks $min to $max only', async (protocol) => {
    const server = await serve({ protocol });
    const { adapter, alerts } = open([server.url]);
    await expect(adapter.begin(null, signal())).rejects.toThrow('no server is connected');
    expect(alerts).toEqual([]);
  });
});
