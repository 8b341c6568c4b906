/** Which of several Electrum servers is asked, and what one of them may cost the others. No node is needed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HeldCoin } from '../../daemon/chains/adapter.ts';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { parseAnyTransaction } from '../../daemon/chains/utxo/block.ts';
import { ElectrumAdapter, type ElectrumOptions } from '../../daemon/chains/utxo/electrum/electrum.ts';
import type { Headers } from '../../daemon/chains/utxo/electrum/headers/types.ts';
import { Agreement } from '../../daemon/chains/utxo/electrum/histories/agreement.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';
import type { UnstoredTransaction } from '../../daemon/chains/utxo/electrum/histories/unstored.ts';
import { TIMEOUTS } from '../../daemon/chains/utxo/electrum/servers/connection.ts';
import { endpointOf } from '../../daemon/chains/utxo/electrum/servers/endpoint.ts';
import { Between } from '../../daemon/chains/utxo/electrum/servers/faults.ts';
import { Pins } from '../../daemon/chains/utxo/electrum/servers/pins.ts';
import type { Server } from '../../daemon/chains/utxo/electrum/servers/server.ts';
import { ServerSet } from '../../daemon/chains/utxo/electrum/servers/server-set.ts';
import type { ChainUpdate, Checkpoint, SourceServer } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { slowness, turnsOf } from '../bench/turns.ts';
import { type Answer, RawJson, SILENCE, StubServer } from '../nodes/stub-server.ts';
import { undoAll } from '../support/undo.ts';
import { branch, hashOf, mine, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { coinSource } from './coin-source.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { writeTransaction } from './fixtures/serial.ts';
import { testAccount } from './keys.ts';

vi.mock(import('../../daemon/chains/utxo/block.ts'), { spy: true });

const SYNC_MS = 15_000;
const HEADER_LATE_MS = 3_500;
/** Well below what the late server takes for one reply. */
const SOON_MS = 3_000;
/** The operator's own servers are tried again after this, instead of 20 s. */
const SOON_BACK = { ownRetryMs: 1_000 };

const opened: { close(): Promise<void> }[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'servers-'));
});
afterEach(async () => {
  await undoAll(opened.splice(0).map((one) => () => one.close()));
  await rm(folder, { recursive: true, force: true });
});

async function serve(headers: readonly Buffer[], answer?: Answer, host?: string): Promise<StubServer> {
  const server = await StubServer.start({ headers, ...(answer ? { answer } : {}), ...(host ? { host } : {}) });
  opened.push(server);
  return server;
}

function open(servers: readonly StubServer[], options: Partial<ElectrumOptions> = {}) {
  const alerts: string[] = [];
  const leftOut: { targetId: number; message: string }[] = [];
  const adapter = new ElectrumAdapter({
    chain: 'BTC',
    network: 'regtest',
    folder,
    list: new FactBook(),
    servers: servers.map(({ url }) => url),
    alert: (server, message) => alerts.push(`${server}: ${message}`),
    leftOut: (targetId, message) => leftOut.push({ targetId, message }),
    ...options,
  });
  opened.push(adapter);
  const sync = (since: Checkpoint): Promise<ChainUpdate | null> => adapter.sync(since, AbortSignal.timeout(SYNC_MS));
  return { adapter, alerts, leftOut, sync };
}

/** Whether something is true of every server; of none while the adapter knows none yet. */
function all(adapter: ElectrumAdapter, holds: (server: SourceServer) => boolean): boolean {
  const servers = adapter.servers();
  return servers.length > 0 && servers.every(holds);
}

const checkpointOf = (headers: readonly Buffer[]): Checkpoint =>
  [REGTEST_GENESIS, ...headers].map((header, height) => ({ height, hash: hashOf(header) }));

const main = branch(REGTEST_GENESIS, 40, 7);
const other = branch(main[19] as Buffer, 15, 9);

/** Headers without work on top of what is there. */
function forged(count: number): Buffer[] {
  const headers: Buffer[] = [];
  let parent = main.at(-1) as Buffer;
  for (let i = 0; i < count; i++) {
    const easy = mine(parent, { timeSeconds: parent.readUInt32LE(68) + 600 });
    for (let nonce = 0; Buffer.from(hashOf(easy), 'hex')[0]! < 0x80; nonce++) easy.writeUInt32LE(nonce, 76);
    headers.push(easy);
    parent = easy;
  }
  return headers;
}

