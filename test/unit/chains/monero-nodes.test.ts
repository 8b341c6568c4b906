/** The adapter of Monero over nodes of a simulated chain, one of which may say anything. */
import type http from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { atOnce } from '../../../daemon/chains/slices.ts';
import { MoneroAdapter } from '../../../daemon/chains/xmr/adapter.ts';
import { MoneroNode } from '../../../daemon/chains/xmr/node.ts';
import { readBlocks } from '../../../daemon/chains/xmr/read.ts';
import { ChainAlert } from '../../../daemon/domain/errors.ts';
import { parseBlock } from '../../../daemon/monero/block.ts';
import { readKept } from '../../../daemon/monero/kept.ts';
import { varint } from '../../../daemon/monero/varint.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { FactBook } from '../../adapters/fact-book.ts';
import { Front } from '../../nodes/front.ts';
import { Chain, paymentOf, txOf } from '../../simulation/monero/chain.ts';
import { type Asked, answerTo, blocksOf, type Fields, heightsOf, isRefused } from '../../simulation/monero/rpc.ts';
import { epee } from '../../support/monero-blocks.ts';

const account = accountKey(Buffer.alloc(64, 7), 'XMR', 'regtest', 0);
const signal = () => AbortSignal.timeout(20_000);

/** A monerod of a chain. */
class Node extends Front {
  chain: Chain;
  readonly asked: string[] = [];
  /** Whether it has lost the signatures of all transactions, as one has of old blocks that was started with --prune-blockchain. */
  isPruned = false;
  /** Changes an answer; undefined leaves it. */
  change: (name: string, answer: Fields) => Fields | undefined = () => undefined;
  /** The chain that it answers about. */
  chainFor = (_asked: Asked): Chain => this.chain;

  constructor(chain: Chain) {
    super();
    this.chain = chain;
  }

  protected async answer(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    const path = incoming.url ?? '';
    if (path.endsWith('.bin')) {
      response.end(blocksOf(this.isPruned ? pruned(this.chain) : this.chain, heightsOf(body)));
      return;
    }
    const sent = JSON.parse(body.toString()) as { method: string; params: Fields };
    const [name, params] = path === '/json_rpc' ? [sent.method, sent.params] : [path, sent as unknown as Fields];
    this.asked.push(name);
    const answer = this.#answer(name, params);
    response.end(JSON.stringify(path === '/json_rpc' && !('error' in answer) ? { result: answer } : answer));
  }

  #answer(name: string, params: Fields): Fields {
    try {
      const answer = answerTo(this.chainFor({ name, params }), { name, params });
      return this.change(name, answer) ?? answer;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return { error: { message: error.message } };
    }
  }
}

/** What such a node has for a request for whole blocks: it leaves out the transactions, and says nothing. */
const pruned = ({ blocks }: Chain): Chain =>
  ({ blocks: blocks.map((block) => ({ ...block, txs: [] })) }) as unknown as Chain;

let chain: Chain;
let nodes: Node[];
let adapters: MoneroAdapter[];
let book: FactBook;
let secret = 900n;
let told: string[];

beforeEach(async () => {
  chain = new Chain('true', new Map());
  chain.begin(Date.now());
  nodes = [new Node(chain), new Node(chain)];
  for (const node of nodes) await node.listen();
  adapters = [];
  told = [];
  book = new FactBook();
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const adapter of adapters) await adapter.close();
  for (const node of nodes) await node.close();
});

/** An adapter over so many of the nodes, each of another operator. */
function connected(count: number, needsAgreement = false): MoneroAdapter {
  const urls = nodes.slice(0, count).map(({ url }, at) => (at === 0 ? url : url.replace('127.0.0.1', 'localhost')));
  const adapter = new MoneroAdapter({
    network: 'regtest',
    urls,
    list: book,
    accounts: () => [account],
    needsAgreement: () => needsAgreement,
    alert: (_, what) => told.push(what),
    onOdd: () => {},
    hasThread: false,
    pollMs: 60_000,
  });
  adapters.push(adapter);
  return adapter;
}

