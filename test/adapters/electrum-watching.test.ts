/**
 * How many scripts a light client watches on which server, what it does with more, and how fast it looks: at limits of the
 * servers, of its own, and of what a server lets a client cost. No node is needed.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScriptList } from '../../daemon/chains/adapter.ts';
import { ElectrumAdapter, type ElectrumOptions } from '../../daemon/chains/utxo/electrum/electrum.ts';
import { Connection, TIMEOUTS } from '../../daemon/chains/utxo/electrum/servers/connection.ts';
import { ConnectionLost } from '../../daemon/chains/utxo/electrum/servers/faults.ts';
import { Pins } from '../../daemon/chains/utxo/electrum/servers/pins.ts';
import type { ChainUpdate, Checkpoint } from '../../daemon/domain/chain.ts';
import { Unavailable } from '../../daemon/domain/errors.ts';
import { CostAccount, type CostLimits, ELECTRUMX_LIMITS } from '../nodes/cost-limit.ts';
import { type Answer, SILENCE, StubServer } from '../nodes/stub-server.ts';
import { undoAll } from '../support/undo.ts';
import { branch, hashOf, REGTEST_GENESIS } from '../unit/chains/headers-kit.ts';
import { until } from './conformance.ts';
import { hashOfId, Numbers } from './numbers.ts';

const SUBSCRIBE = 'blockchain.scripthash.subscribe';
const UNSUBSCRIBE = 'blockchain.scripthash.unsubscribe';
const HISTORY = 'blockchain.scripthash.get_history';
const SYNC_MS = 90_000;
/** Two rounds of looks, with the pause of ten seconds between them: what was watched in the first is due in the second. */
const ROUNDS_MS_MAX = 90_000;

const headers = branch(REGTEST_GENESIS, 10, 3);
const checkpoint = [REGTEST_GENESIS, ...headers].map((header, height) => ({ height, hash: hashOf(header) }));

const opened: { close(): Promise<void> }[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'watching-'));
});
afterEach(async () => {
  await undoAll(opened.splice(0).map((one) => () => one.close()));
  await rm(folder, { recursive: true, force: true });
});

/** A server that has these headers, and what it was asked about each script. */
async function serve(answer: Answer = () => undefined): Promise<StubServer & { asked: Map<string, string[]> }> {
  const asked = new Map<string, string[]>();
  const server = await StubServer.start({
    headers,
    answer: (method, params) => {
      if (method.startsWith('blockchain.scripthash.')) {
        const list = asked.get(method) ?? [];
        list.push(String(params[0]));
        asked.set(method, list);
      }
      return answer(method, params);
    },
  });
  opened.push(server);
  return Object.assign(server, { asked });
}

/** A server whose clients are slowed down as they cost. */
async function costly(limits: CostLimits): Promise<StubServer & { asked: Map<string, string[]> }> {
  const server = await serve();
  const account = new CostAccount(limits, () => count(server, SUBSCRIBE) - count(server, UNSUBSCRIBE));
  const { answer } = server;
  server.answer = async (method, params) => {
    const admission = await account.admit(method, () => {});
    if (admission !== 'served') throw new Error(admission);
    return answer(method, params);
  };
  return server;
}

function open(list: ScriptList, servers: readonly StubServer[], options: Partial<ElectrumOptions> = {}) {
  const adapter = new ElectrumAdapter({
    chain: 'BTC',
    network: 'regtest',
    folder,
    list,
    servers: servers.map(({ url }) => url),
    ...options,
  });
  opened.push(adapter);
  /** Syncs until a view is complete. */
  const complete = (withinMs = SYNC_MS): Promise<void> =>
    until(
      async () => {
        try {
          return (await adapter.sync(checkpoint, AbortSignal.timeout(SYNC_MS)))?.mempool === 'complete';
        } catch (error) {
          if (error instanceof Unavailable) return false;
          throw error;
        }
      },
      'a complete view',
      withinMs,
    );
  return { adapter, complete };
}

const count = (server: StubServer, method: string): number => server.calls.get(method) ?? 0;

