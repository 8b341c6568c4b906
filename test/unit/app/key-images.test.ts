/** How the service learns the key images of its coins, and which blocks it searches for their spends. */
import { describe, expect, it } from 'vitest';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { learnKeyImages } from '../../../daemon/app/spends/key-images.ts';
import type { ScriptList } from '../../../daemon/chains/adapter.ts';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { Scanner } from '../../../daemon/chains/xmr/scan.ts';
import { Search } from '../../../daemon/chains/xmr/search.ts';
import type { BlockStream, StreamBlock } from '../../../daemon/chains/xmr/stream.ts';
import type { ImagesRequest, Signer } from '../../../daemon/wallet/signer/port.ts';
import { Bench, HOUR } from './bench.ts';

/** A signer that knows the coins that `knows` accepts, and notes what it was asked for. */
async function learning(knows: (outpoint: string) => boolean, imageOf = (outpoint: string) => `image of ${outpoint}`) {
  const asked: string[][] = [];
  const signer = {
    status: async () => ({ state: 'unlocked' }),
    keyImages: async ({ outputs }: ImagesRequest) => {
      asked.push(outputs.map(({ outpoint }) => outpoint));
      return Object.fromEntries(outputs.flatMap(({ outpoint: o }) => (knows(o) ? [[o, imageOf(o)]] : [])));
    },
  } as unknown as Signer;
  const bench = await Bench.open('XMR', {}, { signer });
  Object.assign(bench.chain.adapter, {
    keyImages: true,
    spending: { feeAsset: 'XMR', transaction: async () => '00', sendable: (_: string, units: bigint) => units },
  });
  const paid = await bench.invoice();
  return { bench, asked, coin: (n: number) => bench.credit(paid.targetId, 5n, 0, { n }) };
}

/** Blocks in pages of so many, whose only transactions have these key images. */
function blocksOf(perPage: number, images: (height: number, node: MoneroNode) => string[]): Pick<BlockStream, 'read'> {
  return {
    async *read(node, from, to) {
      for (let at = from; at <= to; at += perPage) {
        const heights = Array.from({ length: Math.min(perPage, to - at + 1) }, (_, n) => at + n);
        const headers = await (node.headers?.(heights, AbortSignal.timeout(5_000)) ??
          heights.map((height) => ({ height, hash: `${height}`, parent: '', timeMs: 1 })));
        yield headers.flatMap((header): StreamBlock[] => {
          if (!header) return [];
          const keyImages = images(header.height, node);
          const about = { version: 2 as const, isCoinbase: false, unlockTime: 0n, fee: 0n, found: [] };
          return [{ header, transactions: [{ id: `in ${header.height}`, keyImages, ...about }], receivers: [] }];
        });
      }
    },
  };
}

async function* firstOf<T>(pages: AsyncGenerator<T>): AsyncGenerator<T> {
  for await (const page of pages) {
    yield page;
    return;
  }
}

it('asks once for coins that the signer does not know, and still for those after them', async () => {
  const { bench, asked, coin } = await learning((outpoint) => outpoint.endsWith(':250'));
  await bench.tell({ blocks: 1, credits: () => Array.from({ length: 251 }, (_, n) => coin(n)) });
  for (let pass = 0; pass < 4; pass++) await learnKeyImages(bench.app, bench.chain);
  expect(asked.flat().toSorted()).toEqual([...new Set(asked.flat())].toSorted());
  expect(asked.flat()).toContain(coin(250).id);
  expect(asked).toHaveLength(2);
});

it('does not ask again for a coin with the key image of another one', async () => {
  const { bench, asked, coin } = await learning(
    () => true,
    () => 'the same',
  );
  await bench.tell({ blocks: 1, credits: () => [coin(0), coin(1)] });
  for (let pass = 0; pass < 2; pass++) await learnKeyImages(bench.app, bench.chain);
  expect(asked).toEqual([[coin(0).id, coin(1).id]]);
});

it('gives a key image to the coin that counts now, once the other one with that key does not', async () => {
  const { bench, asked, coin } = await learning(
    () => true,
    () => 'the same',
  );
  const pass = () => learnKeyImages(bench.app, bench.chain);
  const list = watchList(bench.app.store, bench.chain.key);
  await bench.tell({ blocks: 1, credits: () => [coin(0)] });
  await pass();
  expect(list.coinOfKeyImage?.('the same')).toBe(coin(0).id);
  await bench.tell({ blocks: 1, credits: () => [{ ...coin(0), locked: true }, coin(1)] });
  await pass();
  await pass();
  expect(list.coinOfKeyImage?.('the same')).toBe(coin(1).id);
  expect(asked).toEqual([[coin(0).id], [coin(1).id]]);
});

it.each<[what: string, waitsMs: number]>([
  ['is gone with its block', 0],
  ['was deleted since', 48 * HOUR],
])('gives a key image to the coin that counts now, once the other one with that key %s', async (_, waitsMs) => {
  const { bench, coin } = await learning(
    () => true,
    () => 'the same',
  );
  const pass = () => learnKeyImages(bench.app, bench.chain);
  const list = watchList(bench.app.store, bench.chain.key);
  await bench.tell({ blocks: 1, credits: () => [coin(0)] });
  await pass();
  expect(list.coinOfKeyImage?.('the same')).toBe(coin(0).id);
  await bench.tell({ orphan: 1, blocks: 2 });
  bench.advance(waitsMs);
  await bench.tell({ blocks: 1 });
  await bench.tell({ blocks: 1, credits: () => [coin(1)] });
  await pass();
  expect(list.coinOfKeyImage?.('the same')).toBe(coin(1).id);
});