/** Puts a payment into the pool. `key`: decides about its one-time key; another one each time if it is left out. */
function pay(script: Uint8Array, units: bigint, key = secret++): string {
  const image = (secret++).toString(16).padStart(64, 'a');
  const tx = paymentOf([{ script, units }], image, key);
  chain.submit(tx);
  return tx.id;
}

describe('a node that passes on what a bootstrap daemon says', () => {
  /** As monerod 0.18 marks each answer that another node gave it, while it has not all blocks itself. */
  const passedOn = (_: string, answer: Fields): Fields => ({ ...answer, untrusted: true });

  it('brings no payment by that, and its operator is told why', async () => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    nodes[0]!.change = passedOn;
    pay(target.script, 7_000n);
    chain.mine(1, Date.now());
    await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/bootstrap daemon/);
    expect(adapter.health().error).toMatch(/bootstrap daemon/);
    nodes[0]!.change = () => undefined;
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: chain.tip.height }]);
  });

  it('has no say about a large payment of another one', async () => {
    const adapter = connected(2, true);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    nodes[1]!.change = passedOn;
    pay(target.script, 7_000n);
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
  });

  it('has its blocks in binary form refused, too', () => {
    const body = epee({ blocks: [], status: 'OK', untrusted: true });
    const read = atOnce(readBlocks(body, 1, 0, []));
    expect(read).toMatchObject({ blocks: [], refused: expect.stringMatching(/bootstrap daemon/) });
  });
});

describe('a pool that is too large to be read', () => {
  const FLOOD = Array.from({ length: 50_001 }, (_, n) => n.toString(16).padStart(64, '0'));

  it.each<[what: string, flood: (name: string, answer: Fields) => Fields | undefined]>([
    ['as its size says', (name, answer) => (name === 'get_info' ? { ...answer, tx_pool_size: 50_001 } : undefined)],
    [
      'as its list shows',
      (name) => (name === '/get_transaction_pool_hashes' ? { status: 'OK', tx_hashes: FLOOD } : undefined),
    ],
    [
      'as more than an answer has',
      (name) =>
        name === '/get_transaction_pool_hashes'
          ? { status: 'OK', tx_hashes: FLOOD, padding: 'x'.repeat(4_000_000) }
          : undefined,
    ],
  ])('keeps no block from being read, and what is missing is not called absent: %s', async (_, flood) => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    pay(target.script, 7_000n);
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    for (const node of nodes) node.change = flood;
    const earlier = pay(target.script, 8_000n);
    chain.mine(1, Date.now());
    expect(chain.blockOf(earlier)?.height).toBe(chain.tip.height);
    const waiting = pay(target.script, 9_000n);
    const update = await adapter.sync(book.checkpoint, signal());
    expect(update).toMatchObject({ mempool: 'unknown', more: false });
    book.apply(update!);
    expect(book.tip).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
    expect(book.paid(id)).toEqual([
      { units: 7_000n, height: chain.tip.height },
      { units: 8_000n, height: chain.tip.height },
    ]);
    for (const node of nodes) node.change = () => undefined;
    await book.catchUp(adapter);
    expect(chain.pool.has(waiting)).toBe(true);
    expect(book.paid(id).at(-1)).toEqual({ units: 9_000n, height: null });
  });
});

