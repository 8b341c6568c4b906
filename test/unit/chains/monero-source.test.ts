/**
 * What a spending of Monero reads of the chain for its rings: pages that stay, copies that nothing changes, and outputs that two
 * operators describe alike.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { Endpoints, Undecided } from '../../../daemon/chains/endpoints.ts';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { pickDecoys } from '../../../daemon/chains/xmr/spend/decoys.ts';
import { NodeSource } from '../../../daemon/chains/xmr/spend/source.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const HEIGHT = 180_000;
const PER_BLOCK = 3;
const limit = () => AbortSignal.timeout(5_000);
/** A turn of the event loop, as an answer from a network takes at least. */
const turn = () => new Promise((done) => setImmediate(done));

/** A node of a chain with as many outputs in each block. */
class Chain {
  height = HEIGHT;
  perBlock = PER_BLOCK;
  readonly asked: number[] = [];
  /** Pages that it answers before it goes away. */
  left = Number.POSITIVE_INFINITY;
  hashOf = (height: number): string => `block ${height}`;
  /** The key that it tells of an output. */
  keyOf = (index: number): string => index.toString(16).padStart(64, '0');

  readonly node = {
    name: '',
    identify: async () => {},
    close: () => {},
    head: async () => {
      await turn();
      return { height: this.height };
    },
    headers: async (heights: readonly number[]) => {
      await turn();
      return heights.map((height) => (height <= this.height ? { height, hash: this.hashOf(height) } : null));
    },
    outputCounts: async (from: number, to: number) => {
      await turn();
      if (this.left-- === 0) throw new Unavailable('the node is away', 5);
      this.asked.push(from);
      return { base: from * this.perBlock, counts: new Array<number>(to - from + 1).fill(this.perBlock) };
    },
    outputs: async (indices: readonly number[]) => {
      await turn();
      return indices.map((index) => ({
        index,
        key: this.keyOf(index),
        commitment: 'ee'.repeat(32),
        unlocked: index < (this.height - 8) * PER_BLOCK,
      }));
    },
  };
}

/** The last block that was read from the chain. */
let readTo = Number.POSITIVE_INFINITY;
const opened: Endpoints<MoneroNode>[] = [];
const told: [server: string, what: string][] = [];
afterEach(() => {
  for (const endpoints of opened.splice(0)) endpoints.close();
  told.length = 0;
  readTo = Number.POSITIVE_INFINITY;
});

/** A source over nodes of as many operators. */
function sourceOf(...chains: Chain[]): NodeSource {
  const nodes = [...chains];
  const open = (url: string): MoneroNode => {
    const node = nodes.shift()!.node;
    node.name = new URL(url).hostname;
    return node as unknown as MoneroNode;
  };
  const urls = chains.map((_, at) => `http://operator-${at}.example`);
  const endpoints = new Endpoints<MoneroNode>('monerod', urls, open, (...alert) => told.push(alert));
  opened.push(endpoints);
  return new NodeSource(endpoints, () => readTo);
}