it('ends thousands of subscriptions in steps, and goes on meanwhile', async () => {
  const list = new Numbers(3_000);
  let underWay = 0;
  let most = 0;
  const server = await serve(async (method) => {
    if (method !== UNSUBSCRIBE) return undefined;
    most = Math.max(most, ++underWay);
    await sleep(50);
    underWay--;
    return true;
  });
  const { complete } = open(list, [server]);
  await complete();
  list.expecting = [...list.expecting.slice(2_600), 3_001];
  await complete();
  expect(server.asked.get(SUBSCRIBE)).toContain(hashOfId(3_001));
  await until(() => count(server, UNSUBSCRIBE) === 2_600, 'all that is not expected any more is ended');
  expect(most).toBeLessThanOrEqual(256);
  expect(server.connections).toBe(1);
});

it('says nothing of a chain that was reorganised while scripts were subscribed', async () => {
  const other = branch(REGTEST_GENESIS, 12, 4);
  const server = await serve(async (method) => {
    if (method !== SUBSCRIBE || server.headers.length > headers.length + 1) return undefined;
    server.headers = [REGTEST_GENESIS, ...other.slice(0, -1)];
    server.mined(other.at(-1)!);
    await until(() => adapter.health().tip?.hash === server.tip.hash, 'the other chain');
    return undefined;
  });
  const { adapter } = open(new Numbers(1), [server]);
  const tips: (string | undefined)[] = [];
  while (tips.at(-1) !== server.tip.hash) {
    const update = await adapter.sync(checkpoint, AbortSignal.timeout(SYNC_MS));
    if (update) tips.push(update.checkpoint.at(-1)?.hash);
  }
  expect(tips).toEqual([server.tip.hash]);
});

it('takes more unanswered requests than are bearable for a lost connection', async () => {
  const server = await serve((method) => (method === HISTORY ? SILENCE : undefined));
  const { hostname: host, port } = new URL(server.url.replace('tcp:', 'http:'));
  const connection = await Connection.open(
    {
      endpoint: { name: server.url, host, port: Number(port), tls: false },
      proxy: null,
      proxyForAll: false,
      pins: new Pins(join(folder, 'pins.json')),
    },
    { onNotification: () => {}, onEnd: () => {}, subscriptions: () => 0 },
    TIMEOUTS,
    new AbortController().signal,
  );
  const asked = Array.from({ length: 3_000 }, () => connection.request(HISTORY, [], () => null));
  const outcomes = await Promise.allSettled(asked);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ConnectionLost) });
});

describe('more scripts than are watched', () => {
  it('are looked at by turns, beyond our limit', async () => {
    const list = new Numbers(700);
    const server = await serve();
    const { adapter, complete } = open(list, [server], { watchedMax: 500 });
    await complete();
    expect(new Set(server.asked.get(SUBSCRIBE))).toEqual(new Set(list.expecting.slice(0, 500).map(hashOfId)));
    const others = list.expecting.slice(500).map(hashOfId);
    const lookedAt = (): boolean => others.every((hash) => server.asked.get(HISTORY)?.includes(hash));
    await until(lookedAt, 'all others are looked at', ROUNDS_MS_MAX);
    // What has news is watched from then on, whatever its place.
    server.histories.set(hashOfId(650), [{ tx_hash: 'ab'.repeat(32), height: 0 }]);
    await until(async () => {
      await adapter.sync(checkpoint, AbortSignal.timeout(SYNC_MS));
      return server.asked.get(SUBSCRIBE)?.includes(hashOfId(650)) === true;
    }, 'it is watched');
  });

  it('are looked at by turns, beyond a server’s own limit, whatever the order of its answers', async () => {
    const list = new Numbers(700);
    const joined = new Set<string>();
    const server = await serve(async (method, [hash]) => {
      await sleep(Math.random() * 100);
      if (method === UNSUBSCRIBE) joined.delete(String(hash));
      if (method !== SUBSCRIBE) return undefined;
      if (joined.size >= 300) throw new Error('too many subscriptions');
      joined.add(String(hash));
      return undefined;
    });
    const { complete } = open(list, [server]);
    await complete();
    // a tenth of what it accepts is kept for what becomes urgent
    const [first, rest] = [list.expecting.slice(0, 270), list.expecting.slice(270)].map((ids) => ids.map(hashOfId));
    await until(() => joined.size === 270, 'the others are not watched any more');
    expect(joined).toEqual(new Set(first));
    const looked = (): boolean => rest!.every((hash) => server.asked.get(HISTORY)?.includes(hash));
    await until(looked, 'all others are looked at', ROUNDS_MS_MAX);
    expect(server.connections).toBe(1);
  });
});