describe('a node that has no whole view, for as long as it says so', () => {
  type Change = (name: string, answer: Fields) => Fields | undefined;
  const named = (from: number) => Array.from({ length: 600 }, (_, n) => (from + n).toString(16).padStart(64, 'e'));
  const naming =
    (first: () => number): Change =>
    (name, answer) =>
      name === '/get_transaction_pool_hashes'
        ? { ...answer, tx_hashes: [...named(first()), ...((answer.tx_hashes as string[] | undefined) ?? [])] }
        : undefined;
  let lists = 0;
  const LATER_MS = 11_000;
  const calledTooLarge: Change = (name, answer) =>
    name === 'get_info' ? { ...answer, tx_pool_size: 50_001 } : undefined;

  /** Has the first node say that it is not synchronised, which counts on networks with blocks of their own alone. */
  function unsynchronised(): void {
    const { head } = MoneroNode.prototype;
    vi.spyOn(MoneroNode.prototype, 'head').mockImplementation(async function (this: MoneroNode, signal) {
      const found = await head.call(this, signal);
      this.isBehind = nodes[0]!.url.endsWith(this.name);
      return found;
    });
  }

  it.each<[what: string, operators: number, change: Change | null]>([
    ['because its pool is called too large', 2, calledTooLarge],
    ['because it names transactions that it does not show', 2, naming(() => 1)],
    ['because it names others each time that it does not show', 2, naming(() => ++lists * 1_000)],
    ['because it names such, and is the only one', 1, naming(() => 1)],
    ['because it is not synchronised', 2, null],
  ])('keeps nobody from having one: %s', async (_, operators, change) => {
    const adapter = connected(operators);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    if (change) nodes[0]!.change = change;
    else unsynchronised();
    chain.mine(1, Date.now());
    pay(target.script, 7_000n);
    const now = performance.now.bind(performance);
    let laterMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    const views: string[] = [];
    for (; laterMs < 4 * LATER_MS; laterMs += LATER_MS) {
      const update = await adapter.sync(book.checkpoint, signal());
      book.apply(update!);
      views.push(update!.mempool);
    }
    clock.mockRestore();
    expect(views[0]).toBe('unknown');
    expect(views.at(-1)).toBe('complete');
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    // an honest node may say all of it
    expect(told).toEqual([]);
  });

  it.each<[what: string, height: number | null]>([
    ['that it shows as mined', 5],
    ['that it invents', null],
  ])('is passed over after half a minute in which it names other transactions each time %s', async (_, height) => {
    const adapter = connected(2);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    pay(target.script, 5n);
    const made = [...chain.pool.values()][0]!.read;
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    const { transactions } = MoneroNode.prototype;
    vi.spyOn(MoneroNode.prototype, 'transactions').mockImplementation(async function (
      this: MoneroNode,
      txids,
      ...rest
    ) {
      const isLiar = nodes[0]!.url.endsWith(this.name);
      const isInvented = (txid: string) => isLiar && txid.startsWith('eeee');
      const real = txids.filter((txid) => !isInvented(txid));
      const found = new Map(await transactions.call(this, real, ...rest));
      for (const txid of txids.filter(isInvented)) {
        const transaction = { ...made, id: txid, outputs: [], keyImages: [] };
        found.set(txid, { transaction, height, doubleSpendSeen: false, kept: null });
      }
      return found;
    });
    nodes[0]!.change = naming(() => ++lists * 1_000);
    chain.mine(1, Date.now());
    pay(target.script, 7_000n);
    const now = performance.now.bind(performance);
    let laterMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    const views: string[] = [];
    for (; laterMs < 6 * LATER_MS; laterMs += LATER_MS) {
      const update = await adapter.sync(book.checkpoint, signal());
      book.apply(update!);
      views.push(update!.mempool);
    }
    expect(views).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'complete', 'complete']);
    expect(book.paid(id).at(-1)).toEqual({ units: 7_000n, height: null });
    expect(told).toEqual([]);
  });

  it('is passed over although its newest block is of its own making', async () => {
    const adapter = connected(2);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    const branch = new Chain('liar', new Map());
    branch.forkFrom(chain, chain.tip.height);
    branch.mine(1, Date.now());
    nodes[0]!.chain = branch;
    nodes[0]!.change = calledTooLarge;
    book.apply((await adapter.sync(book.checkpoint, signal()))!);
    chain.mine(2, Date.now());
    pay(target.script, 7_000n);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + LATER_MS);
    for (let step = 0; step < 2; step++) book.apply((await adapter.sync(book.checkpoint, signal()))!);
    expect(book.tip).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    expect(adapter.servers()).toMatchObject([{ asked: false }, { asked: true }]);
  });

  it('is not asked for longer because the other one had none once', async () => {
    const adapter = connected(2);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    const now = performance.now.bind(performance);
    let laterMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    const views = async (steps: number) => {
      const found: string[] = [];
      for (let step = 0; step < steps; step++) {
        chain.mine(1, Date.now());
        laterMs += LATER_MS;
        const update = await adapter.sync(book.checkpoint, signal());
        book.apply(update!);
        found.push(update!.mempool);
      }
      return found;
    };
    nodes[0]!.change = naming(() => ++lists * 1_000);
    expect((await views(4)).at(-1)).toBe('complete');
    nodes[1]!.change = calledTooLarge;
    await views(1);
    // the first one hides nothing for a moment, and is asked first for that
    nodes[0]!.change = () => undefined;
    await views(2);
    nodes[0]!.change = naming(() => ++lists * 1_000);
    nodes[1]!.change = () => undefined;
    expect((await views(6)).slice(-3)).toEqual(['complete', 'complete', 'complete']);
  });

  it('is asked first, although another one has no whole view either', async () => {
    const adapter = connected(2);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    for (const node of nodes) node.change = calledTooLarge;
    chain.mine(1, Date.now());
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + LATER_MS);
    for (let step = 0; step < 2; step++) {
      expect(await adapter.sync(book.checkpoint, signal())).toMatchObject({ mempool: 'unknown' });
      expect(adapter.servers()).toMatchObject([{ asked: true }, { asked: false }]);
    }
    clock.mockRestore();
  });
});

