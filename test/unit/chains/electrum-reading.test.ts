/** What is told of a history, whatever else a server has told before and in whatever order it answers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import type { HeaderSync } from '../../../daemon/chains/utxo/electrum/headers/sync.ts';
import type { Headers } from '../../../daemon/chains/utxo/electrum/headers/types.ts';
import { HistoryReader } from '../../../daemon/chains/utxo/electrum/histories/reader.ts';
import type { Script, Scripts } from '../../../daemon/chains/utxo/electrum/histories/scripts.ts';
import { TRANSACTIONS_MAX, UnstoredTransactions } from '../../../daemon/chains/utxo/electrum/histories/unstored.ts';
import { Doubts } from '../../../daemon/chains/utxo/electrum/servers/doubts.ts';
import { ConnectionLost, Misbehaved, ServerRefusal } from '../../../daemon/chains/utxo/electrum/servers/faults.ts';
import type { Server, Tip } from '../../../daemon/chains/utxo/electrum/servers/server.ts';
import type { MatchResult } from '../../../daemon/chains/utxo/match.ts';
import { fromReversedHex, reversedHex, sha256d } from '../../../daemon/kit/bytes.ts';
import { payerScript, payFrom, strangerScript } from '../../../daemon/sandbox/signed.ts';

const TARGET = 1;
const COINBASE = 'cc'.repeat(32);
const HEIGHT = 7;
/** Longer than a server may fail to show what it names. */
const DOUBTED_MS = 11_000;
const script = Buffer.from(payerScript('BTC'));
const parsed = (raw: Uint8Array) => ({ raw: Buffer.from(raw), txid: parseTransaction(Buffer.from(raw), 'BTC').txid() });
const parent = parsed(payFrom('BTC', { outpoint: `${'aa'.repeat(32)}:0`, units: 9_000n }, [{ script, units: 8_000n }]));
const spender = parsed(
  payFrom('BTC', { outpoint: `${parent.txid}:0`, units: 8_000n }, [{ script: strangerScript('BTC'), units: 7_000n }]),
);
const bytesOf = (txid: string): Buffer | undefined => [parent, spender].find((one) => one.txid === txid)?.raw;

/** The scripts of our addresses, whose ids begin with that of `TARGET`. */
let targets: Buffer[];
const list = {
  targetIdOf: (one: Uint8Array) => TARGET + targets.findIndex((target) => target.equals(one)) || undefined,
  isOurCoin: () => false,
  coin: () => undefined,
  coinsOf: () => [],
  page: (above: number) => [{ id: above + 1, script: targets[above] }],
} as unknown as ScriptList;
/** With a block of a coinbase and the parent. */
const headers = {
  lowest: 0,
  at: () => ({
    hash: blockHash,
    timeSeconds: 1,
    merkleRoot: reversedHex(sha256d(Buffer.concat([COINBASE, parent.txid].map(fromReversedHex)))),
  }),
  hashAt: () => blockHash,
} as unknown as Headers;

let unstored: UnstoredTransactions;
let blockHash: string;
/** The statuses with which histories were read; undefined: one is to be read again. */
let settled: unknown[];
beforeEach(() => {
  settled = [];
  blockHash = 'a block';
  targets = [script];
  unstored = new UnstoredTransactions('BTC', list);
});
afterEach(() => void vi.restoreAllMocks());