describe('a server that slows costly clients down', () => {
  /** ElectrumX's account for a tenth of the scripts, ten times as fast. */
  const limits: CostLimits = { ...ELECTRUMX_LIMITS, soft: 100, hard: 1_000, sleepMs: 250 };

  it('is asked as much as it answers, and watches all in the end', async () => {
    const list = new Numbers(1_000);
    const server = await costly(limits);
    const { complete } = open(list, [server]);
    await complete(90_000);
    expect(new Set(server.asked.get(SUBSCRIBE)).size).toBe(1_000);
    expect(server.connections).toBe(1);
  });

  it('is not asked again and again about what it watches, while somebody waits', async () => {
    const list = new Numbers(600);
    const server = await costly({ ...ELECTRUMX_LIMITS, soft: 100, hard: 1_000 });
    const { complete } = open(list, [server]);
    await complete(90_000);
    const asked = server.asked.get(SUBSCRIBE) ?? [];
    expect(new Set(asked).size).toBe(600);
    expect(asked.length).toBeLessThan(660);
  });

  it('watches a part, and others the rest, before a view is complete', async () => {
    const list = new Numbers(5_000);
    const servers = [await costly(limits), await serve(), await serve()];
    const { adapter, complete } = open(list, servers);
    await until(() => adapter.servers().every(({ state }) => state === 'ready'), 'all are connected');
    await complete(90_000);
    expect(new Set(servers.flatMap(({ asked }) => asked.get(SUBSCRIBE) ?? [])).size).toBe(5_000);
    expect(servers.map(({ connections }) => connections)).toEqual([1, 1, 1]);
  });

  it('tells a complete view only once what it does not watch was looked at, too', async () => {
    const list = new Numbers(700);
    const joined = new Set<string>();
    const server = await serve((method, [hash]) => {
      if (method === UNSUBSCRIBE) joined.delete(String(hash));
      if (method !== SUBSCRIBE) return undefined;
      if (joined.size >= 300) throw new Error('too many subscriptions');
      joined.add(String(hash));
      return undefined;
    });
    const { complete } = open(list, [server]);
    await complete();
    const seen = new Set([...joined, ...(server.asked.get(HISTORY) ?? [])]);
    expect(list.expecting.map(hashOfId).filter((hash) => !seen.has(hash))).toEqual([]);
  });
});

describe('scripts of whatever age', () => {
  it('are looked at from where a restart left the round', async () => {
    const list = new Numbers(0, 300);
    const server = await serve();
    const first = open(list, [server]);
    await first.adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    await until(() => existsSync(join(folder, 'BTC-regtest.rotation.json')), 'the first ones were looked at');
    await first.adapter.close();
    const second = open(list, [server]);
    await second.adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    await until(() => count(server, HISTORY) === 20, 'the next ones are looked at');
    expect(server.asked.get(HISTORY)).toHaveLength(20);
    expect(new Set(server.asked.get(HISTORY))).toEqual(new Set(Array.from({ length: 20 }, (_, i) => hashOfId(i + 1))));
  });

  it('are all looked at within a week, however many there are', async () => {
    const server = await serve();
    const { adapter } = open(new Numbers(0, 6_000_000), [server]);
    await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    const beganAtMs = performance.now();
    await until(() => count(server, HISTORY) >= 60, 'sixty are looked at');
    // Six million in a week are ten a second.
    expect(performance.now() - beganAtMs).toBeLessThan(8_000);
  });

  it('are looked at as fast as the server allows in a rescan: a thousand a second and more', async () => {
    const server = await serve();
    const { adapter } = open(new Numbers(0, 10_000), [server]);
    await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    const beganAtMs = performance.now();
    adapter.rescan();
    await until(() => !adapter.rescanning(), 'all are looked at', 60_000);
    const perSecond = 10_000 / ((performance.now() - beganAtMs) / 1_000);
    expect(new Set(server.asked.get(HISTORY)).size).toBe(10_000);
    expect(perSecond).toBeGreaterThan(1_000);
  });

  it('are all looked at in a rescan, although the disk refused to tell them once', async () => {
    const server = await serve();
    const list = new Numbers(0, 300);
    const { page } = list;
    let refusals = 0;
    list.page = (after, limit) => {
      if (limit > 1 && refusals++ === 0) throw new Error('disk I/O error');
      return page(after, limit);
    };
    const { adapter } = open(list, [server]);
    adapter.rescan();
    await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    await until(() => !adapter.rescanning(), 'all are looked at', 60_000);
    expect(refusals).toBeGreaterThan(1);
    expect(new Set(server.asked.get(HISTORY)).size).toBe(300);
  });

  it('are all looked at where a rescan was asked for before the first connection', async () => {
    const server = await serve();
    const { adapter } = open(new Numbers(0, 300), [server]);
    adapter.rescan();
    expect(adapter.rescanning()).toBe(true);
    await adapter.begin(null, AbortSignal.timeout(SYNC_MS));
    await until(() => !adapter.rescanning(), 'all are looked at', 60_000);
    expect(new Set(server.asked.get(HISTORY)).size).toBe(300);
  });
});