it('reads blocks whose signatures a pruned node has lost, and calls it no liar', async () => {
  const adapter = connected(1);
  nodes[0]!.isPruned = true;
  const target = await adapter.deriveAddress(account, 0, 3);
  const id = book.watch(target);
  book.checkpoint = await adapter.begin(null, signal());
  pay(target.script, 7_000n);
  pay(target.script, 8_000n);
  chain.mine(3, Date.now());
  await book.catchUp(adapter);
  const height = chain.tip.height - 2;
  expect(book.paid(id)).toEqual([
    { units: 7_000n, height },
    { units: 8_000n, height },
  ]);
  for (const credit of book.credits.values()) {
    const { firstIndex, transaction } = readKept(credit.base!);
    expect(transaction.id).toBe(credit.txid);
    expect(chain.outputAt(firstIndex)).toMatchObject({ key: Buffer.from(transaction.outputs[0]!.key).toString('hex') });
  }
  expect(told).toEqual([]);
});

it('counts one of two outputs with one key after a restart, although its node leaves the first one out', async () => {
  const before = connected(2);
  const target = await before.deriveAddress(account, 0, 3);
  const id = book.watch(target);
  book.checkpoint = await before.begin(null, signal());
  const first = pay(target.script, 7_000n, 77n);
  chain.mine(1, Date.now());
  await book.catchUp(before);
  await before.close();
  chain.mine(1, Date.now());
  nodes[0]!.change = (name, answer) =>
    name === '/get_transactions'
      ? { ...answer, txs: (answer.txs as Fields[]).filter(({ tx_hash }) => tx_hash !== first) }
      : undefined;
  const after = connected(2);
  book.checkpoint = (await after.begin(null, signal())).slice(-1);
  const second = pay(target.script, 8_000n, 77n);
  chain.mine(1, Date.now());
  await book.catchUp(after);
  const counted = [...book.credits.values()].map(({ txid, locked = false }) => [txid, locked]);
  expect(counted).toEqual([
    [first, false],
    [second, true],
  ]);
  expect(book.paid(id)).toHaveLength(2);
});

