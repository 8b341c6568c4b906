/** Histories that cannot be read at the server that is asked, because of it or of another one. No node is needed. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoredCoin } from '../../daemon/chains/adapter.ts';
import { childPublicKey } from '../../daemon/chains/hd.ts';
import { addressOfKey } from '../../daemon/chains/utxo/address.ts';
import { ElectrumAdapter } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { scriptHashOf } from '../../daemon/chains/utxo/electrum/histories/scripts.ts';
import { MS_PER_HOUR } from '../../daemon/domain/time.ts';
import { type Answer, StubServer } from '../nodes/stub-server.ts';
import { undoAll } from '../support/undo.ts';
import { branch, hashOf, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { until } from './conformance.ts';
import { FactBook } from './fact-book.ts';
import { writeTransaction } from './fixtures/serial.ts';
import { testAccount } from './keys.ts';

const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const HISTORY = 'blockchain.scripthash.get_history';
const SYNC_MS = 15_000;
const main = branch(REGTEST_GENESIS, 40, 7);
const since = [{ height: 40, hash: hashOf(main.at(-1) as Buffer) }];
const { script } = addressOfKey(childPublicKey(testAccount, 0, 0), 'BTC', 'regtest');
const scriptHash = scriptHashOf(script);
const anyStatus = (): string => randomBytes(32).toString('hex');

const opened: { close(): Promise<void> }[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unread-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await undoAll(opened.splice(0).map((one) => () => one.close()));
  await rm(folder, { recursive: true, force: true });
});

/** Two servers of different operators, both connected, of which the first is asked. `isAlone`: only that one is. */
async function pair(isAlone = false) {
  const first = await StubServer.start({ headers: main });
  const second = await StubServer.start({ headers: main, host: 'localhost' });
  const alerts: string[] = [];
  const list = new FactBook();
  list.watch({ address: '', script });
  const adapter = new ElectrumAdapter({
    chain: 'BTC',
    network: 'regtest',
    folder,
    list,
    servers: [first.url, second.url],
    timeouts: { stallMs: 600_000, requestMs: 600_000 },
    alert: (server, message) => alerts.push(`${server}: ${message}`),
    leftOut: (_, message) => alerts.push(message),
  });
  opened.push(adapter, first, second);
  await second.close();
  adapter.onHint(() => {});
  const look = () => adapter.sync(since, AbortSignal.timeout(SYNC_MS));
  const view = async () => (await look())?.mempool;
  await until(async () => (await view().catch(() => null)) === 'complete', 'a first view');
  if (!isAlone) {
    await second.listen();
    const isThere = () => adapter.servers().every(({ state, watched }) => state === 'ready' && watched === 1);
    await until(isThere, 'both to watch');
  }
  expect(adapter.health().source).toBe(first.url);
  return { first, second, adapter, alerts, list, look, view };
}

// Fulcrum does so with a history that is longer than its limit
describe('an address whose history is told as an empty one, although a block pays it', () => {
  const stored: StoredCoin = {
    targetId: 1,
    outpoint: `${'cd'.repeat(32)}:0`,
    txid: 'cd'.repeat(32),
    asset: 'BTC',
    units: 1_000n,
    blockHeight: 40,
    blockHash: since[0]!.hash,
    locked: false,
    spentTxid: null,
    spentBlockHeight: null,
    spentBlockHash: null,
  };

  async function emptied() {
    const { first, list, ...rest } = await pair();
    vi.spyOn(list, 'coinsOf').mockReturnValue([stored]);
    first.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    first.tell(SUBSCRIBE, [scriptHash, null]);
    return { first, list, ...rest };
  }

  it('is asked for at another server', async () => {
    const { second, alerts, look, adapter, first } = await emptied();
    const raw = writeTransaction({
      inputs: [{ txid: '1'.repeat(64), vout: 0 }],
      outputs: [{ units: 70_000n, script }],
    });
    const txid = hashOf(raw);
    second.answer = (method, [id]) =>
      method === 'blockchain.transaction.get' && id === txid ? raw.toString('hex') : undefined;
    second.pay(scriptHash, [
      { tx_hash: stored.txid, height: 40 },
      { tx_hash: txid, height: 0 },
    ]);
    await until(
      async () => {
        const update = await look();
        return update?.mempool === 'complete' && update.credits.some((credit) => credit.txid === txid);
      },
      'the payment',
      SYNC_MS,
    );
    expect(adapter.health().source).toBe(first.url);
    expect(alerts).toEqual([]);
  });

  it('ends no invoice by that', async () => {
    const { adapter } = await emptied();
    expect(await adapter.absence?.showNothing({ id: 1, script }, AbortSignal.timeout(SYNC_MS))).toBeNull();
  });

  it('is told to the operator where no other one gives it', async () => {
    const { alerts, view } = await emptied();
    await until(async () => (await view()) === 'complete' && alerts.length > 0, 'a complete view', SYNC_MS);
    expect(alerts).toEqual([expect.stringContaining('no history of an address that a block pays')]);
  });
});