/** Sends one header a reply, each late. */
const drips =
  (server: () => StubServer, lateMs: number): Answer =>
  async (method, [from]) => {
    if (method !== 'blockchain.block.headers' || Number(from) === 0) return undefined;
    await sleep(lateMs);
    return { count: 1, hex: server().headers[Number(from)]?.toString('hex') ?? '', max: 2016 };
  };

it('tells how many operators speak, at the tip, of those that are named', async () => {
  const headers = branch(REGTEST_GENESIS, 10, 3);
  const mine = await serve(headers);
  const servers = [mine, await serve(headers), await serve(headers, undefined, 'localhost')];
  const { adapter } = open(servers, { timeouts: SOON_BACK });
  expect(adapter.operators()).toEqual({ named: 2, speaking: 0 });
  await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
  await until(() => adapter.operators().speaking === 2, 'both speak', SYNC_MS);
  await servers[2]?.close();
  await until(() => adapter.operators().speaking === 1, 'one is left', SYNC_MS);
  expect(adapter.operators().named).toBe(2);
  await servers[2]?.listen();
  await until(() => adapter.operators().speaking === 2, 'the other one is back', SYNC_MS);
});

describe('a server that sends one header a reply, each late', () => {
  it.each([
    { what: 'that have no work', headers: [...main, ...forged(30)], first: true },
    { what: 'that have no work, and is not the asked one', headers: [...main, ...forged(30)], first: false },
    { what: 'of a branch with less work', headers: [...main.slice(0, 20), ...other], first: true },
  ])('$what holds nobody up', async ({ headers, first }) => {
    const late: StubServer = await serve(headers, (...asked) => drips(() => late, HEADER_LATE_MS)(...asked));
    const honest = await serve(main);
    // Which one is asked first is chance, unless the other one is not there yet.
    const last = first ? honest : late;
    await last.close();
    const { adapter, sync } = open([late, honest]);
    adapter.onHint(() => {});
    await until(() => adapter.servers().some(({ state }) => state === 'ready'), 'a server to be connected');
    await last.listen();
    await until(() => all(adapter, ({ state }) => state === 'ready'), 'both to be connected');
    const since = checkpointOf(main);
    const began = performance.now();
    await until(async () => (await sync(since.slice(-1)))?.mempool === 'complete', 'a complete view', 2 * SOON_MS);
    // Between two looks nothing of the late server's may be waited for.
    honest.mined(mine(main.at(-1) as Buffer, { timeSeconds: (main.at(-1) as Buffer).readUInt32LE(68) + 600, salt: 3 }));
    await until(async () => {
      const update = await sync(since.slice(-1));
      return update?.mempool === 'complete' && update.checkpoint.at(-1)?.hash === honest.tip.hash;
    }, 'the next block');
    expect(performance.now() - began).toBeLessThan(2 * HEADER_LATE_MS);
    expect(adapter.health().source).toBe(honest.url);
  });
});

describe('a server that is behind the best chain known', () => {
  it('has not told everything, until it has caught up', async () => {
    const slow = await serve(main.slice(0, 35));
    const fast = await serve(main);
    const { adapter, sync } = open([slow, fast]);
    adapter.onHint(() => {});
    await until(() => adapter.servers().some(({ behind }) => behind === 5), 'the chain to be known');
    await fast.close();
    await until(() => adapter.health().source === slow.url, 'the slow one to be asked');
    const since = checkpointOf(main.slice(0, 30)).slice(-1);
    for (let i = 0; i < 5; i++) expect(await sync(since)).toMatchObject({ mempool: 'unknown' });
    expect((await sync(since))?.checkpoint.at(-1)?.height).toBe(35);
    for (const header of main.slice(35)) slow.mined(header);
    await until(async () => (await sync(since))?.mempool === 'complete', 'a complete view');
  });
});