it('leaves a large payment in its block when it is started anew while the other operator is away', async () => {
  const before = connected(2, true);
  const target = await before.deriveAddress(account, 0, 3);
  const id = book.watch(target);
  book.checkpoint = await before.begin(null, signal());
  pay(target.script, 7_000n);
  chain.mine(1, Date.now());
  await book.catchUp(before);
  const counted = [{ units: 7_000n, height: chain.tip.height }];
  expect(book.paid(id)).toEqual(counted);
  await before.close();
  await nodes[1]!.close();
  chain.mine(1, Date.now());
  await book.catchUp(connected(2, true));
  expect(book.tip.height).toBe(chain.tip.height);
  expect(book.paid(id)).toEqual(counted);
});

describe('a block whose miner copied the one-time key of a payment into its coinbase', () => {
  /** Mines a block without other transactions. The amount of a coinbase is in the open, so that no secret of the payer is needed. */
  function copy(txid: string, units: bigint): string {
    const { read } = chain.pool.get(txid) ?? chain.transactions().find(({ id }) => id === txid)!;
    const [output] = read.outputs;
    const [publicKey] = read.publicKeys;
    const { height: below, hash: previous } = chain.tip;
    const height = below + 1;
    const numbers = (...values: (number | bigint)[]) => Buffer.concat(values.map((value) => varint(value)));
    const coinbase = [
      numbers(2, height + 60, 1),
      Uint8Array.of(255),
      numbers(height, 1, units),
      Uint8Array.of(3),
      output!.key,
      Uint8Array.of(output!.viewTag!),
      numbers(33),
      Uint8Array.of(1),
      publicKey!,
      Uint8Array.of(0),
    ];
    const head = [numbers(16, 16, Math.floor(Date.now() / 1_000)), Buffer.from(previous, 'hex'), Buffer.alloc(4)];
    const blob = Buffer.concat([...head, ...coinbase, numbers(0)]);
    const block = parseBlock(blob);
    const { first, outputs } = chain.tip;
    const key = Buffer.from(output!.key).toString('hex');
    const mined = { key, mask: '00'.repeat(32), height, isCoinbase: true };
    const { hash, timeMs } = block;
    chain.blocks.push({
      height,
      hash,
      previous,
      timeMs,
      blob,
      txs: [],
      first: first + outputs.length,
      outputs: [mined],
    });
    return block.coinbase.id;
  }

  const counted = () => [...book.credits.values()].map(({ txid, locked = false }) => [txid, locked]).toSorted();

  it.each<[what: string, atOnce: boolean]>([
    ['both are read in one step', true],
    ['the books have the coinbase already', false],
  ])('is locked, and the payment counts: %s', async (_, atOnce) => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    const paid = pay(target.script, 7_000n);
    const mined = copy(paid, 1n);
    if (!atOnce) await book.catchUp(adapter);
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    const right = [
      [mined, true],
      [paid, false],
    ].toSorted();
    expect(counted()).toEqual(right);
    // the blocks of the checkpoint are read again
    await adapter.close();
    const after = connected(1);
    chain.mine(1, Date.now());
    await book.catchUp(after);
    expect(counted()).toEqual(right);
  });

  it.each<[what: string, before: number, atOnce: boolean]>([
    ['the blocks are read again an hour or more later', 1, false],
    ['the blocks are read after an outage', 1, true],
    ['the payment was seen in time and mined later', 70, false],
  ])('is locked once it is mature, too: %s', async (_, before, atOnce) => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    const paid = pay(target.script, 7_000n);
    const held = chain.pool.get(paid)!;
    const mined = copy(paid, 1n);
    if (!atOnce) await book.catchUp(adapter);
    if (before > 1) chain.pool.clear();
    chain.mine(before, Date.now());
    if (before > 1) {
      chain.submit(held);
      chain.mine(1, Date.now());
    }
    if (!atOnce) await book.catchUp(adapter);
    chain.mine(40, Date.now());
    if (before === 1) chain.mine(30, Date.now());
    await book.catchUp(adapter);
    const right = [
      [mined, true],
      [paid, false],
    ].toSorted();
    expect(counted()).toEqual(right);
    await adapter.close();
    const after = connected(1);
    chain.mine(1, Date.now());
    await book.catchUp(after);
    expect(counted()).toEqual(right);
  });

  it('stays the one that counts where it is spent, although its block and the payment are read in one step', async () => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    const paid = pay(target.script, 7_000n);
    const held = chain.pool.get(paid)!;
    const mined = copy(paid, 1n);
    chain.pool.clear();
    await book.catchUp(adapter);
    await adapter.close();
    const outpoint = [...book.credits.keys()][0]!;
    book.spends.set(outpoint, { outpoint, txid: 'ab'.repeat(32), fee: 0n, block: null });
    chain.submit(held);
    chain.mine(1, Date.now());
    const update = await connected(1).sync(book.checkpoint, signal());
    const told = update!.credits.map(({ txid, locked = false }) => [txid, locked]).toSorted();
    expect(told).toEqual(
      [
        [mined, false],
        [paid, true],
      ].toSorted(),
    );
  });

  it('stays the one that counts once it can be spent', async () => {
    const adapter = connected(1);
    const target = await adapter.deriveAddress(account, 0, 3);
    book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    const paid = pay(target.script, 7_000n);
    const held = chain.pool.get(paid)!;
    const mined = copy(paid, 1n);
    chain.pool.clear();
    await book.catchUp(adapter);
    chain.mine(60, Date.now());
    await book.catchUp(adapter);
    chain.submit(held);
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    expect(counted()).toEqual(
      [
        [mined, false],
        [paid, true],
      ].toSorted(),
    );
  });
});