/** Reads the history of one of our scripts from a server, and tells what is known then. `isMoved`: from another one each time. `txids`: those known before. */
async function told(
  history: { txid: string; height: number }[],
  over: Partial<Server> = {},
  id = TARGET,
  times = 1,
  isMoved = false,
  txids: readonly string[] = [],
): Promise<MatchResult> {
  const serverOf = () => ({
    statuses: new Map([[`hash ${id}`, 'status']]),
    tip: { height: 10 },
    isOrdered: false,
    history: async () => history,
    transaction: async (txid: string) => bytesOf(txid),
    merkle: async () => ({ branch: [COINBASE], position: 1 }),
    caught: (reason: string) => new Misbehaved(reason),
    leave: (reason: string) => new ConnectionLost(reason),
    doubts: new Doubts(DOUBTED_MS - 1),
    ...over,
  });
  const first = serverOf();
  const reader = new HistoryReader({
    chain: 'BTC',
    list,
    headers,
    headerSync: {} as HeaderSync,
    unstored,
    scripts: { settle: (_: Script, __: Server, status: unknown) => settled.push(status) } as unknown as Scripts,
    listener: { wake: () => {}, log: () => {}, bug: () => {}, alert: () => {}, leftOut: () => {} },
  });
  const watched = { id, hash: `hash ${id}`, txids, news: 0, touches: 0 } as unknown as Script;
  for (let i = 0; i < times; i++) {
    const server = isMoved ? serverOf() : first;
    await reader.take(server as unknown as Server, watched, { height: 10 } as Tip);
    const now = performance.now() + DOUBTED_MS;
    vi.spyOn(performance, 'now').mockReturnValue(now);
  }
  const found: MatchResult = { credits: [], spends: [] };
  for (const held of unstored.all()) unstored.tell(held, ({ hash }) => hash === blockHash, found);
  return found;
}

it.each([
  ['coin', parent, spender],
  ['spender', spender, parent],
])('a spend of our coin, though the answer about the %s comes last', async (_, late, early) => {
  let asked = 0;
  const transaction = async (txid: string): Promise<Buffer> => {
    if (txid === late.txid && asked++ === 0) while (!unstored.get(early.txid)?.mentions.size) await nextTurn();
    return bytesOf(txid) as Buffer;
  };
  const history = [parent, spender].map(({ txid }) => ({ txid, height: 0 }));
  const { spends } = await told(history, { transaction });
  expect(spends).toEqual([{ outpoint: `${parent.txid}:0`, txid: spender.txid, block: null }]);
});

it('a payment that left its block needs the word of a second server again', async () => {
  const blocks = async (height: number) =>
    (await told([{ txid: parent.txid, height }])).credits.map(({ block }) => block?.hash);
  expect(await blocks(HEIGHT)).toEqual([undefined]);
  for (const held of unstored.all()) held.agreed = true;
  expect(await blocks(HEIGHT)).toEqual(['a block']);
  expect(await blocks(0)).toEqual([undefined]);
  blockHash = 'another block';
  expect(await blocks(HEIGHT)).toEqual([undefined]);
});

describe('a history that differs from its announcement, where the store has a block of it', () => {
  const stored = { txid: 'ee'.repeat(32), height: 5 };
  const announced = (status: string | null) => ({ statuses: new Map([[`hash ${TARGET}`, status]]) });
  beforeEach(() => {
    const coin = { txid: stored.txid, blockHeight: stored.height, blockHash, spentTxid: null };
    vi.spyOn(list, 'coinsOf').mockReturnValue([coin as StoredCoin]);
  });

  it('is read though none is announced, and read again', async () => {
    const { credits } = await told([stored, { txid: parent.txid, height: 0 }], announced(null), TARGET, 2);
    expect(credits).toMatchObject([{ id: `${parent.txid}:0` }]);
    expect(settled).toEqual([undefined, undefined]);
  });

  it.each(['status', null])('is refused where it is empty (announced: %s)', async (status) => {
    await expect(told([], announced(status))).rejects.toBeInstanceOf(ServerRefusal);
  });
});

/** Unconfirmed payments to our script, by their ids. */
function invented(count: number): Map<string, Buffer> {
  const output = `e803000000000000${script.length.toString(16)}${script.toString('hex')}`;
  const rawOf = (n: number): Buffer =>
    Buffer.from(`0100000001${n.toString(16).padStart(64, '0')}0000000000ffffffff01${output}00000000`, 'hex');
  const raws = Array.from({ length: count }, (_, n) => rawOf(n));
  return new Map(raws.map((raw) => [reversedHex(sha256d(raw)), raw]));
}

it('a payment in a block, however many unconfirmed ones a server invented before', async () => {
  const raws = invented(TRANSACTIONS_MAX);
  const entries = [...raws.keys()].map((txid) => ({ txid, height: 0 }));
  await told(entries, { transaction: async (txid: string) => raws.get(txid) as Buffer });
  const { credits } = await told([{ txid: parent.txid, height: HEIGHT }]);
  expect(credits.filter(({ txid }) => !raws.has(txid))).toMatchObject([{ id: `${parent.txid}:0` }]);
});