describe('a history that is longer than what is read', () => {
  const TURN_MS_MAX = 50;
  const ATTEMPTS = 5;
  const HISTORY = 'blockchain.scripthash.get_history';
  const COUNTS = [20_001, 60_000, 300_000];
  const list = new FactBook();
  const scripts = [0, 1, 2].map(
    (index) => addressOfKey(childPublicKey(testAccount, 0, index), 'BTC', 'regtest').script,
  );
  const targetIds = scripts.map((script) => list.watch({ address: '', script }));
  const [full, used] = scripts.map(scriptHashOf) as [string, string];
  const entries = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ tx_hash: i.toString(16).padStart(64, '0'), height: 0, fee: 1 }));
  const paid = writeTransaction({
    inputs: [{ txid: 'ab'.repeat(32), vout: 0 }],
    outputs: scripts.slice(0, 2).map((script) => ({ units: 70_000n, script })),
  });
  const txid = hashOf(paid);
  const since = checkpointOf(main).slice(-1);
  /** Gives one script's history as `long` says, and has a payment to another. */
  async function burdened(long: () => unknown): Promise<StubServer> {
    const server = await serve(main, (method, [first]) => {
      if (method === HISTORY && first === full) return long();
      return method === 'blockchain.transaction.get' && first === txid ? paid.toString('hex') : undefined;
    });
    server.histories.set(full, entries(1));
    server.histories.set(used, [{ tx_hash: txid, height: 0, fee: 1 }]);
    return server;
  }

  it.each(COUNTS)('(%i transactions) is told to the operator, and everything else goes on', async (count) => {
    const told = entries(count);
    const servers = [await burdened(() => told), await burdened(() => told)];
    const { adapter, alerts, leftOut, sync } = open(servers, { list });
    adapter.onHint(() => {});
    await until(() => all(adapter, ({ state }) => state === 'ready'), 'both to be connected');
    await until(async () => {
      const update = await sync(since);
      return update?.mempool === 'complete' && update.credits.some((credit) => credit.txid === txid);
    }, 'the other payment');
    // The second server is compared with the first meanwhile.
    await until(() => all(adapter, ({ watched }) => watched === scripts.length), 'the second to watch as well');
    for (let i = 0; i < 3; i++) expect(await sync(since)).toMatchObject({ mempool: 'complete' });
    expect(leftOut).toHaveLength(1);
    expect(leftOut[0]).toMatchObject({
      targetId: targetIds[0],
      message: expect.stringContaining('refuse its history'),
    });
    expect(alerts).toEqual([]);
    expect(adapter.servers()).toMatchObject([0, 1].map(() => ({ state: 'ready', failures: 0, error: null })));
  });

  it('(too large for the servers themselves) is no reason to wait', async () => {
    // As ElectrumX says it, with the code that it also has for clients that ask too much.
    const refuses = () => {
      throw Object.assign(new Error('response too large (over 1,000,000 bytes)'), { code: -101 });
    };
    const { alerts, leftOut, sync } = open([await burdened(refuses)], { list });
    await until(async () => (await sync(since))?.mempool === 'complete', 'a complete view');
    expect({ alerts, leftOut: leftOut.length }).toEqual({ alerts: [], leftOut: 1 });
  });

  it('is no other one than a history with a transaction that is too large for the servers', async () => {
    const large = 'ef'.repeat(32);
    const server = await burdened(() => [{ tx_hash: large, height: 5 }]);
    const { answer } = server;
    server.answer = (method, params) => {
      if (method !== 'blockchain.transaction.get' || params[0] !== large) return answer(method, params);
      throw Object.assign(new Error('response too large (over 1,000,000 bytes)'), { code: -101 });
    };
    const { adapter, alerts, leftOut, sync } = open([server], { list });
    await until(async () => (await sync(since))?.mempool === 'complete', 'a complete view');
    expect(await adapter.areUsed([scripts[0]!, scripts[2]!], AbortSignal.timeout(SYNC_MS))).toEqual([true, false]);
    expect({ alerts, leftOut: leftOut.length }).toEqual({ alerts: [], leftOut: 1 });
    expect(adapter.servers()).toMatchObject([{ state: 'ready', failures: 0, error: null }]);
  });

  it('is asked of another server first', async () => {
    const limit = await burdened(() => entries(COUNTS[0] as number));
    const able = await burdened(() => [{ tx_hash: txid, height: 0, fee: 1 }]);
    for (const server of [limit, able]) server.histories.set(full, [{ tx_hash: txid, height: 0, fee: 1 }]);
    await able.close();
    const { adapter, alerts, leftOut, sync } = open([limit, able], { list });
    adapter.onHint(() => {});
    await until(async () => (await sync(since))?.mempool === 'complete', 'a first look');
    expect(leftOut).toHaveLength(1);
    await able.listen();
    await until(async () => {
      const update = await sync(since);
      return update?.mempool === 'complete' && (able.calls.get(HISTORY) ?? 0) > 0;
    }, 'the other one to be asked for it');
    expect(adapter.health().source).toBe(limit.url);
    expect({ alerts, leftOut: leftOut.length }).toEqual({ alerts: [], leftOut: 1 });
  });

  describe('and is in a block that the other server does not have yet', () => {
    const last = main.at(-1) as Buffer;
    const coinbase = 'cd'.repeat(32);
    const leaves = [coinbase, txid].map((id) => Buffer.from(id, 'hex').reverse());
    const merkleRoot = hashOf(Buffer.concat(leaves));
    const block = mine(last, { timeSeconds: last.readUInt32LE(68) + 600, merkleRoot });
    const inBlock = [{ tx_hash: txid, height: 41 }];
    /** Two servers that are at the same block; the one that is asked first refuses. */
    async function pair() {
      const limit = await burdened(() => entries(COUNTS[0] as number));
      const able = await burdened(() => able.histories.get(full));
      const { answer } = able;
      able.answer = (method, params) =>
        method === 'blockchain.transaction.get_merkle' && able.tip.height === 41
          ? { merkle: [coinbase], pos: 1, block_height: 41 }
          : answer(method, params);
      for (const server of [limit, able]) server.histories.clear();
      await able.close();
      const followed = open([limit, able], { list });
      let hints = 0;
      followed.adapter.onHint(() => hints++);
      await until(async () => (await followed.sync(since))?.mempool === 'complete', 'a first look');
      await able.listen();
      await until(() => all(followed.adapter, ({ watched }) => watched === scripts.length), 'both to watch');
      /** As the program does: after a hint, and at once while something is incomplete. */
      async function follow(isThere: (update: ChainUpdate) => boolean, what: string): Promise<void> {
        let isDue = true;
        await until(
          async () => {
            if (!isDue && hints === 0) return false;
            hints = 0;
            const update = await followed.sync(since);
            isDue = update?.mempool !== 'complete';
            return update !== null && isThere(update);
          },
          what,
          SOON_MS,
        );
      }
      return { ...followed, limit, able, follow };
    }
    const isSeen = ({ credits }: ChainUpdate): boolean =>
      credits.some((credit) => credit.txid === txid && credit.block?.height === 41);

    const isAt =
      (height: number) =>
      ({ checkpoint }: ChainUpdate): boolean =>
        checkpoint.at(-1)?.height === height;

    it('is seen as soon as it has it', async () => {
      const { limit, able, leftOut, follow } = await pair();
      limit.mined(block);
      limit.pay(full, inBlock);
      await follow(isAt(41), 'the block of the first');
      able.mined(block);
      able.pay(full, inBlock);
      await follow(isSeen, 'the payment');
      // the second server could not give it a moment ago, and refused nothing
      expect(leftOut).toEqual([]);
    });

    it('is seen as soon as it announces it', async () => {
      const { limit, able, leftOut, follow } = await pair();
      for (const server of [limit, able]) server.mined(block);
      limit.pay(full, inBlock);
      await follow(isAt(41), 'the block');
      able.pay(full, inBlock);
      await follow(isSeen, 'the payment');
      expect(leftOut).toEqual([]);
    });

    it('is not asked for without end where tips are announced without end', async () => {
      const { limit, able, follow } = await pair();
      able.answer = limit.answer;
      for (const server of [limit, able]) server.pay(full, inBlock);
      const before = able.calls.get(HISTORY) ?? 0;
      for (let i = 0; i < 30; i++) {
        const [tip, height] = i % 2 === 0 ? [block, 41] : [last, 40];
        for (const server of [limit, able]) {
          server.headers = [REGTEST_GENESIS, ...main, ...(height === 41 ? [block] : [])];
          server.tell('blockchain.headers.subscribe', [{ height, hex: tip.toString('hex') }]);
        }
        await follow(isAt(height), 'the tip');
      }
      expect((able.calls.get(HISTORY) ?? 0) - before).toBeLessThan(15);
    });
  });

  it('holds the event loop for short turns only, as does any other large answer', async () => {
    const long = JSON.stringify(entries(20_000));
    const deep = '['.repeat(2_000_000);
    const wide = `[${'{},'.repeat(2_000_000)}{}]`;
    const shapes = {
      long,
      deep,
      wide,
      digits: `[${'1'.repeat(8_000_000)}]`,
      escapes: `"${'\\u0041'.repeat(1_300_000)}"`,
    };
    for (const [name, text] of Object.entries(shapes)) {
      const stub = await burdened(() => new RawJson(text));
      const [server] = (await clientSetOf([stub])).ready();
      // The best of some: the first ones compile what they run.
      const turnsMs: number[] = [];
      for (let i = 0; i < ATTEMPTS && server?.state === 'ready'; i++) {
        turnsMs.push((await turnsOf(server.history(full).catch(() => {}))).longest);
      }
      const ms = Math.min(...turnsMs) / slowness();
      expect({ name, ms }).toEqual({ name, ms: expect.toSatisfy((ms) => ms < TURN_MS_MAX) });
    }
  });
});