it.each<[what: string, input: (image: string) => Uint8Array]>([
  ['a coinbase', () => Buffer.from([255, 9])],
  ['one that spends something', (image) => Buffer.concat([Uint8Array.of(2, 0, 1, 1), Buffer.from(image, 'hex')])],
])('locks no payment for what a pool names as %s with its key and an amount in the open', async (_, input) => {
  const adapter = connected(1);
  const target = await adapter.deriveAddress(account, 0, 3);
  const id = book.watch(target);
  book.checkpoint = await adapter.begin(null, signal());
  const paid = pay(target.script, 7_000n);
  const held = chain.pool.get(paid)!;
  const [output] = held.read.outputs;
  const copied = txOf(
    Buffer.concat([
      Uint8Array.of(2, 0, 1),
      input('ef'.repeat(32)),
      varint(1),
      varint(9_000_000n),
      Uint8Array.of(3),
      output!.key,
      Uint8Array.of(output!.viewTag!, 33, 1),
      held.read.publicKeys[0]!,
      Uint8Array.of(0),
    ]),
  );
  chain.pool.clear();
  for (const tx of [copied, held]) expect(chain.submit(tx)).toBeNull();
  await book.catchUp(adapter);
  expect([...book.credits.values()].map(({ txid, locked = false }) => [txid, locked])).toEqual([[paid, false]]);
  expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
});