describe('an address whose history cannot be read at the server that is asked', () => {
  const STEP_MS = 5_000;

  let laterMs: number;

  /** As the program asks, for so long: the views. */
  async function views(view: () => Promise<string | undefined>, forMs: number): Promise<(string | undefined)[]> {
    const told: (string | undefined)[] = [];
    const now = performance.now.bind(performance);
    laterMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    for (; laterMs < forMs; laterMs += STEP_MS) told.push(await view());
    return told;
  }

  const flips =
    (server: StubServer): Answer =>
    (method, [first]) => {
      if (first !== scriptHash) return undefined;
      if (method === HISTORY) server.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
      return method === SUBSCRIBE ? anyStatus() : undefined;
    };
  const isBusy = (): Answer => {
    const status = anyStatus();
    return (method, [first]) => {
      if (first !== scriptHash) return undefined;
      if (method === HISTORY) throw Object.assign(new Error('server busy - request timed out'), { code: -102 });
      return method === SUBSCRIBE ? status : undefined;
    };
  };

  it.each<[why: string, answerOf: (server: StubServer) => Answer]>([
    ['which announces another status with each answer', flips],
    ['which is busy each time', isBusy],
  ])('keeps no view from being complete where another one gives it: %s', async (_, answerOf) => {
    const { first, second, adapter, alerts, view } = await pair();
    first.answer = answerOf(first);
    first.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    const told = await views(view, 90_000);
    // a busy one gets a minute, or what is left of it by the machine's own time
    expect(told.slice(0, 6)).not.toContain('complete');
    expect(told.at(-1)).toBe('complete');
    expect(adapter.health().source).toBe(second.url);
    expect(adapter.servers()).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);
    expect(alerts).toEqual([]);
  });

  /** Names so many payments that nobody made, others each time. `shows`: what it does before it shows one. */
  function invents(count: number, shows: () => void): Answer {
    const raws = new Map<string, string>();
    return (method, [first]) => {
      if (method === 'blockchain.transaction.get') shows();
      if (method === 'blockchain.transaction.get') return raws.get(`${first}`);
      if (first !== scriptHash || method !== HISTORY) return method === SUBSCRIBE ? anyStatus() : undefined;
      return Array.from({ length: count }, () => {
        const raw = writeTransaction({
          inputs: [{ txid: anyStatus(), vout: 0 }],
          outputs: [{ units: 70_000n, script }],
        });
        raws.set(hashOf(raw), raw.toString('hex'));
        return { tx_hash: hashOf(raw), height: 0, fee: 1 };
      });
    };
  }

  it.each<[why: string, answerOf: (server: StubServer) => Answer]>([
    [
      'announces another status whenever it shows a transaction',
      (server) => invents(2, () => server.tell(SUBSCRIBE, [scriptHash, anyStatus()])),
    ],
    [
      'takes seconds to show one of many',
      () =>
        invents(500, () => {
          laterMs += 3_000;
        }),
    ],
  ])('keeps no view from being complete for long where it can be read at one that %s', async (_, answerOf) => {
    const { first, second, adapter, alerts, view } = await pair();
    first.answer = answerOf(first);
    first.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    await sleep(100);
    const told = await views(view, 180_000);
    expect(told.slice(0, 3)).not.toContain('complete');
    expect(told.at(-1)).toBe('complete');
    expect(adapter.health().source).toBe(second.url);
    expect(adapter.servers()).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);
    expect(alerts).toEqual([]);
  });

  const refuses: Answer = (method, [asked]) => {
    if (method !== HISTORY || asked !== scriptHash) return undefined;
    throw Object.assign(new Error('response too large (over 1,000,000 bytes)'), { code: -101 });
  };

  it.each<[why: string, answerOf: (server: StubServer) => Answer]>([
    ['is busy each time', isBusy],
    ['announces another status with each answer', flips],
  ])('keeps no view from being complete where the asked one refuses it and the other one %s', async (_, answerOf) => {
    const { first, second, adapter, alerts, view } = await pair();
    second.answer = answerOf(second);
    first.answer = refuses;
    second.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    await sleep(100);
    first.pay(scriptHash, [{ tx_hash: 'ab'.repeat(32), height: 5 }]);
    await sleep(100);
    const told = await views(view, 300_000);
    expect(told.slice(0, 6)).not.toContain('complete');
    expect(told.slice(18)).toContain('complete');
    expect(adapter.health().source).toBe(first.url);
    expect(adapter.servers()).toMatchObject([{ state: 'ready' }, { state: 'ready' }]);
    expect(alerts).toEqual([expect.stringContaining('refuse its history')]);
  });

  it('is waited for a minute again once another one has given it', async () => {
    const { first, second, adapter, view } = await pair();
    const answers = [isBusy(), refuses];
    first.answer = (method, params) => {
      const answer = method === HISTORY ? (answers.shift() ?? isBusy()) : () => undefined;
      return answer(method, params);
    };
    const raw = writeTransaction({
      inputs: [{ txid: '1'.repeat(64), vout: 0 }],
      outputs: [{ units: 70_000n, script }],
    });
    const history = [{ tx_hash: hashOf(raw), height: 0, fee: 1 }];
    second.answer = (method) => (method === 'blockchain.transaction.get' ? raw.toString('hex') : undefined);
    second.pay(scriptHash, history);
    first.pay(scriptHash, history);
    await sleep(100);
    await until(async () => (await view()) === 'complete' && answers.length === 0, 'a complete view');
    first.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    await sleep(100);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + MS_PER_HOUR);
    for (let looks = 0; looks < 3; looks++) expect(await view()).not.toBe('complete');
    expect(adapter.health().source).toBe(first.url);
  });

  it('is waited for a minute again once it was not watched', async () => {
    const { first, second, adapter, list, view } = await pair();
    first.answer = refuses;
    second.answer = isBusy();
    second.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    await sleep(100);
    first.pay(scriptHash, [{ tx_hash: 'ab'.repeat(32), height: 5 }]);
    await sleep(100);
    expect((await views(view, 90_000)).at(-1)).toBe('complete');
    const active = vi.spyOn(list, 'active').mockReturnValue([]);
    const stamp = vi.spyOn(list, 'stamp').mockReturnValue('none');
    expect(await view()).toBe('complete');
    await until(async () => adapter.servers().every(({ watched }) => watched === 0), 'none to be watched');
    active.mockRestore();
    stamp.mockRestore();
    expect(await view()).not.toBe('complete');
  });

  it.each<[why: string, answerOf: (server: StubServer) => Answer]>([
    ['are busy each time', isBusy],
    ['announce another status with each answer', flips],
  ])('is left out where all %s, and has the asked one changed once', async (_, answerOf) => {
    const { first, second, adapter, alerts, view } = await pair();
    for (const server of [first, second]) {
      server.answer = answerOf(server);
      server.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    }
    const sources = new Set<string>();
    const told = await views(async () => {
      const mempool = await view();
      sources.add(`${adapter.health().source}`);
      return mempool;
    }, 300_000);
    expect(told.slice(0, 6)).not.toContain('complete');
    expect(told.slice(-30).filter((mempool) => mempool === 'complete').length).toBeGreaterThan(20);
    expect([...sources]).toEqual([first.url, second.url]);
    expect(adapter.health().source).toBe(second.url);
    expect(alerts).toEqual([expect.stringContaining('give no history of it')]);
  });

  it('is not left out by servers that are busy for other addresses, too', async () => {
    const { first, second, alerts, list, view } = await pair();
    list.watch({ address: '', script: addressOfKey(childPublicKey(testAccount, 0, 1), 'BTC', 'regtest').script });
    await until(async () => (await view()) === 'complete', 'both to be watched');
    for (const server of [first, second]) {
      const answer = isBusy();
      server.answer = (method, params) => answer(method, method === HISTORY ? [scriptHash] : params);
      server.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    }
    await sleep(100);
    expect(await views(view, 200_000)).not.toContain('complete');
    expect(alerts).toEqual([]);
  });

  it('is left out by the only one, which stays connected', async () => {
    const { first, adapter, alerts, view } = await pair(true);
    first.answer = isBusy();
    first.tell(SUBSCRIBE, [scriptHash, anyStatus()]);
    const told = await views(view, 90_000);
    expect(told.slice(0, 6)).not.toContain('complete');
    expect(told.at(-1)).toBe('complete');
    expect(adapter.health().source).toBe(first.url);
    expect(first.connections).toBe(1);
    expect(alerts).toEqual([expect.stringContaining('give no history of it')]);
  });
});