describe('a history in the middle of a block', () => {
  const scriptHash = 'ef'.repeat(32);
  const twice = [20, 0].map((height) => ({ tx_hash: 'cd'.repeat(32), height }));
  const HISTORY = 'blockchain.scripthash.get_history';

  it.each([
    { what: 'that ends is no fault', afterMs: 50_000, state: 'ready' },
    { what: 'that lasts a minute is one', afterMs: 61_000, state: 'dropped' },
  ])('$what', async ({ afterMs, state }) => {
    const stub = await serve(main, (method) => (method === HISTORY ? twice : undefined));
    const set = await clientSetOf([stub]);
    const [server] = set.ready() as [Server];
    await expect(server.history(scriptHash)).rejects.toThrow(Between);
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + afterMs);
    const ended = server.history(scriptHash).catch((error: Error) => error.message);
    expect(await ended.finally(() => clock.mockRestore())).toContain('both in a block and as unconfirmed');
    expect(server.state).toBe(state);
  });

  it('is asked for again within seconds, and once for all that asks at a time', async () => {
    const list = new FactBook();
    const { script } = addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest');
    list.watch({ address: '', script });
    let isBetween = false;
    const server = await serve(main, (method) => (method === HISTORY && isBetween ? twice : undefined));
    const { adapter, alerts, sync } = open([server], { list });
    adapter.onHint(() => {});
    const look = async () => (await sync(checkpointOf(main).slice(-1)))?.mempool;
    // only then is it subscribed: before, the rotation may ask for the same history, too
    await until(async () => (await look()) === 'complete', 'a first complete view');
    const asked = (): number => (server.calls.get(HISTORY) ?? 0) - before;
    const before = server.calls.get(HISTORY) ?? 0;
    const began = performance.now();
    isBetween = true;
    server.pay(scriptHashOf(script), [{ tx_hash: 'cd'.repeat(32), height: 20 }]);
    await until(async () => {
      const isAsked = asked() > 0;
      const mempool = await look();
      if (isAsked) expect(mempool).not.toBe('complete');
      return asked() > 2;
    }, 'it to be asked for again');
    // two pauses of a second at least
    expect(performance.now() - began).toBeGreaterThanOrEqual(2_000);
    isBetween = false;
    server.pay(scriptHashOf(script), []);
    await until(async () => (await look()) === 'complete', 'a complete view');
    expect(alerts).toEqual([]);
  });
});

