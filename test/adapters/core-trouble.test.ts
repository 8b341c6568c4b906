/** The Core-RPC adapter on nodes in trouble: what it tells the operator, and that it recovers by itself. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deadline } from '../../daemon/app/deadline.ts';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import { coinSource } from './coin-source.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { bchn, core28, errorsWith200 } from './fixtures/dialects.ts';
import { FakeNode } from './fixtures/fake-node.ts';
import { adapterOf, closeAfterEach, closeLater, nodeOf, ready, signal } from './fixtures/fake-setup.ts';
import { testAccount } from './keys.ts';

describe('Core RPC in trouble', () => {
  closeAfterEach();

  describe('a pruning node', () => {
    it('is rejected for a birthday before what it keeps, with what to change', async () => {
      const node = await nodeOf(core28);
      const info = node.answer('getblockchaininfo', []) as object;
      node.overrides.set('getblockchaininfo', () => ({ ...info, pruned: true, pruneheight: 12 }));
      const adapter = adapterOf(node, new FactBook());
      const refusal = adapter.begin(0, signal());
      await expect(refusal).rejects.toThrow(Rejected);
      await expect(refusal).rejects.toThrow(/deleted the blocks from 1 to 11.*\[networks\.regtest\.BTC\] core_rpc/);
      expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(20);
    });

    it.each([core28, errorsWith200])(
      'that deleted a block before it was read raises an alarm ($name)',
      async (dialect) => {
        const { node, book, adapter } = await ready(dialect);
        node.mine(3);
        node.overrides.set('getblock', () => FakeNode.failure(-1, 'Block not available (pruned data)'));
        await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/^block [0-9a-f]{64} is pruned/);
      },
    );
  });

  it('tells a BCH node from a BTC one, although their first blocks are the same', async () => {
    const node = await nodeOf(bchn);
    const adapter = adapterOf(node, new FactBook(), { chain: 'BTC' });
    await expect(adapter.begin(null, signal())).rejects.toThrow(
      /^\[networks\.regtest\.BTC\] core_rpc points at a node of another chain: it does not know BTC addresses/,
    );
  });

  it('notices that another node answers after a reconnect, and when the right one is back', async () => {
    const { node, book, adapter } = await ready(core28);
    await node.close();
    const impostor = new FakeNode(bchn);
    impostor.port = node.port;
    await impostor.listen();
    closeLater(() => impostor.close());
    await until(() => /another chain/.test(adapter.health().error ?? ''), 'the other node to be noticed');
    await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another chain/);
    await impostor.close();
    await node.listen();
    await until(() => adapter.health().error === null, 'the right node to be noticed');
    await book.catchUp(adapter);
  });

  it('reads the cookie file anew when the node was restarted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cookie-'));
    closeLater(() => rm(folder, { recursive: true }));
    const cookieFile = join(folder, '.cookie');
    const node = await nodeOf(core28);
    const url = `http://127.0.0.1:${node.port}`;
    node.login = '__cookie__:first';
    const adapter = adapterOf(node, new FactBook(), { url, cookieFile });
    await expect(adapter.begin(null, signal())).rejects.toThrow(/cookie file cannot be read \(ENOENT\)/);
    await writeFile(cookieFile, '__cookie__:first\n');
    expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(20);
    node.login = '__cookie__:second';
    await expect(adapter.begin(null, signal())).rejects.toThrow(/refuses the user name or password/);
    await writeFile(cookieFile, '__cookie__:second');
    expect((await adapter.begin(null, signal())).at(-1)?.height).toBe(20);
  });

  it.each([
    { login: 'user:p%40ss%3A%25', sent: 'user:p@ss:%' },
    { login: 'us%20er:%zz', sent: 'us%20er:%zz', decoded: 'us er:%zz' },
  ])('sends the credentials $login decoded', async ({ login, sent, decoded }) => {
    const node = await nodeOf(core28);
    node.login = decoded ?? sent;
    const url = `http://${login}@127.0.0.1:${node.port}`;
    expect(await adapterOf(node, new FactBook(), { url }).begin(null, signal())).toHaveLength(21);
  });

  it('refuses an address that is none, without quoting it', () => {
    const open = (url: string) => () => coreAdapter({ chain: 'BTC', network: 'mainnet', url, watch: new FactBook() });
    for (const url of ['user:secret@localhost:1', 'ftp://user:secret@localhost', 'http://user:secret@']) {
      expect(open(url)).toThrow('[networks.mainnet.BTC] core_rpc must have the form http://user:password@host:port');
      expect(open(url)).not.toThrow(/secret/);
    }
  });

  it('calls a refused call by its name, when the node answers others', async () => {
    const node = await nodeOf(core28);
    const { spending } = adapterOf(node, new FactBook());
    await spending!.feeRate(6, signal());
    node.forbids = 'sendrawtransaction';
    await expect(spending!.broadcast('0200', signal())).rejects.toThrow(/rpcwhitelist.*: sendrawtransaction/);
  });

  it.each<{ title: string; status: number; body: string; says: RegExp }>([
    {
      title: 'warming up',
      status: 500,
      body: '{"result":null,"error":{"code":-28,"message":"Loading block index…"},"id":0}',
      says: /starting \(Loading block index…\)/,
    },
    { title: 'overloaded', status: 503, body: 'Work queue depth exceeded', says: /overloaded/ },
    { title: 'overloaded (older)', status: 500, body: 'Work queue depth exceeded', says: /overloaded/ },
    { title: 'not letting us in', status: 403, body: '', says: /rpcallowip/ },
    {
      title: 'no node at all',
      status: 200,
      body: '<html>hello</html>',
      says: /no JSON-RPC is spoken at 127\.0\.0\.1:\d+ \(HTTP 200\)/,
    },
    {
      title: 'one that knows no batches',
      status: 200,
      body: '{"result":null,"error":{"code":-32600,"message":"no batches"},"id":0}',
      says: /refuses a batch: no batches/,
    },
    { title: 'answering nonsense', status: 200, body: '[{"id":0},{"id":1}]', says: /no JSON-RPC/ },
    {
      title: 'of an unknown form',
      status: 200,
      body: '[{"id":0,"result":5},{"id":1,"result":5}]',
      says: /form that is not known/,
    },
  ])('tells what is wrong with a node $title', async ({ status, body, says }) => {
    const server = http.createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(status).end(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closeLater(async () => void server.close());
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const url = `http://user:secret@127.0.0.1:${address.port}`;
    const adapter = coreAdapter({ chain: 'BTC', network: 'regtest', url, watch: new FactBook(), pollMs: 20 });
    closeLater(() => adapter.close(), true);
    const refusal = adapter.begin(null, signal());
    await expect(refusal).rejects.toThrow(Unavailable);
    await expect(refusal).rejects.toThrow(says);
    await expect(refusal).rejects.not.toThrow(/secret/);
    expect(adapter.health()).toMatchObject({ source: `127.0.0.1:${address.port}`, tip: null });
    expect(adapter.health().error).toMatch(says);
  });

  it.each([
    { chain: 'BTC' as const, hours: 2.9, lagging: false },
    { chain: 'BTC' as const, hours: 3.1, lagging: true },
    { chain: 'BCH' as const, hours: 3.1, lagging: false },
    { chain: 'BCH' as const, hours: 4.1, lagging: true },
  ])('on a public network calls a $chain tip $hours hours old lagging: $lagging', async ({ chain, hours, lagging }) => {
    const node = await nodeOf(chain === 'BTC' ? core28 : bchn);
    node.addBlock([], undefined, Math.floor(Date.now() / 1000 - hours * 3600));
    const genesis = chain === 'BTC' ? '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f' : undefined;
    const first = genesis ?? '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
    node.overrides.set('getblockhash', ([height]) => (height === 0 ? first : undefined));
    node.overrides.set('validateaddress', () => ({ isvalid: true }));
    const adapter = adapterOf(node, new FactBook(), { network: 'mainnet' });
    adapter.onHint(() => {});
    await until(() => adapter.health().tipAgeMs !== null, 'the age of the tip');
    expect(adapter.health()).toMatchObject({ lagging, error: null });
  });

  it('has no news from a node of a public network that is still downloading', async () => {
    const { node, book } = await ready(core28);
    const info = node.answer('getblockchaininfo', []) as object;
    const first = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';
    node.overrides.set('getblockhash', ([height]) => (height === 0 ? first : undefined));
    node.overrides.set('validateaddress', () => ({ isvalid: true }));
    node.overrides.set('getblockchaininfo', () => ({ ...info, headers: 900_000, initialblockdownload: true }));
    const adapter = adapterOf(node, book, { network: 'mainnet' });
    expect(await adapter.sync(book.checkpoint, signal())).toBeNull();
    expect(adapter.health().lagging).toBe(true);
    await expect(adapter.begin(null, signal())).rejects.toThrow(/still downloading the chain \(20 of 900000 blocks\)/);
  });

  it('is away when it does not answer in the time that it is given, whatever it is asked', async () => {
    const silent = http.createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    closeLater(async () => {
      silent.closeAllConnections();
      await new Promise((resolve) => silent.close(resolve));
    });
    const { port } = silent.address() as { port: number };
    const url = `http://user:password@127.0.0.1:${port}`;
    const adapter = coreAdapter({ chain: 'BTC', network: 'regtest', url, watch: new FactBook() });
    closeLater(() => adapter.close(), true);
    const spending = adapter.spending!;
    const coins = coinSource(adapter);
    const asks: ((limit: AbortSignal) => Promise<unknown>)[] = [
      (limit) => spending.transaction('ab'.repeat(32), null, limit),
      (limit) => spending.feeRate(6, limit),
      (limit) => spending.broadcast('00', limit),
      (limit) => coins.unconfirmed('ab'.repeat(32), limit),
      (limit) => adapter.holdings!.coins([{ key: testAccount, receiving: 1, change: 0 }], limit),
      (limit) => adapter.begin(null, limit),
    ];
    for (const ask of asks) await expect(ask(deadline(30, 'the node'))).rejects.toBeInstanceOf(Unavailable);
  });
});