describe('a payment that waited at the start', () => {
  /** Has the first node tell that a transaction is in a block of its own making, so many blocks below the tip. */
  function invent(txid: string, below: number): number {
    const branch = new Chain('liar', new Map());
    branch.forkFrom(chain, chain.tip.height - below);
    branch.submit(chain.pool.get(txid)!);
    branch.mine(1, Date.now());
    const { height, hash } = branch.tip;
    nodes[0]!.chainFor = ({ name, params: { txs_hashes, hash: of, start_height, end_height } }) => {
      const isOfBlock = of === hash || (start_height === height && end_height === height);
      return isOfBlock || (name === '/get_transactions' && (txs_hashes as string[]).includes(txid)) ? branch : chain;
    };
    return height;
  }

  it.each<[what: string, operators: number]>([
    ['counts by the word of the only operator', 1],
    ['counts in an old block, which nothing links to the chain, once another operator has it', 2],
  ])('%s', async (_, operators) => {
    const before = connected(operators);
    const target = await before.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await before.begin(null, signal());
    const txid = pay(target.script, 7_000n);
    await book.catchUp(before);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: null }]);
    await before.close();
    const invented = invent(txid, 40);
    const after = connected(operators);
    book.checkpoint = (await after.begin(null, signal())).slice(-1);
    const update = await after.sync(book.checkpoint, signal());
    book.apply(update!);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: operators === 1 ? invented : null }]);
    nodes[0]!.chainFor = () => chain;
    if (operators === 1) return;
    chain.mine(1, Date.now());
    await book.catchUp(after);
    expect(book.paid(id)).toEqual([{ units: 7_000n, height: chain.tip.height }]);
  });
});

it('stops at a block of newer rules, whatever form it has, with an alert that accuses no node', async () => {
  const adapter = connected(2);
  const target = await adapter.deriveAddress(account, 0, 3);
  const id = book.watch(target);
  book.checkpoint = await adapter.begin(null, signal());
  pay(target.script, 7_000n);
  chain.mine(1, Date.now());
  await book.catchUp(adapter);
  const { height: below, hash: previous, timeMs } = chain.tip;
  const height = below + 1;
  const head = [varint(17), varint(17), varint(timeMs / 1_000), Buffer.from(previous, 'hex'), Buffer.alloc(4)];
  const coinbase = [2, height + 60, 1, 255, height, 1, 5].map((value) =>
    value === 255 ? Uint8Array.of(255) : varint(value),
  );
  // an output of a type that nobody knows yet
  const blob = Buffer.concat([...head, ...coinbase, Uint8Array.of(4), Buffer.alloc(99, 7)]);
  chain.blocks.push({ ...chain.tip, height, hash: 'ab'.repeat(32), previous, blob, txs: [], outputs: [] });
  const synced = adapter.sync(book.checkpoint, signal());
  await expect(synced).rejects.toThrow(/^Block 132 of Monero was made by rules 17.*Install a newer version/);
  await expect(synced).rejects.toThrow(ChainAlert);
  expect(told).toEqual([]);
  expect(book.paid(id)).toEqual([{ units: 7_000n, height: below }]);
});

it('takes what a node refuses for no lie, as numbers of outputs that it does not have yet', async () => {
  const adapter = connected(2);
  book.checkpoint = await adapter.begin(null, signal());
  chain.mine(1, Date.now());
  nodes[0]!.change = (name) => (name === '/get_transaction_pool_hashes' ? { status: 'Failed' } : undefined);
  await book.catchUp(adapter);
  expect(book.tip).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
  expect(told).toEqual([]);
  expect(adapter.servers()).toMatchObject([
    { error: expect.stringMatching(/refuses \/get_transaction_pool_hashes: Failed$/) },
    { asked: true, error: null },
  ]);
});