describe('an invented transaction that takes long to read', () => {
  const script = addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest').script;
  const output = { units: 546n, script };
  const giant = writeTransaction({
    inputs: [{ txid: 'ab'.repeat(32), vout: 0 }],
    outputs: Array.from({ length: 60_000 }, () => output),
  });
  const txid = hashOf(giant);

  it.each([
    { where: 'in the mempool', height: 0, alerted: 0 },
    { where: 'above the tip', height: 41, alerted: 0 },
    { where: 'in a block', height: 20, alerted: 1 },
  ])('$where is not read', async ({ height, alerted }) => {
    const list = new FactBook();
    list.watch({ address: '', script });
    const raw = giant.toString('hex');
    const proof = { merkle: ['cd'.repeat(32)], pos: 1, block_height: height };
    const server = await serve(main, (method) => {
      if (method === 'blockchain.transaction.get') return raw;
      return method === 'blockchain.transaction.get_merkle' ? proof : undefined;
    });
    server.histories.set(scriptHashOf(script), [{ tx_hash: txid, height, fee: 1 }]);
    const { adapter, alerts, sync } = open([server], { list });
    adapter.onHint(() => {});
    await until(async () => {
      const update = await sync(checkpointOf(main).slice(-1)).catch(() => null);
      expect(update?.credits ?? []).toEqual([]);
      return server.calls.has('blockchain.transaction.get') && alerts.length === alerted;
    }, 'it to be asked for');
    const read = vi.mocked(parseAnyTransaction).mock.calls.filter(([bytes]) => bytes.length === giant.length);
    expect(read).toEqual([]);
    expect(alerts.join()).toMatch(alerted > 0 ? 'does not prove that transaction' : /^$/);
  });
});

