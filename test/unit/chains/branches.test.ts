/** How far Monero's nodes, or endpoints of an account chain, lead onto a branch that those of other operators do not have. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LinkedHeader } from '../../../daemon/chains/checkpoint.ts';
import { MoneroAdapter } from '../../../daemon/chains/xmr/adapter.ts';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { TooLarge } from '../../../daemon/chains/xmr/rpc.ts';
import { ChainAlert, Unavailable } from '../../../daemon/domain/errors.ts';
import { FactBook } from '../../adapters/fact-book.ts';
import { transactionOf } from '../../support/monero-outputs.ts';

const FORK = 1_000;
const signal = AbortSignal.timeout(20_000);

/** A node whose blocks above the fork are of a branch. */
class Node {
  readonly name: string;
  branch = 'right';
  height = FORK;
  isSilent = false;

  constructor(name: string) {
    this.name = name;
  }

  async identify(): Promise<void> {
    if (this.isSilent) throw new Unavailable(`${this.name} is silent`, 1);
  }

  async head(): Promise<LinkedHeader> {
    return this.#at(this.height);
  }

  async headers(heights: readonly number[]): Promise<(LinkedHeader | null)[]> {
    return heights.map((height) => (height > this.height ? null : this.#at(height)));
  }

  #at(height: number): LinkedHeader {
    return { height, hash: this.#hash(height), parent: this.#hash(height - 1), timeMs: Date.now() };
  }

  #hash(height: number): string {
    return `${height > FORK ? this.branch : 'shared'} ${height}`;
  }
}

/** Monero's adapter over such nodes, by name. Their blocks are empty. */
function adapterOf(nodes: readonly Node[]): MoneroAdapter {
  const of = ({ name }: MoneroNode): Node => nodes.find((one) => name.includes(one.name))!;
  const spied = MoneroNode.prototype;
  vi.spyOn(spied, 'identify').mockImplementation(function (this: MoneroNode) {
    return of(this).identify();
  });
  vi.spyOn(spied, 'head').mockImplementation(function (this: MoneroNode) {
    return of(this).head();
  });
  vi.spyOn(spied, 'headers').mockImplementation(function (this: MoneroNode, heights) {
    return of(this).headers(heights);
  });
  // each block is then asked for alone, as JSON
  vi.spyOn(spied, 'blocks').mockRejectedValue(new TooLarge('too large', 1));
  vi.spyOn(spied, 'outputCounts').mockRejectedValue(new Unavailable('not told', 1));
  vi.spyOn(spied, 'block').mockImplementation(async ({ height, hash, parent, timeMs }) => ({
    version: 16,
    height,
    hash,
    previous: parent,
    timeMs,
    txids: [],
    coinbase: transactionOf('c', [], { isCoinbase: true }),
  }));
  vi.spyOn(spied, 'transactions').mockResolvedValue(new Map());
  vi.spyOn(spied, 'pool').mockResolvedValue([]);
  return new MoneroAdapter({
    network: 'regtest',
    urls: nodes.map(({ name }) => `http://${name}:18081`),
    list: new FactBook(),
    accounts: () => [],
    needsAgreement: () => true,
    alert: () => {},
    onOdd: () => {},
    pollMs: 60_000,
    blocksPerStep: 20,
  });
}

describe('a branch of the asked node', () => {
  let adapter: MoneroAdapter;
  let book: FactBook;
  let nodes: Node[];
  const begin = async (...names: string[]): Promise<Node[]> => {
    nodes = names.map((name) => new Node(name));
    adapter = adapterOf(nodes);
    book = new FactBook();
    book.checkpoint = await adapter.begin(null, signal);
    return nodes;
  };
  const grow = (blocks: number): void => {
    for (const node of nodes) node.height += blocks;
  };
  /** Follows a chain that grows, until nothing more is read. Returns the error that ended it, or null. */
  const follow = async (blocks: number): Promise<unknown> => {
    for (let at = 0; at < blocks; at += 10) {
      grow(10);
      const error = await book.catchUp(adapter, signal).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      if (error) return error;
    }
    return null;
  };
  afterEach(async () => {
    await adapter.close();
    vi.restoreAllMocks();
  });

  it('is not followed so far that there is no way back, where one operator shares it and another denies it', async () => {
    const [one, two] = await begin('one.example', 'two.example');
    one!.branch = 'wrong';
    const error = await follow(400);
    expect(error).toBeInstanceOf(ChainAlert);
    expect(String(error)).toMatch(/one\.example:18081 and two\.example:18081 have different blocks \d+/);
    expect(book.tip.height - FORK).toBeLessThan(100);
    // neither is believed, and neither is blamed
    grow(300);
    await expect(book.catchUp(adapter, signal)).rejects.toThrow(ChainAlert);
    expect(adapter.servers().map(({ failures, state }) => [failures, state])).toEqual([
      [0, 'ready'],
      [0, 'idle'],
    ]);
    one!.branch = 'right';
    await book.catchUp(adapter, signal);
    expect(book.tip).toEqual({ height: two!.height, hash: `right ${two!.height}` });
  });

  it('is not followed further after each start', async () => {
    const [one, two] = await begin('one.example', 'two.example');
    one!.branch = 'wrong';
    await follow(40);
    for (let start = 0; start < 5; start++) {
      await adapter.close();
      adapter = adapterOf(nodes);
      await follow(40);
    }
    expect(book.tip.height - FORK).toBeLessThan(100);
    one!.branch = 'right';
    await book.catchUp(adapter, signal);
    expect(book.tip.hash).toBe(`right ${two!.height}`);
  });

  it('is left for that of two others', async () => {
    const [one] = await begin('one.example', 'two.example', 'three.example');
    one!.branch = 'wrong';
    expect(await follow(400)).toBeNull();
    expect(book.tip.hash).toMatch(/^right/);
    expect(adapter.servers()[0]).toMatchObject({ state: 'waiting', error: expect.stringMatching(/than all other/) });
  });

  it('is followed while no other operator answers', async () => {
    const [, two] = await begin('one.example', 'two.example');
    two!.isSilent = true;
    expect(await follow(400)).toBeNull();
    expect(book.tip.height).toBe(FORK + 400);
  });
});
