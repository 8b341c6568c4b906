/** Blocks of Monero in its binary form: whole ones of the main network, what a hostile node may send, and reading ahead. */
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { atOnce } from '../../../daemon/chains/slices.ts';
import { readSection, writeNumbers } from '../../../daemon/chains/xmr/epee.ts';
import type { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { readBlocks } from '../../../daemon/chains/xmr/read.ts';
import { Reading } from '../../../daemon/chains/xmr/reading.ts';
import { Receiver } from '../../../daemon/chains/xmr/receive.ts';
import { TooLarge } from '../../../daemon/chains/xmr/rpc.ts';
import { BlockStream, type StreamBlock } from '../../../daemon/chains/xmr/stream.ts';
import { ViewKey } from '../../../daemon/chains/xmr/view-key.ts';
import { Malformed, Unavailable } from '../../../daemon/domain/errors.ts';
import { subaddress } from '../../../daemon/monero/address.ts';
import { parseBlock } from '../../../daemon/monero/block.ts';
import { sharedSecret } from '../../../daemon/monero/curve.ts';
import { readKept } from '../../../daemon/monero/kept.ts';
import { parseTransaction } from '../../../daemon/monero/transaction.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { answerOf, blockOf, epee, paymentTo } from '../../support/monero-blocks.ts';
import mainnet from './monero-mainnet.json' with { type: 'json' };

const { Point } = ed25519;
const account = accountKey(Buffer.alloc(64, 7), 'XMR', 'regtest', 0);
const receiver = new Receiver(account);
const { script } = subaddress(account, 0, 7, 'regtest');
const signal = () => AbortSignal.timeout(20_000);
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('the secret of a public key', () => {
  const torsion = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a');
  const point = fc.bigInt({ min: 1n, max: 2n ** 252n }).map((scalar) => Point.BASE.multiply(scalar));
  const key = fc.oneof(
    point.map((one) => one.toBytes()),
    fc
      .tuple(point, fc.integer({ min: 1, max: 7 }))
      .map(([one, n]) => one.add(torsion.multiplyUnsafe(BigInt(n))).toBytes()),
    fc.integer({ min: 0, max: 7 }).map((n) => torsion.multiplyUnsafe(BigInt(n)).toBytes()),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.constantFrom(0, 1, 0xec, 0xed, 0xee, 0xff).map((low) => Uint8Array.of(low, ...new Array(30).fill(255), 127)),
  );
  // X25519 knows no multiple of some that are close to 0 or to the order, of which no key at random ever is one
  const views = fc.bigInt({ min: 2n ** 129n, max: 2n ** 252n - 2n ** 129n });

  it('is found exactly and is one of the possible ones, whatever key and view key are', () => {
    fc.assert(
      fc.property(views, fc.array(key, { maxLength: 5 }), (scalar, keys) => {
        const view = new ViewKey(hexOf(Point.Fn.toBytes(scalar)));
        const shared = atOnce(view.shared(keys));
        expect(shared.map((one) => one.key)).toEqual(keys);
        for (const one of shared) {
          const exact = sharedSecret(one.key, scalar);
          expect(view.exact(one)).toEqual(exact);
          expect(one.possible).not.toBeNull();
          if (exact) expect(one.possible?.map(hexOf)).toContain(hexOf(exact));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is computed exactly for view keys of which X25519 knows no multiple', () => {
    const view = new ViewKey(hexOf(Point.Fn.toBytes(5n)));
    const shared = atOnce(view.shared([Point.BASE.toBytes()]));
    expect(shared).toMatchObject([{ possible: null }]);
    expect(shared.map((one) => view.exact(one))).toEqual([Point.BASE.multiply(40n).toBytes()]);
  });

  it('is told from its negative where the sum with the base is no point that X25519 takes', () => {
    const view = new ViewKey(hexOf(Point.Fn.toBytes(2n ** 251n + 1n)));
    const keys = [Point.BASE.negate(), Point.BASE.negate().add(torsion), Point.BASE];
    for (const one of atOnce(view.shared(keys.map((key) => key.toBytes())))) {
      expect(view.exact(one)).toEqual(sharedSecret(one.key, 2n ** 251n + 1n));
    }
  });
});

describe('the view key of an address', () => {
  it('is the view key times its spend key, whatever both are', () => {
    const scalar = fc.bigInt({ min: 1n, max: Point.Fn.ORDER - 1n });
    fc.assert(
      fc.property(scalar, scalar, (own, spend) => {
        const spendKey = Point.BASE.multiply(spend);
        const view = new ViewKey(hexOf(Point.Fn.toBytes(own)));
        expect(view.addressKey(spendKey.toBytes())).toEqual(spendKey.multiply(own).toBytes());
      }),
      { numRuns: 60 },
    );
  });
});

describe("Monero's binary form", () => {
  it('is read as it was written', () => {
    const read = readSection(epee({ one: 1, list: ['a', 'b'], inner: { is: true }, none: [] }));
    expect(read.get('one')).toBe(1n);
    expect((read.get('list') as Uint8Array[]).map((one) => Buffer.from(one).toString())).toEqual(['a', 'b']);
    expect((read.get('inner') as Map<string, unknown>).get('is')).toBe(true);
    expect(readSection(writeNumbers('heights', [7, 70_000])).get('heights')).toEqual([7n, 70_000n]);
  });

  const head = epee({}).subarray(0, 9);
  const raw = (...bytes: number[]): Buffer => Buffer.concat([head, Uint8Array.from(bytes)]);
  it.each<[what: string, bytes: Buffer, why: RegExp]>([
    ['another head', Buffer.alloc(10), /no portable storage/],
    ['nothing', Buffer.alloc(0), /end too early/],
    [
      'sections in sections without an end',
      raw(...new Array(10_000).fill([4, 1, 97, 12]).flat(), 0),
      /nested too deeply/,
    ],
    ['a list of 2^61 values', raw(4, 1, 97, 0x85, ...new Array(8).fill(0xff)), /more than 50000 values/],
    [
      'a million empty sections',
      Buffer.concat([raw(4, 1, 97, 0x8c, 2, 0x24, 0xf4, 0), Buffer.alloc(1_000_000)]),
      /more than 50000/,
    ],
    ['text of 2^61 bytes', raw(4, 1, 97, 10, ...new Array(8).fill(0xff)), /end too early/],
    ['more values than it says', Buffer.concat([epee({ a: 1 }), Buffer.alloc(1)]), /bytes after an answer/],
    ['two values of one name', raw(8, 1, 97, 8, 1, 1, 97, 8, 1), /without a name of its own/],
    ['a value without a name', raw(4, 0, 8, 1), /without a name of its own/],
    ['a type that nobody knows', raw(4, 1, 97, 14, 1), /a value of type 14/],
    ['a list of lists', raw(4, 1, 97, 0x8d, 4, 0x88, 4, 1), /a value of type 13/],
    ['a truth of another kind', raw(4, 1, 97, 11, 2), /neither true nor false/],
  ])('is refused with %s', (_, bytes, why) => {
    expect(() => readSection(bytes)).toThrow(why);
    expect(() => readSection(bytes)).toThrow(Malformed);
  });

  it('is a value or a clear error, whatever was changed or is missing', () => {
    const whole = answerOf([blockOf(9, 'ab'.repeat(32), [paymentTo(script, 5n, 77n)])]);
    const change = fc.record({
      at: fc.nat(whole.length - 1),
      by: fc.integer({ min: 1, max: 255 }),
      end: fc.nat(whole.length),
    });
    fc.assert(
      fc.property(change, ({ at, by, end }) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] as number) ^ by;
        for (const one of [bytes, whole.subarray(0, end)]) {
          try {
            atOnce(readBlocks(one, 9, 1, [receiver]));
          } catch (error) {
            expect(error).toBeInstanceOf(Malformed);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('whole blocks', () => {
  it.each(Object.values(mainnet.blocks))(
    'of the main network prove their transactions, version 1 among them',
    (blob) => {
      const { height, txids, hash } = parseBlock(Buffer.from(blob, 'hex'));
      const known: Record<string, string> = mainnet.transactions;
      const txs = txids.map((id) => Buffer.from(known[id] ?? '', 'hex'));
      const bytes = epee({ blocks: [{ block: Buffer.from(blob, 'hex'), txs }], status: 'OK' });
      if (txids.length > 0 && txids.every((id) => known[id] !== undefined)) {
        const { blocks } = atOnce(readBlocks(bytes, height, 1, [receiver]));
        expect(blocks[0]?.header.hash).toBe(hash);
        const others = blocks[0]?.transactions?.filter(({ isCoinbase }) => !isCoinbase);
        expect(others?.map(({ id }) => id)).toEqual(txids);
      } else if (txids.length === 0) {
        expect(atOnce(readBlocks(bytes, height, 1, [])).blocks).toMatchObject([{ header: { hash, height } }]);
      }
      expect(() => atOnce(readBlocks(bytes, height + 1, 1, []))).toThrow('another block than was asked for');
      expect(() => atOnce(readBlocks(bytes, height, 2, []))).toThrow('another number of blocks');
      const having = (sent: Buffer[]) =>
        atOnce(
          readBlocks(epee({ blocks: [{ block: Buffer.from(blob, 'hex'), txs: sent }], status: 'OK' }), height, 1, []),
        );
      expect(() => having([...txs, Buffer.alloc(1)])).toThrow('more transactions than it has');
      if (txs.length > 0) expect(having(txs.slice(1)).blocks).toMatchObject([{ header: { hash }, transactions: null }]);
    },
  );

  it('have a time that a calendar has: the books could not store another', () => {
    const block = blockOf(9, 'ab'.repeat(32), []);
    const at = (seconds: bigint) => {
      const bytes = Buffer.concat([block.block.subarray(0, 2), varint(seconds), block.block.subarray(7)]);
      return atOnce(readBlocks(answerOf([{ block: bytes, txs: [] }]), 9, 1, []));
    };
    expect(at(10n ** 11n).blocks).toMatchObject([{ header: { height: 9, timeMs: 1e14 } }]);
    for (const seconds of [10n ** 11n + 1n, 2n ** 53n, 2n ** 64n - 1n]) {
      expect(() => at(seconds)).toThrow(`the endpoint sent a block time of ${seconds}`);
    }
  });

  it('have transactions of version 1 whole, whose id is the hash of all their bytes', () => {
    const olds = Object.values(mainnet.transactions).filter((hex) => hex.startsWith('01'));
    const all = olds.map((hex) => Buffer.from(hex, 'hex'));
    const { blocks } = atOnce(readBlocks(answerOf([blockOf(9, 'ab'.repeat(32), all)]), 9, 1, [receiver]));
    expect(olds.length).toBeGreaterThan(0);
    expect(blocks[0]?.transactions?.map(({ id }) => id)).toEqual(all.map((one) => parseTransaction(one).id));
    const spoilt = Buffer.from(all[0]!);
    spoilt[spoilt.length - 1]! ^= 1;
    const block = { ...blockOf(9, 'ab'.repeat(32), all), txs: [spoilt, ...all.slice(1)] };
    expect(() => atOnce(readBlocks(answerOf([block]), 9, 1, []))).toThrow('another transaction than was asked for');
  });

  it('are read the same in a thread, whose errors are those of the endpoint', async () => {
    const reading = new Reading(true);
    const chain = chainOf(40, (height) =>
      height % 7 === 0 ? [paymentTo(script, BigInt(height + 1), BigInt(height) + 99n)] : [],
    );
    const bytes = answerOf(chain);
    const here = await new Reading(false).read(Buffer.from(bytes), 0, 40, [receiver]);
    const there = await reading.read(Buffer.from(bytes), 0, 40, [receiver]);
    expect(there).toEqual(here);
    // of the others, whose coinbase is not ours, nothing is copied from thread to thread
    expect(there.blocks.filter(({ transactions }) => transactions?.length === 0)).toHaveLength(34);
    expect(there.blocks.flatMap(({ transactions }) => transactions?.flatMap(({ found }) => found) ?? [])).toHaveLength(
      6,
    );
    await expect(reading.read(bytes.subarray(0, -1), 0, 40, [receiver])).rejects.toThrow(Malformed);
    await expect(reading.read(bytes.subarray(0, -1), 0, 40, [receiver])).rejects.toThrow(
      'the endpoint sent bytes that end',
    );
    // more at one time than there are threads
    const all = Array.from({ length: 5 }, () => reading.read(Buffer.from(bytes), 0, 40, [receiver]));
    expect(await Promise.all(all)).toEqual(all.map(() => here));
    const last = Array.from({ length: 3 }, () => reading.read(Buffer.from(bytes), 0, 40, [receiver]));
    const ended = last.map((one) => expect(one).rejects.toThrow('the thread that reads blocks ended'));
    await reading.stop();
    await Promise.all(ended);
    expect(await reading.read(Buffer.from(bytes), 0, 40, [receiver])).toEqual(here);
    await reading.stop();
  });
});

type Block = ReturnType<typeof blockOf>;

function chainOf(count: number, txs: (height: number) => Buffer[] = () => [], fork = count): Block[] {
  const blocks: Block[] = [];
  for (let height = 0; height < count; height++) {
    const previous = blocks.at(-1)?.hash ?? '00'.repeat(32);
    blocks.push(blockOf(height, previous, txs(height), height < fork ? 0 : 1));
  }
  return blocks;
}

/** A node with these blocks. */
class Chain {
  blocks: Block[];
  readonly asked: [from: number, count: number][] = [];
  bytesMax = Number.POSITIVE_INFINITY;
  /** Added to every number of outputs before. */
  moved = 0;

  constructor(blocks: Block[]) {
    this.blocks = blocks;
  }

  readonly node = {
    name: 'a node',
    wayMs: 0,
    blocks: async (from: number, count: number) => {
      this.asked.push([from, count]);
      const bytes = answerOf(this.blocks.slice(from, from + count));
      if (bytes.length > this.bytesMax) throw new TooLarge('too large', 5);
      return from + count > this.blocks.length ? epee({ status: 'Error retrieving block' }) : bytes;
    },
    outputCounts: async (from: number, to: number) => ({
      base: this.blocks.slice(0, from).reduce((sum, { outputs }) => sum + outputs, 0) + this.moved,
      counts: this.blocks.slice(from, to + 1).map(({ outputs }) => outputs),
    }),
    headers: async ([height = 0]: number[]) => {
      const block = this.blocks[height];
      return [block ? { height, hash: block.hash, parent: block.previous, timeMs: block.timeMs } : null];
    },
    block: async ({ height }: { height: number }) => parseBlock(this.blocks[height]!.block),
    transactions: async (txids: string[]) =>
      new Map(
        this.blocks
          .flatMap(({ txs }) => txs)
          .map((raw) => parseTransaction(raw))
          .filter(({ id }) => txids.includes(id))
          .map((transaction) => [transaction.id, { transaction, height: 1, kept: null }]),
      ),
  } as unknown as MoneroNode;
}

describe('a stream of blocks', () => {
  const streams: BlockStream[] = [];
  afterEach(() => {
    vi.useRealTimers();
    for (const stream of streams.splice(0)) stream.drop();
  });
  let receivers: Receiver[] = [receiver];
  function streamOf(blocksMax?: number): BlockStream {
    receivers = [receiver];
    const options = { receivers: () => receivers, reading: new Reading(false), onOdd: () => {} };
    const stream = new BlockStream({ ...options, ...(blocksMax !== undefined && { blocksMax }) });
    streams.push(stream);
    return stream;
  }
  async function heightsOf(stream: BlockStream, { node }: Chain, from: number, to: number, pages = 1_000) {
    const heights: number[] = [];
    for await (const page of stream.read(node, from, to, null, signal())) {
      heights.push(...page.map(({ header }) => header.height));
      if (--pages === 0) break;
    }
    return heights;
  }
  const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

  it('has each block once, in order, from any height to any other', async () => {
    const chain = new Chain(chainOf(90));
    await fc.assert(
      fc.asyncProperty(fc.nat(89), fc.nat(89), fc.integer({ min: 1, max: 30 }), async (from, to, max) => {
        expect(await heightsOf(streamOf(max), chain, from, to)).toEqual(upTo(from, to));
      }),
      { numRuns: 20 },
    );
  });

  it('says why a node refuses its blocks', async () => {
    const chain = new Chain(chainOf(9));
    chain.node.blocks = async () => epee({ status: 'BUSY' });
    await expect(heightsOf(streamOf(), chain, 4, 8)).rejects.toThrow('a node refuses the blocks from 4 on: BUSY');
  });

  it('asks for the next blocks before the last ones are used, and keeps them for the next step', async () => {
    const chain = new Chain(chainOf(90));
    const stream = streamOf(10);
    expect(await heightsOf(stream, chain, 0, 89, 1)).toEqual(upTo(0, 9));
    const asked = chain.asked.length;
    expect(asked).toBeGreaterThan(2);
    expect(await heightsOf(stream, chain, 10, 89)).toEqual(upTo(10, 89));
    // nothing was asked for twice
    expect(chain.asked.reduce((sum, [, count]) => sum + count, 0)).toBe(90);
    expect(chain.asked.map(([from]) => from)).toEqual(chain.asked.map(([from]) => from).toSorted((a, b) => a - b));
  });

  it('asks for more at a time after the first answers, and for less only after a slow one', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const chain = new Chain(chainOf(1_500));
    const stream = streamOf();
    receivers = [];
    expect(await heightsOf(stream, chain, 0, 1_498)).toEqual(upTo(0, 1_498));
    const counts = chain.asked.map(([, count]) => count);
    expect(counts.slice(0, 5)).toEqual([16, 16, 16, 16, 500]);
    expect(Math.max(...counts)).toBe(500);
    // the last block alone, as one that was just found
    await heightsOf(stream, chain, 1_499, 1_499);
    const from = chain.asked.length;
    await heightsOf(stream, chain, 0, 1_499, 1);
    expect(chain.asked[from]).toEqual([0, 500]);
    const slow = { ...chain.node } as unknown as MoneroNode;
    slow.blocks = (...asked) => {
      vi.advanceTimersByTime(10_000);
      return chain.node.blocks(...asked);
    };
    await stream.read(slow, 0, 499, null, signal()).next();
    const after = chain.asked.length;
    await heightsOf(stream, chain, 0, 499, 1);
    expect(chain.asked[after]).toEqual([0, 100]);
  });

  it('has no more than four requests for blocks under way or answered before they are used', async () => {
    const chain = new Chain(chainOf(90));
    const stream = streamOf(10);
    const { blocks } = chain.node;
    const [all, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(chain.node, {
      blocks: async (from: number, count: number) => {
        const answer = blocks(from, count, signal());
        if (chain.asked.length === 4) asked.resolve();
        await all.promise;
        return answer;
      },
    });
    const pages = stream.read(chain.node, 0, 89, null, signal());
    const first = pages.next();
    await asked.promise;
    expect(chain.asked.map(([from]) => from)).toEqual([0, 10, 20, 30]);
    all.resolve();
    const page: StreamBlock[] = (await first).value ?? [];
    expect(page.map(({ header }) => header.height)).toEqual(upTo(0, 9));
    expect(chain.asked.map(([from]) => from)).toEqual([0, 10, 20, 30, 40]);
  });

  it('asks for the next blocks as soon as small answers came, and for no more than four answers hold', async () => {
    const chain = new Chain(chainOf(3_000));
    const stream = streamOf();
    receivers = [];
    const { blocks } = chain.node;
    const [first, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    Object.assign(chain.node, {
      blocks: async (from: number, count: number) => {
        const answer = await blocks(from, count, signal());
        if (from + count >= 1_564) asked.resolve();
        if (from === 0) await first.promise;
        return answer;
      },
    });
    const page = stream.read(chain.node, 0, 2_999, null, signal()).next();
    await asked.promise;
    // further turns would show further requests
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    const counts = [16, 16, 16, 16, 500, 500, 500];
    expect(chain.asked).toEqual(counts.map((count, at) => [counts.slice(0, at).reduce((a, b) => a + b, 0), count]));
    first.resolve();
    expect((await page).value?.map(({ header }: StreamBlock) => header.height)).toEqual(upTo(0, 15));
  });

  it('asks a far node for as much as a near one: its way is gone once for each request', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const chain = new Chain(chainOf(700));
    const asked: number[][] = [];
    for (const wayMs of [1_200, 0]) {
      const far = { ...chain.node, wayMs } as unknown as MoneroNode;
      far.blocks = (...request) => {
        if (request[0] === 0) vi.advanceTimersByTime(1_250);
        return chain.node.blocks(...request);
      };
      const stream = streamOf();
      receivers = [];
      chain.asked.length = 0;
      await stream.read(far, 0, 699, null, signal()).next();
      asked.push(chain.asked.map(([, count]) => count).slice(0, 5));
    }
    // 16 blocks in 1,250 ms are 25 in the 2,000 ms that are aimed at
    expect(asked).toEqual([
      [16, 16, 16, 16, 500],
      [16, 16, 16, 16, 25],
    ]);
  });

  it('gives each block once, in order, whatever fails among the requests under way', async () => {
    const chain = new Chain(chainOf(200));
    const { blocks } = chain.node;
    const faults = {
      'it is busy': (): never => {
        throw new Unavailable('it is busy', 1);
      },
      'another number of blocks': (from: number, count: number) => answerOf(chain.blocks.slice(from, from + count - 1)),
      'a node refuses the blocks': () => epee({ status: 'Error retrieving block' }),
      'another block than was asked for': (from: number, count: number) =>
        answerOf(chain.blocks.slice(from + 1, from + 1 + count)),
      'bytes that end': (from: number, count: number) =>
        answerOf(chain.blocks.slice(from, from + count)).subarray(0, -1),
    };
    for (const [told, fault] of Object.entries(faults)) {
      for (const failing of [0, 20, 70]) {
        const stream = streamOf(10);
        const heights: number[] = [];
        let isFailing = true;
        Object.assign(chain.node, {
          blocks: async (from: number, count: number) => {
            if (from === failing && isFailing) return fault(from, count);
            return blocks(from, count, signal());
          },
        });
        const step = async () => {
          for await (const page of stream.read(chain.node, heights.length, 189, null, signal())) {
            heights.push(...page.map(({ header }) => header.height));
          }
        };
        await expect(step()).rejects.toThrow(told);
        expect(heights).toEqual(upTo(0, failing - 1));
        isFailing = false;
        await step();
        expect(heights).toEqual(upTo(0, 189));
      }
    }
  });

  it('asks again for what failed ahead of its use', async () => {
    const chain = new Chain(chainOf(40));
    const stream = streamOf(10);
    const { blocks } = chain.node;
    Object.assign(chain.node, {
      blocks: async () => {
        throw new Unavailable('it restarts', 1);
      },
    });
    stream.prepare(chain.node, 5, 39);
    await new Promise((resolve) => setImmediate(resolve));
    Object.assign(chain.node, { blocks });
    expect(await heightsOf(stream, chain, 5, 39)).toEqual(upTo(5, 39));
    expect(chain.asked.map(([from]) => from)).toEqual([5, 15, 25, 35]);
  });

  it('asks for nothing more once it was dropped, although answers still come', async () => {
    const chain = new Chain(chainOf(900));
    const stream = streamOf();
    const { blocks } = chain.node;
    const [answered, signals] = [Promise.withResolvers<void>(), [] as AbortSignal[]];
    Object.assign(chain.node, {
      blocks: async (from: number, count: number, given: AbortSignal) => {
        signals.push(given);
        await answered.promise;
        return blocks(from, count, given);
      },
    });
    const wanted = new AbortController();
    const first = stream.read(chain.node, 0, 899, null, wanted.signal).next();
    wanted.abort(new Error('not wanted'));
    await expect(first).rejects.toThrow('not wanted');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]);
    answered.resolve();
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(signals).toHaveLength(4);
    // from the beginning, at the size that the answers allowed
    expect((await heightsOf(stream, chain, 0, 899)).length).toBe(900);
  });

  it('reads a block that it cannot read in one answer by its transactions, and the other blocks of the answer as they are', async () => {
    const chain = new Chain(
      chainOf(9, (height) =>
        height === 7 ? [paymentTo(script, 5n, 77n)] : height === 4 ? [paymentTo(script, 6n, 78n)] : [],
      ),
    );
    const odd = chain.blocks[4]!;
    const node = {
      ...chain.node,
      blocks: async (from: number, count: number) =>
        answerOf(
          chain.blocks
            .slice(from, from + count)
            .map((one) => (one === odd ? { ...one, txs: [Buffer.from('ff', 'hex')] } : one)),
        ),
    } as unknown as MoneroNode;
    const places: number[] = [];
    const heights: number[] = [];
    for await (const page of streamOf().read(node, 0, 8, null, signal())) {
      heights.push(...page.map(({ header }) => header.height));
      const all = page.flatMap(({ transactions }) => transactions);
      places.push(...all.flatMap(({ base }) => (base ? [readKept(base()).firstIndex] : [])));
    }
    expect(heights).toEqual(upTo(0, 8));
    // the payment in the odd block has one output, and each coinbase
    expect(places).toEqual([9]);
  });

  it('reads again what was read ahead of a reorganisation, or for other accounts', async () => {
    const chain = new Chain(chainOf(90));
    const stream = streamOf(10);
    await heightsOf(stream, chain, 0, 89, 1);
    chain.blocks = chainOf(90, undefined, 3);
    const tip = chain.blocks[9];
    const hashes: string[] = [];
    for await (const page of stream.read(chain.node, 10, 89, { height: 9, hash: tip!.hash }, signal())) {
      hashes.push(...page.map(({ header }) => header.hash));
    }
    expect(hashes).toEqual(chain.blocks.slice(10).map(({ hash }) => hash));
    await heightsOf(stream, chain, 0, 89, 1);
    const asked = chain.asked.length;
    receivers = [receiver, new Receiver(accountKey(Buffer.alloc(64, 8), 'XMR', 'regtest', 0))];
    await heightsOf(stream, chain, 10, 89, 1);
    expect(chain.asked[asked]).toEqual([10, expect.any(Number)]);
  });

  it('tells once that it was ended, also where the numbers of outputs are told before the blocks', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const answered = Promise.withResolvers<void>();
    const node = {
      outputCounts: () => Promise.reject(new DOMException('This operation was aborted', 'AbortError')),
      blocks: async () => {
        await answered.promise;
        throw new Error('no blocks');
      },
    } as unknown as MoneroNode;
    try {
      const first = streamOf().read(node, 0, 9, null, signal()).next();
      // rejections that nobody handles are told when a turn of the event loop ends
      await new Promise((resolve) => setImmediate(resolve));
      answered.resolve();
      await expect(first).rejects.toThrow('no blocks');
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).toEqual([]);
  });

  it('believes no block that does not follow the one before, and no chain of another below', async () => {
    const chain = new Chain(chainOf(90));
    const other = chainOf(90, undefined, 20);
    chain.blocks = [...chain.blocks.slice(0, 30), ...other.slice(30)];
    await expect(heightsOf(streamOf(7), chain, 0, 89)).rejects.toThrow('the chain changed while it was read');
    const below = { height: 4, hash: 'ee'.repeat(32) };
    await expect(streamOf().read(chain.node, 5, 9, below, signal()).next()).rejects.toThrow('the chain changed');
    await expect(heightsOf(streamOf(), chain, 80, 95)).rejects.toThrow('refuses the blocks from 80 on');
  });

  it('asks for less where an answer is too large, and for the transactions of one block by their ids', async () => {
    const chain = new Chain(
      chainOf(40, (height) => (height === 21 ? [paymentTo(script, 5n, 77n), paymentTo(script, 6n, 78n)] : [])),
    );
    const largest = Math.max(...chain.blocks.map((block) => answerOf([block]).length));
    const found: string[] = [];
    for (const bytesMax of [2 * largest, largest - 1]) {
      chain.bytesMax = bytesMax;
      const heights: number[] = [];
      for await (const page of streamOf().read(chain.node, 0, 39, null, signal())) {
        heights.push(...page.map(({ header }) => header.height));
        found.push(
          ...page.flatMap(({ transactions }) =>
            transactions.flatMap((one) => one.found.map(({ units }) => `${units}`)),
          ),
        );
      }
      expect(heights).toEqual(upTo(0, 39));
    }
    expect(found).toEqual(['5', '6', '5', '6']);
  });

  it('knows the place of our outputs by the outputs before them, which the node must count as its blocks have them', async () => {
    const chain = new Chain(
      chainOf(9, (height) => (height === 7 ? [paymentTo(script, 5n, 77n), paymentTo(script, 6n, 78n)] : [])),
    );
    const placesOf = async () => {
      const places: number[] = [];
      for await (const page of streamOf().read(chain.node, 0, 8, null, signal())) {
        for (const one of page.flatMap(({ transactions }) => transactions)) {
          if (one.base) places.push(readKept(one.base()).firstIndex);
          if (one.base) expect(readKept(one.base()).transaction.id).toBe(one.id);
        }
      }
      return places;
    };
    // eight coinbases with an output each; the first payment has one
    expect(await placesOf()).toEqual([8, 9]);
    chain.moved = 1_000;
    expect(await placesOf()).toEqual([1_008, 1_009]);
    chain.blocks[7]!.outputs++;
    await expect(placesOf()).rejects.toThrow('the chain changed while it was read');
  });

  it('asks once for the numbers of outputs of all blocks that it asks for at one time', async () => {
    const chain = new Chain(
      chainOf(9, (height) => (height >= 5 && height < 8 ? [paymentTo(script, 5n, BigInt(70 + height))] : [])),
    );
    const { outputCounts } = chain.node;
    const asked: [number, number][] = [];
    Object.assign(chain.node, {
      outputCounts: async (from: number, to: number) => {
        asked.push([from, to]);
        return outputCounts(from, to, signal());
      },
    });
    const places: number[] = [];
    for await (const page of streamOf(2).read(chain.node, 0, 8, null, signal())) {
      for (const { base } of page.flatMap(({ transactions }) => transactions)) {
        if (base) places.push(readKept(base()).firstIndex);
      }
    }
    // a coinbase has one output, and so has a payment
    expect(places).toEqual([6, 8, 10]);
    expect(asked).toEqual([
      [0, 7],
      [8, 8],
    ]);
  });

  it('ends at once when it is no longer wanted', async () => {
    const chain = new Chain(chainOf(9));
    Object.assign(chain.node, { blocks: () => new Promise(() => {}) });
    const wanted = new AbortController();
    const reading = streamOf().read(chain.node, 0, 8, null, wanted.signal).next();
    wanted.abort(new Error('not wanted'));
    await expect(reading).rejects.toThrow('not wanted');
  });
});