describe('a node that is ahead with blocks of its own making', () => {
  /** A chain of the second node's that has so many blocks more than the true one, and a payment in the first of them. */
  function invent(script: Uint8Array, blocks: number): Chain {
    const branch = new Chain('liar', new Map());
    branch.forkFrom(chain, chain.tip.height);
    branch.submit(paymentOf([{ script, units: 7_000n }], 'ab'.repeat(32), secret++));
    branch.mine(blocks, Date.now());
    return branch;
  }

  it('leads nobody so far that there is no way back, although the others have no such blocks to contradict it', async () => {
    const adapter = connected(2);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    nodes[0]!.chain = invent(target.script, 200);
    await expect(adapter.sync(book.checkpoint, signal())).rejects.toThrow(/nobody here can tell which one is right/);
    expect(book.tip).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
    nodes[0]!.chain = chain;
    pay(target.script, 8_000n);
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 8_000n, height: chain.tip.height }]);
  });

  it('does not begin the books with blocks that the other one does not have', async () => {
    const adapter = connected(2);
    const target = await adapter.deriveAddress(account, 0, 3);
    nodes[0]!.chain = invent(target.script, 200);
    await expect(adapter.begin(null, signal())).rejects.toThrow(/nobody here can tell which one is right/);
    nodes[0]!.chain = chain;
    expect((await adapter.begin(null, signal())).at(-1)).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
  });

  it('is followed while the other one is still being synchronised, whose newest block is old', async () => {
    nodes[1]!.chain = new Chain('true', new Map());
    nodes[1]!.chain.blocks = chain.blocks.slice(0, -60);
    const adapter = connected(2);
    book.checkpoint = chain.blocks.slice(1, 11).map(({ height, hash }) => ({ height, hash }));
    await book.catchUp(adapter);
    expect(book.tip).toEqual({ height: chain.tip.height, hash: chain.tip.hash });
    expect(told).toEqual([]);
  });

  it('takes no vote from the node that it accuses of being behind', async () => {
    const adapter = connected(2);
    const target = await adapter.deriveAddress(account, 0, 3);
    const id = book.watch(target);
    book.checkpoint = await adapter.begin(null, signal());
    await book.catchUp(adapter);
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    nodes[1]!.chain = invent(target.script, 200);
    await book.catchUp(adapter);
    expect(told).toEqual(['it is 200 blocks behind another node']);
    // the other one is asked first now, and the accused one about it
    const synced = adapter.sync(book.checkpoint, signal());
    await expect(synced).rejects.toThrow(/nobody here can tell which one is right/);
    await nodes[1]!.close();
    pay(target.script, 8_000n);
    chain.mine(1, Date.now());
    await book.catchUp(adapter);
    expect(book.paid(id)).toEqual([{ units: 8_000n, height: chain.tip.height }]);
    clock.mockRestore();
  });
});

describe('the times of blocks that one node tells', () => {
  const HOUR_MS = 3_600_000;
  /** The blocks are called older than they are, by so much. */
  const older =
    (ms: number) =>
    (name: string, answer: Fields): Fields | undefined => {
      if (name !== 'get_block_headers_range') return undefined;
      const headers = answer.headers as { timestamp: number }[];
      return {
        ...answer,
        headers: headers.map((one) => ({ ...one, timestamp: Math.max(0, one.timestamp - ms / 1_000) })),
      };
    };

  it('hide no block behind a birthday', async () => {
    const adapter = connected(2);
    const birthday = Date.now() - HOUR_MS;
    const [first] = chain.blocks.filter(({ timeMs }) => timeMs >= birthday - 2 * HOUR_MS);
    const begun = async () => (await adapter.begin(birthday, signal())).at(-1)?.height;
    expect(await begun()).toBe(first!.height - 1);
    nodes[0]!.change = older(HOUR_MS);
    await expect(begun()).rejects.toThrow(
      /tell different times of block \d+, and nobody here can tell which one is right/,
    );
    nodes[0]!.change = () => undefined;
    expect(await begun()).toBe(first!.height - 1);
  });

  it('are no birthday', async () => {
    const adapter = connected(2);
    const { timeMs } = chain.blocks[50]!;
    expect(await adapter.blockTime(50, signal())).toBe(timeMs);
    expect(await adapter.blockTime(5_000, signal())).toBeNull();
    nodes[0]!.change = older(-HOUR_MS);
    await expect(adapter.blockTime(50, signal())).rejects.toThrow(/tell different times of block 50, /);
  });

  it('count where nobody else answers', async () => {
    const adapter = connected(2);
    await nodes[1]!.close();
    expect(await adapter.blockTime(50, signal())).toBe(chain.blocks[50]!.timeMs);
    expect((await adapter.begin(Date.now(), signal())).at(-1)?.height).toBeGreaterThan(0);
  });
});