describe('the folder of the headers', () => {
  it('is opened again after the disk refused it', async () => {
    const server = await serve();
    const inTheWay = join(folder, 'chains');
    await writeFile(inTheWay, '');
    const { adapter, complete } = open(new Numbers(3), [server], { folder: inTheWay });
    await expect(adapter.begin(null, AbortSignal.timeout(SYNC_MS))).rejects.toThrow(Unavailable);
    await rm(inTheWay);
    expect(await adapter.begin(null, AbortSignal.timeout(SYNC_MS))).toEqual(checkpoint);
    await complete();
  });
});

describe('a reorganisation that is stored in part', () => {
  const old = branch(REGTEST_GENESIS, 10, 3);
  const next = [...old.slice(0, 8), ...branch(old[7] as Buffer, 3, 7)];
  const checkpointOf = (blocks: readonly Buffer[]) =>
    [REGTEST_GENESIS, ...blocks].map((header, height) => ({ height, hash: hashOf(header) }));
  const sync = async ({ adapter }: ReturnType<typeof open>, since: Checkpoint) => {
    let update: ChainUpdate | null = null;
    await until(async () => {
      update = await adapter.sync(since, AbortSignal.timeout(SYNC_MS)).catch((error: unknown) => {
        if (error instanceof Unavailable) return null;
        throw error;
      });
      return update !== null;
    }, 'an update');
    return update as unknown as ChainUpdate;
  };

  it('goes on from below it as from the present, and looks through no past', async () => {
    const server = await serve();
    const opened = open(new Numbers(3, 5_000), [server]);
    await opened.complete();
    server.headers = [REGTEST_GENESIS, ...next.slice(0, -1)];
    server.mined(next.at(-1) as Buffer);
    await until(() => opened.adapter.health().tip?.hash === server.tip.hash, 'the other branch');
    expect((await sync(opened, checkpoint)).orphaned).toEqual(checkpoint.slice(9));
    const update = await sync(opened, checkpoint.slice(0, 9));
    expect(update.checkpoint).toEqual(checkpointOf(next));
    expect(update.mempool).toBe('complete');
  });

  it('asks after a restart about the addresses of the blocks that left', async () => {
    const server = await serve();
    server.headers = [REGTEST_GENESIS, ...next];
    const list = new Numbers(3, 5_000);
    const held: Record<string, number> = { [hashOf(old[9] as Buffer)]: 4_000, [hashOf(next[9] as Buffer)]: 3_000 };
    Object.assign(list, {
      ahead: () => Object.keys(held),
      inBlock: (hash: string) => (held[hash] === undefined ? [] : list.page(held[hash] - 1, 1)),
    });
    const opened = open(list, [server]);
    const update = await sync(opened, checkpoint.slice(0, 9));
    expect(update.mempool).toBe('complete');
    expect(server.asked.get(SUBSCRIBE)?.toSorted()).toEqual([1, 2, 3, 4_000].map(hashOfId).toSorted());
  });
});