describe('on a network whose blocks come by themselves', () => {
  const HOUR_S = 3_600;
  /** Forty blocks, the last of them so long ago. */
  const endingBefore = (seconds: number): Buffer[] => {
    const end = Math.floor(Date.now() / 1_000) - seconds;
    const spacing = Math.floor((end - REGTEST_GENESIS.readUInt32LE(68)) / 40);
    const first = branch(REGTEST_GENESIS, 39, 7, spacing);
    return [...first, mine(first.at(-1) as Buffer, { timeSeconds: end, salt: 7 })];
  };

  it.each([
    { what: 'ten minutes', seconds: 600, mempool: 'complete' },
    { what: 'half a day', seconds: 12 * HOUR_S, mempool: 'unknown' },
  ])('a tip that is $what old leaves the mempool $mempool, and tells the time of the blocks', async (row) => {
    const headers = endingBefore(row.seconds);
    const server = await serve(headers);
    const { adapter, sync } = open([server]);
    const look = () => sync(checkpointOf(headers).slice(-1));
    await until(async () => (await look())?.mempool === 'complete', 'a complete view');
    // the headers of a public network cannot be made here
    Object.defineProperty(adapter, 'network', { value: 'testnet' });
    const update = await look();
    expect(update).toMatchObject({
      mempool: row.mempool,
      // of the eleven newest, the one in the middle (BIP-113)
      tipMedianTime: headers.at(-6)!.readUInt32LE(68) * 1_000,
    });
  });
});

describe('a time limit of the caller', () => {
  it('ends in Unavailable, whatever was asked', async () => {
    const list = new FactBook();
    const watched = addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest');
    list.watch(watched);
    const server = await serve(main);
    const { adapter, sync } = open([server], { list });
    adapter.onHint(() => {});
    await until(async () => (await sync(checkpointOf(main).slice(-1)))?.mempool === 'complete', 'a first look');
    server.answer = () => SILENCE;
    const raw = writeTransaction({
      inputs: [{ txid: 'ab'.repeat(32), vout: 0 }],
      outputs: [{ units: 1n, script: watched.script }],
    });
    const soon = () => AbortSignal.timeout(100);
    const asked = {
      sync: adapter.sync(checkpointOf(main).slice(-1), soon()),
      begin: adapter.begin(null, soon()),
      feeRate: adapter.spending.feeRate(2, soon()),
      transaction: adapter.spending.transaction('ab'.repeat(32), null, soon()),
      unconfirmed: coinSource(adapter).unconfirmed('ab'.repeat(32), soon()),
      broadcast: adapter.spending.broadcast(raw.toString('hex'), soon()),
      coins: adapter.holdings.coins([], soon()),
    };
    const ends = Object.entries(asked).map(async ([what, done]) => [
      what,
      await done.catch((error: Error) => error.name),
    ]);
    for (const [what, name] of await Promise.all(ends)) expect({ what, name }).toEqual({ what, name: 'Unavailable' });
  });
});

describe("a server of the operator's own", () => {
  const since = checkpointOf(main).slice(-1);
  const MINUTE_MS = 60_000;

  it('is tried again within a minute after a lie, and a stranger is not', async () => {
    const lies: Answer = (method) => (method === 'blockchain.scripthash.subscribe' ? 7 : undefined);
    const list = new FactBook();
    list.watch(addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest'));
    const [own, stranger] = [await serve(main, lies), await serve(main, lies)];
    const ours = open([own], { list, own: true, timeouts: SOON_BACK });
    const theirs = open([stranger], { list, folder: join(folder, 'other') });
    for (const { adapter, sync } of [ours, theirs]) {
      adapter.onHint(() => {});
      await sync(since).catch(() => {});
      expect(adapter.servers()[0]).toMatchObject({ state: 'dropped' });
    }
    for (const server of [own, stranger]) server.answer = () => undefined;
    await until(() => ours.adapter.servers()[0]?.state === 'ready', 'it to be back', MINUTE_MS);
    expect(await ours.sync(since)).toMatchObject({ mempool: 'complete' });
    expect(ours.alerts).toHaveLength(1);
    expect(TIMEOUTS.ownRetryMs).toBeLessThan(MINUTE_MS / 2);
    expect(theirs.adapter.servers()[0]).toMatchObject({ state: 'dropped' });
  });

  it('is noticed within 15 seconds when it freezes', async () => {
    const server = await serve(main);
    const { adapter, sync } = open([server], { own: true });
    adapter.onHint(() => {});
    await until(async () => (await sync(since))?.mempool === 'complete', 'a first look');
    server.answer = () => SILENCE;
    const began = performance.now();
    await expect(sync(since)).rejects.toThrow(Unavailable);
    await until(() => adapter.health().error !== null, 'it to be noticed');
    expect(performance.now() - began).toBeLessThan(15_000);
    server.answer = () => undefined;
    await until(async () => (await sync(since).catch(() => null))?.mempool === 'complete', 'it to be back', MINUTE_MS);
  });
});

describe('an outage of all servers', () => {
  it('ends for all of them when one is there again', async () => {
    const stubs = [await serve(main), await serve(main), await serve(main)];
    const set = await clientSetOf(stubs);
    for (const stub of stubs) await stub.close();
    await until(() => set.ready().length === 0, 'all to be gone');
    // as after many tries: the next one is a minute away
    for (const server of set.servers) server.retries.failures = 8;
    await until(
      () => set.servers.every(({ state, retries }) => retries.failures === 9 && state === 'waiting'),
      'a try of each',
    );
    for (const stub of stubs) await stub.listen();
    const [first] = set.servers;
    await first?.connect();
    await until(() => set.ready().length === 3, 'all to be connected', SOON_MS);
  });

  it('is looked into every 20 seconds, also where each of them failed often', async () => {
    const stub = await serve(main);
    const set = await clientSetOf([stub], false);
    await stub.close();
    await until(() => set.ready().length === 0, 'it to be gone');
    for (const server of set.servers) server.retries.failures = 8;
    await until(
      () => set.servers.every(({ state, retries }) => retries.failures === 9 && state === 'waiting'),
      'a try',
    );
    await stub.listen();
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 20_000);
    await until(() => set.ready().length === 1, 'it to be connected', SOON_MS).finally(() => clock.mockRestore());
  });
});