describe('a history of a thousand payments over a slow line', () => {
  const raws = invented(1_000);
  const unconfirmed = [...raws.keys()].map((txid) => ({ txid, height: 0 }));
  let now: number;
  /** Each answer takes a hundredth of a second. */
  const slow = () => {
    now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const transaction = vi.fn(async (txid: string) => {
      now += 10;
      return raws.get(txid) ?? (bytesOf(txid) as Buffer);
    });
    const history = vi.fn(async () => unconfirmed);
    return { transaction, history };
  };
  /** Those that are asked for at the same time are waited for. */
  const [LEAST, MOST] = [200, 208];

  it('is read for two seconds at a time', async () => {
    const { credits } = await told([], slow());
    expect(credits.length).toBeGreaterThanOrEqual(LEAST);
    expect(credits.length).toBeLessThanOrEqual(MOST);
  });

  it('is read to its end by the next looks, without being asked for again', async () => {
    const asked = slow();
    const { credits } = await told([], asked, TARGET, 2);
    expect(credits).toHaveLength(1_000);
    expect(asked.history).toHaveBeenCalledTimes(1);
    expect(asked.transaction).toHaveBeenCalledTimes(1_000);
  });

  it('keeps what is known while it is read', async () => {
    const [first] = unconfirmed;
    await told([first!], { transaction: async (txid: string) => raws.get(txid) as Buffer });
    const last = [...unconfirmed.slice(1), first!];
    const { credits } = await told([], { ...slow(), history: async () => last }, TARGET, 1, false, [first!.txid]);
    expect(credits.map(({ txid }) => txid)).toContain(first!.txid);
  });
});

it.each([
  ['', 0],
  [', and more than is kept of it', 60],
])('what a waiting transaction pays to an address that was derived since%s', async (_, others) => {
  targets = [Buffer.from(strangerScript('BTC'))];
  const [early] = targets as [Buffer];
  const coin = { outpoint: `${parent.txid}:0`, units: 8_000n };
  const nobody = Array.from({ length: others }, () => ({ script: Buffer.alloc(22, 9), units: 1n }));
  const both = parsed(payFrom('BTC', coin, [{ script: early, units: 4_000n }, { script, units: 3_000n }, ...nobody]));
  const transaction = async (txid: string) => (txid === both.txid ? both.raw : parent.raw);
  const waiting = { txid: both.txid, height: 0 };
  const ids = ({ credits }: MatchResult) => credits.map(({ id }) => id);
  expect(ids(await told([waiting], { transaction }))).toEqual([`${both.txid}:0`]);
  targets.push(script);
  // it spends a coin of that address, too
  const history = others > 0 ? [] : [{ txid: parent.txid, height: 0 }];
  await told(history, { transaction }, TARGET + 1);
  const found = await told([...history, waiting], { transaction }, TARGET + 1);
  expect(ids(found).filter((id) => id.startsWith(both.txid))).toEqual([`${both.txid}:0`, `${both.txid}:1`]);
});

it.each([
  ['a transaction', { transaction: () => Promise.reject(new ServerRefusal(2, 'daemon busy')) }],
  ['a proof', { merkle: () => Promise.reject(new ServerRefusal(-102, 'server busy - request timed out')) }],
])('a server that does not give %s for a while is left, and is no liar', async (_, over) => {
  const history = [{ txid: parent.txid, height: HEIGHT }];
  expect(await told(history, over)).toEqual({ credits: [], spends: [] });
  const failed = await told(history, over, TARGET, 2).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(ConnectionLost);
  expect(failed).toHaveProperty('message', `it does not show transaction ${parent.txid} (height 7), which it names`);
});

it('a server that names a block above its own tip for a while is a liar', async () => {
  const history = [{ txid: parent.txid, height: 11 }];
  await expect(told(history, {}, TARGET, 2)).rejects.toBeInstanceOf(Misbehaved);
});

it('a server is not blamed for what the one before did not give', async () => {
  const history = [{ txid: parent.txid, height: HEIGHT }];
  const over = { transaction: () => Promise.reject(new ServerRefusal(2, 'daemon busy')) };
  expect(await told(history, over, TARGET, 3, true)).toEqual({ credits: [], spends: [] });
});