it('searches every block since the coin came, each again until its spends are stored', async () => {
  const { bench, coin } = await learning(() => true);
  await bench.tell({ blocks: 1, credits: () => [coin(0)] });
  const list = watchList(bench.app.store, bench.chain.key);
  const from = bench.tip.height;
  await bench.tell({ blocks: 250 });
  await learnKeyImages(bench.app, bench.chain);
  /** A hundred blocks at a time, with a spend of the coin in one. */
  const blocks = blocksOf(100, (height) => (height === from + 120 ? [`image of ${coin(0).id}`] : []));
  const alone = { operators: 1, other: async () => undefined };
  const search = new Search(
    new Scanner('mainnet', list, () => []),
    alone,
    // a step ends with its first page
    { read: (...args) => firstOf(blocks.read(...args)) },
    () => {},
  );
  const node = {} as MoneroNode;
  const step = async (isStored: boolean) => {
    const wanted = list.unsearched?.();
    if (!wanted) return null;
    const found = await search.step(node, { ...wanted, tip: bench.tip.height }, AbortSignal.timeout(5_000));
    if (!found) return null;
    const { spends, searched } = found;
    if (isStored) await bench.tell({ spends: () => spends, searched });
    return { from: wanted.from - from, to: searched.to - from, spends: spends.length };
  };
  expect(await step(true)).toEqual({ from: 0, to: 99, spends: 0 });
  expect(await step(false)).toEqual({ from: 100, to: 199, spends: 1 });
  expect(await step(true)).toEqual({ from: 100, to: 199, spends: 1 });
  // learned while the last step is read, it is searched on its own
  const late = list.unsearched?.();
  await bench.tell({ blocks: 1, credits: () => [coin(1)] });
  await learnKeyImages(bench.app, bench.chain);
  const last = { to: bench.tip.height, newest: late?.newest ?? 0, isWhole: true };
  await bench.tell({ searched: last });
  expect(list.unsearched?.()).toMatchObject({ from: bench.tip.height });
  expect(await step(true)).toMatchObject({ from: 251, to: 251 });
  expect(await step(true)).toBeNull();
});

describe('one node that lies in a search for spends', () => {
  const IMAGE = 'an image of ours';
  const list = { coinOfKeyImage: (image: string) => (image === IMAGE ? 'a coin' : undefined) } as unknown as ScriptList;
  /** A node with a block for each height; block 7 spends our coin. `fork`: from there on it has other blocks. */
  const nodeOf = (fork = Number.POSITIVE_INFINITY, tip = 20) =>
    ({
      name: 'a node',
      fork,
      headers: async (heights: number[]) =>
        heights.map((height) =>
          height > tip
            ? null
            : { height, hash: height < fork ? `${height}` : `other ${height}`, parent: '', timeMs: 1 },
        ),
    }) as unknown as MoneroNode & { fork: number };
  const blocks = blocksOf(8, (height, node) => (height === 7 && (node as { fork?: number }).fork! > 7 ? [IMAGE] : []));
  const wanted = { from: 0, newest: 1, tip: 20 };
  const signal = AbortSignal.timeout(5_000);
  /** A search over these nodes, and its alerts. */
  const searching = (others: readonly (MoneroNode | null)[]) => {
    const alerts: string[] = [];
    const nodes = {
      operators: 1 + others.length,
      other: async <T>(_: MoneroNode, use: (node: MoneroNode) => Promise<T>): Promise<T | undefined> => {
        let said: T | undefined;
        for (const node of others) if (node) said = await use(node);
        return said;
      },
    };
    const scanner = new Scanner('mainnet', list, () => []);
    const alert = (_: string, message: string) => alerts.push(message);
    return { search: new Search(scanner, nodes, blocks, alert), alerts };
  };

  it('hides no spend by blocks of its own, and is asked again later', async () => {
    const { search, alerts } = searching([nodeOf()]);
    expect(await search.step(nodeOf(5), wanted, signal)).toBeNull();
    expect(alerts).toEqual(['it has other blocks than another node, up to height 20']);
    expect(search.isDue()).toBe(false);
    expect((await search.step(nodeOf(), wanted, signal))?.spends).toMatchObject([{ outpoint: 'a coin', txid: 'in 7' }]);
  });

  it('is not blamed while the other node lacks its newest block', async () => {
    const { search, alerts } = searching([nodeOf(undefined, 19)]);
    expect(await search.step(nodeOf(), wanted, signal)).toBeNull();
    expect(alerts).toEqual([]);
  });

  it('is not believed alone while the other node is down, without an alert', async () => {
    const { search, alerts } = searching([null]);
    expect(await search.step(nodeOf(), wanted, signal)).toBeNull();
    expect(alerts).toEqual([]);
  });
});