describe('the server that is asked first', () => {
  const HOUR_MS = 3_600_000;

  it.each([
    { host: 'localhost', hours: 1, changes: false },
    { host: 'localhost', hours: 7, changes: true },
    { host: '127.0.0.1', hours: 7, changes: false },
  ])('beside one of $host is another one after $hours hours: $changes', async ({ host, hours, changes }) => {
    const set = await clientSetOf([await serve(main), await serve(main, undefined, host)]);
    const before = set.primary;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + hours * HOUR_MS);
    set.elect();
    const after = set.primary;
    // it stays for hours then
    for (let i = 0; i < 10; i++) set.elect();
    clock.mockRestore();
    expect([after !== before, set.primary]).toEqual([changes, after]);
  });
});

describe('servers of one operator', () => {
  it('are connected to where there is no other', async () => {
    const servers = [
      await serve(main),
      await serve(main),
      await serve(main),
      await serve(main, undefined, 'localhost'),
    ];
    const { adapter } = open(servers);
    adapter.onHint(() => {});
    await until(() => adapter.servers().filter(({ state }) => state === 'ready').length === 3, 'three to be connected');
    expect(adapter.servers().at(-1)).toMatchObject({ state: 'ready' });
  });

  it.each([
    { host: '127.0.0.1', asked: 0, agreed: true },
    { host: 'localhost', asked: 1, agreed: false },
  ])(
    'are one opinion: beside one of $host, a large credit is agreed on at once: $agreed',
    async ({ host, ...then }) => {
      let asked = 0;
      const counts: Answer = (method) => {
        if (method === 'blockchain.block.header') asked++;
        return undefined;
      };
      const [first, second] = [await serve(main), await serve(main, undefined, host)];
      const set = await clientSetOf([first, second]);
      for (const server of [first, second]) server.answer = counts;
      const block = { height: 40, hash: hashOf(main.at(-1) as Buffer) };
      const held = { place: { block, blockTime: 0 }, agreed: false, mentions: new Set(['ab'.repeat(32)]), txid: 'cd' };
      const headers = { hashAt: () => block.hash } as unknown as Headers;
      const bug = (error: unknown) => expect.fail(String(error));
      const agreement = new Agreement({ set, headers, isNeeded: () => true, listener: { wake() {}, bug } });
      opened.push({ close: async () => agreement.close() });
      agreement.check([held as unknown as UnstoredTransaction]);
      expect(held.agreed).toBe(then.agreed);
      await until(() => asked === then.asked, 'the second to be asked, or nobody');
    },
  );
});