it('reads a history whatever another server announces meanwhile', async () => {
  const { first, second, adapter, alerts, look } = await pair();
  const paid = ['1', '2'].map((digit) =>
    writeTransaction({ inputs: [{ txid: digit.repeat(64), vout: 0 }], outputs: [{ units: 70_000n, script }] }),
  );
  const history = paid.map((raw) => ({ tx_hash: hashOf(raw), height: 0, fee: 1 }));
  const raws = new Map(paid.map((raw) => [hashOf(raw), raw.toString('hex')]));
  first.answer = async (method, [asked]) => {
    if (method === 'blockchain.transaction.get') return raws.get(`${asked}`);
    if (method !== HISTORY) return undefined;
    await sleep(60);
    // before protocol 1.6 the status may be of another order
    return history.toReversed();
  };
  const timer = setInterval(() => second.tell(SUBSCRIBE, [scriptHash, anyStatus()]), 15);
  try {
    first.pay(scriptHash, history);
    const isSeen = async (): Promise<boolean> => {
      const update = await look();
      return update?.mempool === 'complete' && update.credits.length === paid.length;
    };
    await until(isSeen, 'a complete view', 8_000);
  } finally {
    clearInterval(timer);
  }
  expect(adapter.health().source).toBe(first.url);
  expect(alerts).toEqual([]);
});
