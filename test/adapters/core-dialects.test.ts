/** The Core-RPC adapter on Bitcoin Core 28 and Bitcoin Cash Node, by their answers, and on nodes in trouble. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ChainAdapter } from '../../daemon/chains/adapter.ts';
import { type CoreOptions, coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import { type ChainControls, conformance, until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { bchn, core28, type Dialect, errorsWith200 } from './fixtures/dialects.ts';
import { FakeNode } from './fixtures/fake-node.ts';
import { testAccount } from './keys.ts';

const signal = () => AbortSignal.timeout(25_000);

async function controls(dialect: Dialect): Promise<ChainControls> {
  const node = await FakeNode.start(dialect);
  node.mine(130);
  const { chain } = dialect;
  let away: ReturnType<FakeNode['disconnectBlocks']> = [];
  return {
    account: testAccount,
    connect: (watch) => coreAdapter({ chain, network: 'regtest', url: node.url, watch, pollMs: 20 }),
    mine: async (count, rewardTo) => node.mine(count, rewardTo),
    pay: async (outputs) => node.pay(outputs),
    reorg: async (depth, drop) => node.reorg(depth, drop),
    async replace(txid) {
      node.replace(txid);
    },
    evictAll: async () => node.mempool.clear(),
    async spend(credit) {
      const [txid, vout] = [credit.txid, Number(credit.id.split(':')[1])];
      return node.send([{ units: 1_000n, script: Buffer.from('6a', 'hex') }], [{ txid, vout }]);
    },
    async lag() {
      away = node.disconnectBlocks(1);
    },
    catchUp: async () => node.reconnectBlocks(away),
    disconnect: () => node.close(),
    reconnect: () => node.listen(),
    stop: () => node.close(),
  };
}

for (const dialect of [core28, bchn, errorsWith200]) {
  conformance({ name: `Core RPC on ${dialect.name}`, start: () => controls(dialect), rewardMaturity: 100 });
}

describe('Core RPC', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function nodeOf(dialect: Dialect): Promise<FakeNode> {
    const node = await FakeNode.start(dialect);
    closing.push(() => node.close());
    node.mine(20);
    return node;
  }

  function adapterOf(node: FakeNode, book: FactBook, options: Partial<CoreOptions> = {}): ChainAdapter {
    const { chain } = node.dialect;
    const adapter = coreAdapter({ chain, network: 'regtest', url: node.url, watch: book, pollMs: 20, ...options });
    closing.unshift(() => adapter.close());
    return adapter;
  }

  /** A node, an adapter that has caught up with it, and a watched target. */
  async function ready(dialect: Dialect, options: Partial<CoreOptions> = {}) {
    const node = await nodeOf(dialect);
    const book = new FactBook();
    const adapter = adapterOf(node, book, options);
    const target = await adapter.deriveTarget(testAccount, 0, 0);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    return { node, book, adapter, target, id };
  }

  describe('of a BCH payment', () => {
    it.each([
      { parent: 'a confirmed coin', replaceable: false },
      { parent: 'an unconfirmed one', replaceable: true },
    ])('that spends $parent says replaceable: $replaceable', async ({ replaceable }) => {
      const { node, book, adapter, target, id } = await ready(bchn);
      const parent = node.send([{ units: 9_000n, script: Buffer.from('6a', 'hex') }]);
      if (!replaceable) node.mine(1);
      node.send([{ units: 8_000n, script: target.script }], [{ txid: parent, vout: 0 }]);
      await book.catchUp(adapter);
      expect(book.creditOf(id).replaceable).toBe(replaceable);
    });

    it('with a token marks the coin as locked', async () => {
      const { node, book, adapter, target, id } = await ready(bchn);
      const prefix = Buffer.concat([Buffer.of(0xef), Buffer.alloc(32, 5), Buffer.of(0x10, 0xfd, 0x10, 0x27)]);
      node.send([{ units: 1_000n, script: Buffer.concat([prefix, target.script]) }]);
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ locked: true, amount: { asset: 'BCH', units: 1_000n } });
      node.mine(1);
      await book.catchUp(adapter);
      expect(book.creditOf(id)).toMatchObject({ locked: true, block: book.tip });
    });

    it('finds a spend that stands before its coin in a block, which BCH orders by id', async () => {
      const { node, book, adapter, target, id } = await ready(bchn);
      let found = 0;
      // Ids are random: among these pairs, both orders occur (all alike: chance 2^-29).
      for (let i = 0; i < 30; i++) {
        const txid = node.send([{ units: 5_000n + BigInt(i), script: target.script }]);
        const child = node.send([{ units: 4_000n, script: Buffer.from('6a', 'hex') }], [{ txid, vout: 0 }]);
        if (child < txid) found++;
      }
      node.mine(1);
      await book.catchUp(adapter);
      expect(found).toBeGreaterThan(0);
      expect(book.paid(id)).toHaveLength(30);
      expect([...book.spends.values()].map(({ block }) => block?.height)).toEqual(Array(30).fill(book.tip.height));
    });
  });

  it('says of every unconfirmed BTC payment that it may be replaced, signal or none', async () => {
    const { node, book, adapter, target, id } = await ready(core28);
    node.send([{ units: 8_000n, script: target.script }], [{ txid: 'ab'.repeat(32), vout: 1, sequence: 0xffff_ffff }]);
    await book.catchUp(adapter);
    expect(book.creditOf(id)).toMatchObject({ replaceable: true, inputs: [`${'ab'.repeat(32)}:1`] });
  });

  it('finds a child whose parent the node lists later', async () => {
    const { node, book, adapter, target } = await ready(bchn);
    const parent = node.send([{ units: 9_000n, script: target.script }]);
    const child = node.send([{ units: 8_000n, script: Buffer.from('6a', 'hex') }], [{ txid: parent, vout: 0 }]);
    node.overrides.set('getrawmempool', () => [child, parent]);
    await book.catchUp(adapter);
    expect(book.spentBy(`${parent}:0`)).toEqual([{ txid: child, height: null }]);
  });

  it('asks little when nothing happens, and fetches a transaction once', async () => {
    const { node, book, adapter, target, id } = await ready(core28, { pollMs: 60_000 });
    for (let i = 0; i < 120; i++) node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    expect(node.calls.get('getrawtransaction')).toBe(121);
    const [listings, requests] = [node.calls.get('getrawmempool'), node.requests];
    await book.catchUp(adapter);
    expect(node.calls.get('getrawmempool')).toBe(listings);
    expect(node.requests - requests).toBeLessThanOrEqual(2);
    node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    await book.catchUp(adapter);
    expect(node.calls.get('getrawtransaction')).toBe(122);
  });

  it('reads a large mempool in bounded looks, and calls it complete only at the end', async () => {
    const limits = { fetchedPerLookMax: 100, waitingMax: 250 };
    const { node, book, adapter, target, id } = await ready(core28, { mempoolLimits: limits });
    for (let i = 0; i < 430; i++) node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    node.send([{ units: 7_000n, script: target.script }]);
    const updates = await book.catchUp(adapter);
    expect(updates.length).toBeGreaterThanOrEqual(5);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('never calls a mempool complete that exceeds what it remembers', async () => {
    const { node, book, adapter, target, id } = await ready(core28, { mempoolLimits: { keysMax: 50 } });
    node.send([{ units: 7_000n, script: target.script }]);
    for (let i = 0; i < 80; i++) node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    await expect(book.catchUp(adapter)).rejects.toThrow('no complete view');
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('concludes nothing from a mempool that the node is still reading in', async () => {
    const { node, book, adapter, target, id } = await ready(core28);
    node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    const kept = new Map(node.mempool);
    node.mempool.clear();
    node.overrides.set('getmempoolinfo', () => ({ loaded: false, size: 0, bytes: 0, usage: 0 }));
    await until(async () => {
      const update = await adapter.sync(book.checkpoint, signal());
      if (update) book.apply(update);
      return update?.credits.length === 0;
    }, 'an update without the payment');
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    for (const [txid, transaction] of kept) node.mempool.set(txid, transaction);
    node.overrides.clear();
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('takes a block in the middle of a look as news, not as a contradiction', async () => {
    const { node, book, adapter, target, id } = await ready(core28);
    node.send([{ units: 7_000n, script: target.script }]);
    node.overrides.set('getrawmempool', () => {
      const listed = [...node.mempool.keys()];
      node.overrides.clear();
      node.mine(1);
      return listed;
    });
    const update = await adapter.sync(book.checkpoint, signal());
    expect(update).toMatchObject({ mempool: 'unknown', credits: [] });
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: book.tip.height }]);
  });

  it('leaves out an unconfirmed transaction that it cannot read, and says so once', async () => {
    const warnings: string[] = [];
    const { node, book, adapter, target, id } = await ready(core28, { log: (message) => warnings.push(message) });
    const odd = node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    node.overrides.set('getrawtransaction', ([txid]) => (txid === odd ? '020000000017' : undefined));
    node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    expect(warnings).toEqual([expect.stringContaining(odd)]);
  });

  it('stands still before a block that it cannot read', async () => {
    const { node, book, adapter } = await ready(core28);
    node.mine(1);
    const bytes = node.tip.bytes.subarray(0, -1).toString('hex');
    node.overrides.set('getblock', () => bytes);
    const { tip } = book;
    await expect(book.catchUp(adapter)).rejects.toThrow(/ALERT: block [0-9a-f]{64} at 21 cannot be read/);
    expect(book.tip).toEqual(tip);
    expect(adapter.health().error).toMatch(/ALERT/);
    node.overrides.clear();
    await book.catchUp(adapter);
    expect(adapter.health().error).toBeNull();
  });

  it('refuses a block whose hash is another than was asked for', async () => {
    const { node, book, adapter } = await ready(core28);
    node.mine(2);
    const bytes = node.tip.bytes.toString('hex');
    node.overrides.set('getblock', () => bytes);
    await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another block/);
  });

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

    it('that deleted a block before it was read raises an alarm', async () => {
      const { node, book, adapter } = await ready(core28);
      node.mine(3);
      node.overrides.set('getblock', () => FakeNode.failure(-1, 'Block not available (pruned data)'));
      await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/ALERT: block [0-9a-f]{64} is pruned/);
    });
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
    closing.push(() => impostor.close());
    await until(() => /another chain/.test(adapter.health().error ?? ''), 'the other node to be noticed');
    await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/another chain/);
    await impostor.close();
    await node.listen();
    await until(() => adapter.health().error === null, 'the right node to be noticed');
    await book.catchUp(adapter);
  });

  it('reads the cookie file anew when the node was restarted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cookie-'));
    closing.push(() => rm(folder, { recursive: true }));
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
    closing.push(async () => void server.close());
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const url = `http://user:secret@127.0.0.1:${address.port}`;
    const adapter = coreAdapter({ chain: 'BTC', network: 'regtest', url, watch: new FactBook(), pollMs: 20 });
    closing.unshift(() => adapter.close());
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
});