describe('the numbers of outputs', () => {
  it('are read on from where it failed, and those of the newest blocks again', async () => {
    const chain = new Chain();
    chain.left = 2;
    let limits = 0;
    const counted = () => {
      limits++;
      return limit();
    };
    const source = sourceOf(chain);
    await expect(source.distribution(counted)).rejects.toThrow('the node is away');
    // it is asked again although it just failed, because there is no other
    const { counts } = await source.distribution(counted);
    expect(chain.asked).toEqual([0, 50_000, 100_000, 150_000]);
    // each request has a time limit of its own
    expect(limits).toBe(4 + 1 + 2);
    expect(counts.length).toBe(HEIGHT + 1);
    expect(counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
    chain.asked.length = 0;
    expect((await source.distribution(limit)).counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
    expect(chain.asked).toEqual([HEIGHT + 1 - 720]);
    const decoys = pickDecoys({ startHeight: 0, counts }, 74);
    expect(new Set(decoys).size).toBe(74);
    // ten blocks are locked
    expect(Math.max(...decoys)).toBeLessThan((HEIGHT - 8) * PER_BLOCK);
  });

  it('are read anew where a node told others before, so that its lie does not last as long as the service', async () => {
    const chain = new Chain();
    const source = sourceOf(chain);
    chain.perBlock = 1;
    expect((await source.distribution(limit)).counts.at(-1)).toBe(HEIGHT + 1);
    chain.perBlock = PER_BLOCK;
    await expect(source.distribution(limit)).rejects.toThrow('other numbers of outputs than before');
    expect((await source.distribution(limit)).counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
  });

  it('are not told by one that counts all before a page wrongly, as two others say', async () => {
    const [liar, ...honest] = [new Chain(), new Chain(), new Chain()];
    const { outputCounts } = liar.node;
    liar.node.outputCounts = async (from, to) => {
      const page = await outputCounts(from, to);
      return from === 0 ? page : { ...page, base: page.base + 7 };
    };
    const { counts } = await sourceOf(liar, ...honest).distribution(limit);
    expect([counts.length, counts.at(-1)]).toEqual([HEIGHT + 1, (HEIGHT + 1) * PER_BLOCK]);
    expect(told.map(([name]) => name)).toEqual(['operator-0.example']);
  });

  it('are asked for up to the last block that was read, whatever height a node tells', async () => {
    const [liar, honest] = [new Chain(), new Chain()];
    liar.height = 1e12;
    liar.left = 10;
    const source = sourceOf(liar, honest);
    readTo = HEIGHT;
    const { counts } = await source.distribution(limit);
    expect([counts.length, counts.at(-1)]).toEqual([HEIGHT + 1, (HEIGHT + 1) * PER_BLOCK]);
    expect(liar.asked).toEqual([0, 50_000, 100_000, 150_000]);
  });

  it('are right for plans that are made at the same time, and stay as they are when the chain changes', async () => {
    const chain = new Chain();
    const source = sourceOf(chain);
    const plans = await Promise.all([source.distribution(limit), source.distribution(limit)]);
    for (const { counts } of plans) expect([counts.length, counts.at(-1)]).toEqual([HEIGHT + 1, (HEIGHT + 1) * 3]);
    // each page once
    expect(chain.asked).toEqual([0, 50_000, 100_000, 150_000]);
    for (let round = 1; round <= 20; round++) {
      chain.height = HEIGHT + (round % 2 === 0 ? round : -round);
      const all = await Promise.all(Array.from({ length: 4 }, () => source.distribution(limit)));
      for (const { counts } of all) {
        expect([counts.length, counts.at(-1)]).toEqual([chain.height + 1, (chain.height + 1) * PER_BLOCK]);
        expect(Math.max(...pickDecoys({ startHeight: 0, counts }, 74))).toBeLessThan((chain.height - 8) * PER_BLOCK);
      }
    }
    for (const { counts } of plans) expect([counts.length, counts.at(-1)]).toEqual([HEIGHT + 1, (HEIGHT + 1) * 3]);
  });

  it('are not believed when another operator contradicts them; two others tell which one is wrong', async () => {
    const [liar, honest, third] = [new Chain(), new Chain(), new Chain()];
    liar.perBlock = 9;
    const contradiction = sourceOf(liar, honest).distribution(limit);
    await expect(contradiction).rejects.toBeInstanceOf(Undecided);
    await expect(contradiction).rejects.toThrow(/operator-0\.example and operator-1\.example do not agree on how many/);
    const { counts } = await sourceOf(liar, honest, third).distribution(limit);
    expect(counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
    expect(told).toEqual([['operator-0.example', expect.stringContaining('another answer than two others')]]);
  });

  it('are believed while the other operator is behind, is away, or has another newest block', async () => {
    const [behind, away, fresh] = [new Chain(), new Chain(), new Chain()];
    behind.height = HEIGHT - 50;
    away.left = 0;
    const asked = fresh.node.outputCounts;
    fresh.node.outputCounts = async (from, to) => {
      const page = await asked(from, to);
      return { ...page, counts: page.counts.map((count, at) => (from + at > HEIGHT - 9 ? count + 1 : count)) };
    };
    for (const other of [behind, away, fresh]) {
      const { counts } = await sourceOf(new Chain(), other).distribution(limit);
      expect(counts.at(-1)).toBe((HEIGHT + 1) * PER_BLOCK);
    }
    expect(told).toEqual([]);
  });
});

describe('an output', () => {
  const own = { at: 500, key: new Chain().keyOf(500), commitment: null };
  const indices = Array.from({ length: 75 }, (_, at) => at * 100);
  const unlockedIn = async (source: NodeSource) =>
    (await source.outputs(indices, own, limit())).filter(({ unlocked }) => unlocked).map(({ index }) => index);

  it('that two operators describe differently is no decoy', async () => {
    const [liar, honest] = [new Chain(), new Chain()];
    const right = liar.keyOf;
    liar.keyOf = (index) => (index % 300 === 0 ? 'bad'.padEnd(64, '0') : right(index));
    const same = indices.filter((index) => index % 300 !== 0);
    expect(await unlockedIn(sourceOf(liar, honest))).toEqual(same);
    expect(await unlockedIn(sourceOf(honest, liar))).toEqual(same);
    expect(told).toEqual([]);
  });

  it('is taken from the right node where most are false: two others tell which, or our own output does', async () => {
    const liar = new Chain();
    liar.keyOf = (index) => (index === own.at ? own.key : 'bad'.padEnd(64, '0'));
    await expect(unlockedIn(sourceOf(liar, new Chain()))).rejects.toThrow(/do not agree on which outputs/);
    expect(await unlockedIn(sourceOf(liar, new Chain(), new Chain()))).toEqual(indices);
    expect(told).toHaveLength(1);
    liar.keyOf = () => 'bad'.padEnd(64, '0');
    expect(await unlockedIn(sourceOf(liar, new Chain()))).toEqual(indices);
    expect(told).toHaveLength(2);
    expect(told[1]).toEqual([
      'operator-0.example',
      expect.stringContaining('another output of the chain where ours is'),
    ]);
  });

  it('of ours is not spent while another operator has another one at its place; two others tell which is wrong', async () => {
    const invented = { ...own, key: 'aa'.repeat(32) };
    const inventing = (): Chain => {
      const chain = new Chain();
      const right = chain.keyOf;
      chain.keyOf = (index) => (index === own.at ? invented.key : right(index));
      return chain;
    };
    const [liar, honest] = [sourceOf(inventing(), new Chain()), sourceOf(inventing(), new Chain(), new Chain())];
    await expect(liar.outputs(indices, invented, limit())).rejects.toBeInstanceOf(Undecided);
    expect((await honest.outputs(indices, invented, limit()))[5]).toMatchObject({ index: own.at, key: own.key });
    expect(told).toEqual([['operator-0.example', expect.stringContaining('another answer than two others')]]);
  });

  it('of ours has its commitment, too', async () => {
    const liar = new Chain();
    const right = liar.node.outputs;
    liar.node.outputs = async (wanted) => (await right(wanted)).map((one) => ({ ...one, commitment: 'dd'.repeat(32) }));
    const whole = { ...own, commitment: 'ee'.repeat(32) };
    const found = await sourceOf(liar, new Chain()).outputs(indices, whole, limit());
    expect(new Set(found.map(({ commitment }) => commitment))).toEqual(new Set(['ee'.repeat(32)]));
    expect(told).toHaveLength(1);
  });

  it('is taken from the one node that answers', async () => {
    const away = new Chain();
    away.node.outputs = () => Promise.reject(new Unavailable('it is away', 1));
    expect(await unlockedIn(sourceOf(new Chain(), away))).toEqual(indices);
    expect(await unlockedIn(sourceOf(new Chain()))).toEqual(indices);
  });
});

describe('that the place of an output of ours has another one', () => {
  const SETTLED = HEIGHT - 9;
  const BLOCK = { height: SETTLED, hash: `block ${SETTLED}` };
  /** Its number was 500. */
  const own = { at: 500, key: 'aa'.repeat(32), commitment: 'ee'.repeat(32) };
  const ring = [3, 500, 700];
  const lacks = (source: NodeSource, indices = ring) => source.lacksOwn(indices, own, limit);
  /** A node that has the output there. */
  const having = (): Chain => {
    const chain = new Chain();
    const right = chain.keyOf;
    chain.keyOf = (index) => (index === own.at ? own.key : right(index));
    return chain;
  };

  it('two operators say as of the same block; the one of a single operator is believed', async () => {
    expect(await lacks(sourceOf(new Chain()))).toEqual(BLOCK);
    expect(await lacks(sourceOf(new Chain(), new Chain()))).toEqual(BLOCK);
    // one that lies decides nothing against two others
    expect(await lacks(sourceOf(having(), new Chain(), new Chain()))).toEqual(BLOCK);
    expect(await lacks(sourceOf(new Chain(), having(), having()))).toBeNull();
  });

  it('one of two operators does not say alone: the other one contradicts it, is away, or has another block', async () => {
    expect(await lacks(sourceOf(new Chain(), having()))).toBeNull();
    const away = new Chain();
    away.node.outputs = () => Promise.reject(new Unavailable('it is away', 1));
    expect(await lacks(sourceOf(new Chain(), away))).toBeNull();
    const fork = new Chain();
    fork.hashOf = (height) => `fork ${height}`;
    expect(await lacks(sourceOf(new Chain(), fork))).toBeNull();
  });

  it('is not said of an output that is there, nor of numbers that no settled block has, nor beside a reorganisation', async () => {
    expect(await lacks(sourceOf(having()))).toBeNull();
    const last = (SETTLED + 1) * PER_BLOCK - 1;
    expect(await lacks(sourceOf(new Chain()), [3, last])).toEqual(BLOCK);
    expect(await lacks(sourceOf(new Chain()), [3, last + 1])).toBeNull();
    const changed = new Chain();
    const right = changed.node.outputs;
    changed.node.outputs = (indices) => {
      changed.hashOf = (height) => `fork ${height}`;
      return right(indices);
    };
    expect(await lacks(sourceOf(changed))).toBeNull();
  });
});
