/** The Core-RPC adapter on Bitcoin Core 28 and Bitcoin Cash Node, by their answers. */
import { describe, expect, it } from 'vitest';
import { coreAdapter } from '../../daemon/chains/utxo/core.ts';
import { type ChainControls, conformance, until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { bchn, core28, type Dialect, errorsWith200 } from './fixtures/dialects.ts';
import { FakeNode } from './fixtures/fake-node.ts';
import { adapterOf, closeAfterEach, closeLater, nodeOf, ready, signal } from './fixtures/fake-setup.ts';
import { testAccount } from './keys.ts';

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
  closeAfterEach();

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

  it('sees that a payment has gone, although another transaction came whose id begins alike', async () => {
    const { node, book, adapter, target, id } = await ready(core28);
    const paid = node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    const rival = node.replace(paid);
    // anybody can make two of his own so
    node.mempool.set(`${paid.slice(0, 13)}${rival.slice(13)}`, node.mempool.get(rival)!);
    node.mempool.delete(rival);
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([]);
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
    const looked = book.catchUp(adapter, undefined, 1_000);
    await expect(looked).rejects.toThrow('no complete view');
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('concludes nothing from a mempool that the node is still reading in', async () => {
    const { node, book, adapter, target, id } = await ready(core28);
    node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    const kept = new Map(node.mempool);
    node.mempool.clear();
    node.overrides.set('getmempoolinfo', () => ({ loaded: false, size: 0, bytes: 0, usage: 0 }));
    const listings = () => node.calls.get('getrawmempool') ?? 0;
    const before = listings();
    await until(async () => {
      const update = await adapter.sync(book.checkpoint, signal());
      if (update) book.apply(update);
      return update?.credits.length === 0 && listings() > before;
    }, 'an update after a listing without the payment');
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

  it('says that a node has no mempool', async () => {
    const node = await nodeOf(core28);
    node.overrides.set('getnetworkinfo', () => ({ version: 290_000, localrelay: false }));
    const adapter = adapterOf(node, new FactBook());
    await adapter.begin(null, signal());
    expect(adapter.health().concerns).toEqual(['blocks_only']);
  });

  it('works with a node that may not be asked about its settings', async () => {
    const node = await nodeOf(core28);
    const book = new FactBook();
    const adapter = adapterOf(node, book);
    node.overrides.set('getnetworkinfo', () => FakeNode.failure(-32601, 'Method not found'));
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    expect([adapter.health().concerns, adapter.health().error]).toEqual([[], null]);
  });

  it('stands still before a block that it cannot read', async () => {
    const { node, book, adapter } = await ready(core28);
    node.mine(1);
    const bytes = node.tip.bytes.subarray(0, -1).toString('hex');
    node.overrides.set('getblock', () => bytes);
    const { tip } = book;
    await expect(book.catchUp(adapter)).rejects.toThrow(/^block [0-9a-f]{64} at 21 cannot be read/);
    expect(book.tip).toEqual(tip);
    expect(adapter.health().error).toMatch(/cannot be read/);
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

  describe('while the node reorganises under its eyes', () => {
    it('never mixes two branches in an update', async () => {
      const { node, book, adapter } = await ready(core28);
      node.mine(2);
      const [old] = node.blocks.slice(21);
      node.reorg(2, false);
      const served = new Map([...node.blocks, ...(old ? [old] : [])].map(({ hash, bytes }) => [hash, bytes]));
      // The first of the new heights is still answered from the old branch.
      node.overrides.set('getblockhash', ([height]) => (height === 21 ? old?.hash : undefined));
      node.overrides.set('getblock', ([hash]) => served.get(String(hash))?.toString('hex'));
      const update = await adapter.sync(book.checkpoint, signal());
      expect(update?.checkpoint.at(-1)).toEqual({ height: 21, hash: old?.hash });
      expect(update?.mempool).toBe('unknown');
      if (update) book.apply(update);
      node.overrides.clear();
      await book.catchUp(adapter);
      expect(book.checkpoint).toEqual(node.blocks.map(({ hash }, height) => ({ height, hash })));
    });

    it('begins on one branch', async () => {
      const node = await nodeOf(core28);
      node.overrides.set('getblockhash', ([height]) => {
        const hash = node.blocks[Number(height)]?.hash;
        if (height === 18) {
          node.overrides.clear();
          node.reorg(5, false);
        }
        return hash;
      });
      const checkpoint = await adapterOf(node, new FactBook()).begin(null, signal());
      expect(checkpoint).toEqual(node.blocks.map(({ hash }, height) => ({ height, hash })));
    });

    it('notices that another node has taken over in the middle of an update', async () => {
      const { node, book, adapter } = await ready(core28, { pollMs: 60_000 });
      node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
      node.overrides.set('getrawmempool', () => {
        node.overrides.set('getblockhash', () => 'ee'.repeat(32));
        node.dropConnectionsSoon();
        return undefined;
      });
      await expect(book.catchUp(adapter)).rejects.toThrow(/another chain: its first block is eeee/);
    });
  });

  it('looks at the mempool again when it is sent back to an older checkpoint, as for new addresses', async () => {
    const { node, book, adapter } = await ready(core28);
    const older = book.checkpoint.slice(0, -1);
    const target = await adapter.deriveAddress(testAccount, 0, 99);
    node.send([{ units: 7_000n, script: target.script }]);
    await book.catchUp(adapter);
    const id = book.watch(target);
    book.checkpoint = older;
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('reads no more than a bounded number of bytes in a step', async () => {
    const { node, book, adapter } = await ready(core28);
    const large = {
      inputs: [{ txid: 'ab'.repeat(32), vout: 0 }],
      outputs: [{ units: 1n, script: Buffer.alloc(4_300_000) }],
    };
    for (let i = 0; i < 5; i++) node.addBlock([large]);
    const updates = await book.catchUp(adapter);
    expect(updates[0]?.checkpoint.at(-1)?.height).toBe(24);
    expect(book.tip.height).toBe(25);
  });

  it('begins far enough before a birthday for the clocks of miners and the median of times', async () => {
    const node = await FakeNode.start(core28);
    closeLater(() => node.close());
    const [start, step] = [1_700_000_000, 600];
    for (let height = 1; height <= 200; height++) node.addBlock([], undefined, start + height * step);
    const checkpoint = await adapterOf(node, new FactBook()).begin((start + 150 * step) * 1000, signal());
    // The median time of 142 is the time of 137: the last one before 150 less two hours (138). Less eleven blocks.
    expect(checkpoint.at(-1)).toEqual({ height: 131, hash: node.blocks[131]?.hash });
    expect(checkpoint).toHaveLength(120);
  });

  it('reads a past beside the present without reading the mempool anew, and looks once more at its end', async () => {
    const { node, book, adapter } = await ready(core28, { pollMs: 60_000 });
    for (let i = 0; i < 120; i++) node.send([{ units: 1n, script: Buffer.from('6a', 'hex') }]);
    const late = await adapter.deriveAddress(testAccount, 0, 7);
    node.send([{ units: 5_000n, script: late.script }]);
    await book.catchUp(adapter);
    const fetched = () => node.calls.get('getrawtransaction') ?? 0;
    const before = fetched();
    node.mine(1);
    node.send([{ units: 6_000n, script: late.script }]);
    await book.catchUp(adapter);
    expect(fetched() - before).toBe(1);
    // a past that does not reach the tip yet: the node answers for a block that it knows no successor of
    const present = book.checkpoint;
    const tip = node.answer('getblockchaininfo', []) as { blocks: number };
    const behind = node.blocks.length - 5;
    const past = present.slice(0, behind);
    expect(past.at(-1)!.height).toBeLessThan(tip.blocks);
    // the address is of a wallet that is added now: its coins in blocks come with the past, the others after it
    const id = book.watch(late);
    const update = await adapter.sync(past, signal());
    expect(update).toMatchObject({ mempool: 'unknown', since: past.at(-1) });
    expect(update!.credits.map(({ targetId, block }) => [targetId, block?.height])).toEqual([[id, tip.blocks]]);
    await book.catchUp(adapter);
    expect(book.paid(id)).toContainEqual({ units: 6_000n, height: null });
    const again = fetched();
    await adapter.sync(book.checkpoint, signal());
    expect(fetched()).toBe(again);
  });

  it.each([core28, bchn])(
    'searches the unspent outputs of $name by the form of range that it takes',
    async (dialect) => {
      const { node, adapter } = await ready(dialect);
      const asked: unknown[] = [];
      const unspent = { txid: 'ab'.repeat(32), vout: 1, scriptPubKey: '6a', amount: 1.5, height: 3 };
      const { height, hash } = adapter.health().tip!;
      node.overrides.set('scantxoutset', ([, objects]) => {
        asked.push(objects);
        const answer = { success: true, unspents: [unspent], total_amount: 1.5 };
        // Bitcoin Cash Node does not say of which block it is; here one comes during its first search
        if (dialect === bchn && asked.length === 1) node.mine(1);
        return dialect === bchn ? answer : { ...answer, height, bestblock: hash };
      });
      const held = await adapter.holdings!.coins([{ key: testAccount, receiving: 30, change: 2 }], signal());
      const ranges = (asked.at(-1) as { range: unknown }[]).map(({ range }) => range);
      const now = adapter.health().tip!;
      if (dialect === bchn) {
        expect([asked.length, ranges]).toEqual([2, [29, 1]]);
        expect(held.tip).toEqual({ height: height + 1, hash: node.tip.hash });
      } else {
        expect([asked.length, ranges, held.tip]).toEqual([
          1,
          [
            [0, 29],
            [0, 1],
          ],
          now,
        ]);
      }
      expect(held.coins).toEqual([{ outpoint: `${'ab'.repeat(32)}:1`, units: 150_000_000n, height: 3 }]);
    },
  );
});