describe('the coins that servers hold', () => {
  const UNSPENT = 'blockchain.scripthash.listunspent';
  const next = branch(main.at(-1) as Buffer, 3);
  const scripts = Array.from({ length: 60 }, (_, index) =>
    addressOfKey(childPublicKey(testAccount, 0, index), 'BTC', 'regtest'),
  );
  const hashes = scripts.map(({ script }) => scriptHashOf(script));
  /** Every third script had money once. */
  const paid = hashes.filter((_, index) => index % 3 === 0);
  const txidOf = (index: number) => index.toString(16).padStart(64, '0');

  function books(): FactBook {
    const list = new FactBook();
    for (const [index, target] of scripts.entries()) {
      const targetId = list.watch(target);
      if (index % 3 > 0) continue;
      const id = `${txidOf(index)}:0`;
      const block = { height: 10, hash: hashOf(main[9] as Buffer) };
      const amount = { asset: 'BTC' as const, units: 1_000n };
      list.credits.set(id, { id, txid: txidOf(index), targetId, amount, block, inputs: [], replaceable: false });
    }
    return list;
  }
  async function holder(answer: Answer = () => undefined, host?: string): Promise<StubServer> {
    const server = await serve(main, answer, host);
    for (const [index, hash] of hashes.entries()) {
      const coin = { tx_hash: txidOf(index), tx_pos: 0, value: 1_000, height: 10 };
      const later = { tx_hash: txidOf(1_000 + index), tx_pos: 1, value: 5, height: 41 };
      server.coins.set(hash, [coin, { ...later, height: 0, tx_pos: 2 }, later]);
    }
    return server;
  }
  const signal = () => AbortSignal.timeout(SYNC_MS);
  const expected = paid.map((_, index) => ({ outpoint: `${txidOf(3 * index)}:0`, units: 1_000n, height: 10 }));
  const sorted = (coins: readonly HeldCoin[]) => coins.toSorted((a, b) => a.outpoint.localeCompare(b.outpoint));

  it('are asked of addresses that ever had money alone, as of one block, however many come meanwhile', async () => {
    const asked: string[] = [];
    const server: StubServer = await holder(async (method, [hash]) => {
      if (method !== UNSPENT) return undefined;
      asked.push(hash as string);
      if (asked.length % 8 === 0 && server.headers.length - 41 < next.length) {
        server.mined(next[server.headers.length - 41] as Buffer);
        await until(() => adapter.health().tip?.height === server.tip.height, 'the block to be known');
      }
      return undefined;
    });
    const { adapter } = open([server], { list: books() });
    const held = await adapter.holdings.coins([], signal());
    expect({ ...held, coins: sorted(held.coins) }).toEqual({
      coins: expected,
      untold: [],
      lessMempool: true,
      tip: { height: 40, hash: hashOf(main.at(-1) as Buffer) },
      until: { height: 42, hash: hashOf(next[1] as Buffer) },
    });
    expect(asked).toEqual(paid);
  });

  it('are asked of another server than the asked one, whose end ends nothing', async () => {
    let answered = 0;
    const asked = await holder();
    const other = await holder(undefined, 'localhost');
    const { adapter } = open([asked, other], { list: books(), own: true, timeouts: SOON_BACK });
    adapter.onHint(() => {});
    await until(() => all(adapter, ({ behind }) => behind === 0), 'both to be connected');
    const [first, second] = adapter.health().source === asked.url ? [asked, other] : [other, asked];
    for (const how of [() => 7, () => new RawJson('}')] as Answer[]) {
      answered = 0;
      second.answer = (method, params) => (method === UNSPENT && answered++ > 4 ? how(method, params) : undefined);
      const held = await adapter.holdings.coins([], signal());
      expect(sorted(held.coins)).toEqual(expected);
      expect(adapter.servers().find(({ name }) => name === first.url)).toMatchObject({
        state: 'ready',
        asked: true,
        failures: 0,
      });
      expect(answered).toBeGreaterThan(4);
      second.answer = () => undefined;
      await until(() => all(adapter, ({ behind }) => behind === 0), 'the other to be back', 30_000);
    }
  });

  it('that no server tells are named', async () => {
    const refuses: Answer = (method, [hash]) => {
      if (method === UNSPENT && hash === paid[1]) throw new Error('history too large');
      return undefined;
    };
    const { adapter, alerts } = open([await holder(refuses), await holder(refuses)], { list: books() });
    const held = await adapter.holdings.coins([], signal());
    expect(held.untold).toEqual([4]);
    expect(held.coins).toHaveLength(paid.length - 1);
    expect(alerts).toEqual([]);
    expect(adapter.servers().filter(({ failures }) => failures > 0)).toEqual([]);
  });
});

/** Connected servers of a client, the first of them asked. */
async function clientSetOf(servers: readonly StubServer[], own = true): Promise<ServerSet> {
  const events = { onTip() {}, onStatus() {}, onReady() {}, onGone() {}, onDropped() {}, onPrimary() {} };
  const set = new ServerSet({
    endpoints: servers.map(({ url }) => endpointOf(url)),
    own,
    proxy: null,
    proxyForAll: false,
    pins: new Pins(null),
    timeouts: TIMEOUTS,
    genesis: [hashOf(REGTEST_GENESIS)],
    events,
    behind: () => 0,
  });
  opened.push({ close: async () => set.close() });
  set.start();
  await until(() => set.ready().length === servers.length, 'all to be connected');
  return set;
}
