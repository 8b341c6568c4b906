/** The search for used accounts of a chain whose addresses are asked for: how far it looks behind the jumps of restores. */
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { AccountDiscovery, type DiscoveryRequest } from '../../../daemon/app/recovery/account-discovery.ts';
import {
  accountsSearched,
  type SearchMemory,
  type SearchRecord,
  storedSearch,
} from '../../../daemon/app/recovery/discovery-record.ts';
import type { ChainAdapter, ScriptList } from '../../../daemon/chains/adapter.ts';
import { progressText } from '../../../daemon/cli/restore-words.ts';
import { RECOVERY } from '../../../daemon/contract/recovery.ts';
import type { AccountKey, Branch, Checkpoint } from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { INDICES_JUMPED, JUMPS_SEARCHED } from '../../../daemon/domain/indices.ts';
import { RECOVERY_METHODS } from '../../../daemon/http/operator/recovery.ts';
import { Bench } from './bench.ts';

const GAP = 20;
/** Fewer than are allowed for, since each costs time. */
const JUMPS = 3;
/** Where one is as good as several. */
const JUMPS_MIN = 1;
const keys = [{}, {}, {}] as AccountKey[];
const REQUEST = { network: 'regtest', birthday: 0, gap: GAP, jumps: JUMPS_MIN, accounts: { BTC: keys } } as const;
const scriptOf = (account: number, branch: Branch, index: number): Buffer =>
  Buffer.from(`${account}/${branch}/${index}`);

/**
 * A chain that has paid these addresses, in one block each. A reader of blocks sees what is listed when it comes by; the other
 * source is asked for addresses.
 */
function chainOf(list: ScriptList, paid: readonly Buffer[], isAsked: boolean): ChainAdapter {
  const idOf = (height: number) => ({ height, hash: `${height}` });
  const tip = paid.length;
  const known = new Set(paid.map(String));
  return {
    ...(isAsked
      ? { areUsed: async (scripts: readonly Uint8Array[]) => scripts.map((one) => known.has(String(one))) }
      : {}),
    deriveAddress: async (key: AccountKey, branch: Branch, index: number) => {
      return { script: scriptOf(keys.indexOf(key), branch, index) };
    },
    begin: async () => [idOf(0)],
    sync: async (since: Checkpoint) => {
      const height = Math.min(tip, (since.at(-1)?.height ?? 0) + 1);
      const credits = paid.slice(height - 1, height).flatMap((script) => {
        const targetId = list.targetIdOf(script);
        return targetId === undefined ? [] : [{ targetId }];
      });
      return { checkpoint: [idOf(height)], credits, mempool: height === tip ? 'complete' : 'unknown' };
    },
    health: () => ({ tip: idOf(tip) }),
    close: async () => undefined,
  } as unknown as ChainAdapter;
}

/** The search for the words' accounts on a chain that has paid these addresses. */
async function searched(paid: readonly Buffer[], isAsked: boolean, jumps = JUMPS) {
  const open = (_: unknown, __: unknown, list: ScriptList) => chainOf(list, paid, isAsked);
  const discovery = new AccountDiscovery({ ...REQUEST, jumps }, open);
  await discovery.done;
  expect(discovery.state.error).toBeNull();
  return discovery.state.used.map(({ account_no, receiving, change }) => [account_no, receiving, change]);
}

describe.each([true, false])('the search of the words (asked for addresses: %s)', (isAsked) => {
  it('finds one branch behind as many restores as the other one shows', async () => {
    // each of three machines was paid, and only the first and the last one sent change
    const receiving = [0, 1, 2].map((jumps) => scriptOf(0, 0, jumps * INDICES_JUMPED + 7));
    const change = [0, 2].map((jumps) => scriptOf(0, 1, jumps * INDICES_JUMPED + 2));
    const found = await searched([...change, ...receiving], isAsked, 1);
    expect(found).toEqual([[0, 2 * INDICES_JUMPED + 7, 2 * INDICES_JUMPED + 2]]);
  });

  it('finds money behind restores without a payment in between', async () => {
    const [receiving, change] = [3 * INDICES_JUMPED + 30, JUMPS * INDICES_JUMPED + 31];
    expect(await searched([scriptOf(0, 1, change)], isAsked)).toEqual([[0, -1, change]]);
    expect(await searched([scriptOf(0, 0, receiving)], isAsked)).toEqual([[0, receiving, -1]]);
    expect(await searched([scriptOf(0, 1, change)], isAsked, JUMPS - 2)).toEqual([]);
  });

  it('finds the money of another account behind them, also what came before its first payment', async () => {
    const [far, near, farChange] = [JUMPS * INDICES_JUMPED + 3 * GAP, 5, 3 * INDICES_JUMPED + GAP - 1];
    // a payer of the newest machine came first, one of the machine before all restores later
    const paid = [scriptOf(1, 0, far), scriptOf(1, 0, near), scriptOf(2, 1, farChange)];
    expect(await searched(paid, isAsked)).toEqual([
      [1, far, -1],
      [2, -1, farChange],
    ]);
  });
});

it('finds the accounts of the other chains where one cannot be searched, and says why', async () => {
  const pruned = 'regtest:BTC: the node does not have the blocks since the birthday';
  const open = (_: unknown, chain: string, list: ScriptList) => {
    if (chain !== 'BTC') return chainOf(list, [scriptOf(0, 0, 3), scriptOf(2, 1, 4)], false);
    return { ...chainOf(list, [], false), begin: () => Promise.reject(new Rejected('chain.pruned', pruned)) };
  };
  const discovery = new AccountDiscovery({ ...REQUEST, accounts: { BTC: keys, LTC: keys } }, open);
  await discovery.done;
  expect(discovery.state).toMatchObject({ running: false, error: pruned });
  expect(discovery.state.used).toEqual([
    { chain: 'LTC', account_no: 0, receiving: 3, change: -1 },
    { chain: 'LTC', account_no: 2, receiving: -1, change: 4 },
  ]);
  expect(discovery.state.chains.map(({ chain, done }) => [chain, done])).toEqual([
    ['BTC', false],
    ['LTC', true],
  ]);
});

it('looks behind as many restores as there can be in a row, unless told how many', async () => {
  const asked = { network: 'regtest', birthday: new Date(0).toISOString(), gap: GAP, accounts: {} } as const;
  let request: DiscoveryRequest | undefined;
  const discoverAccounts = async (given: DiscoveryRequest): Promise<void> => {
    request = given;
  };
  const params = RECOVERY['wallet.discover'].params.parse(asked);
  await RECOVERY_METHODS['wallet.discover']({ extra: { discoverAccounts } } as never, params);
  expect(request?.jumps).toBe(JUMPS_SEARCHED);
  for (const jumps of [2, JUMPS_SEARCHED]) {
    const receiving = jumps * INDICES_JUMPED + 5;
    const open = (_: unknown, __: unknown, list: ScriptList) => chainOf(list, [scriptOf(1, 0, receiving)], true);
    const discovery = new AccountDiscovery({ ...request!, accounts: { BTC: keys } }, open);
    const { state } = discovery;
    while (state.running && state.used.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(state.used).toEqual([{ chain: 'BTC', account_no: 1, receiving, change: -1 }]);
    // what is behind that takes seconds to derive
    await discovery.stop();
  }
});

const { now } = performance;
afterEach(() => {
  performance.now = now;
});

/** A memory as the service's. It is written to after each block or answer, and not every other second. */
function memoryWithoutPause(): SearchMemory {
  let stored: SearchRecord | null = null;
  let clock = 0;
  // no spy, which would remember each of a million calls
  performance.now = () => clock;
  return {
    read: () => stored,
    write: async (chains) => {
      stored = JSON.parse(JSON.stringify(chains));
      clock += 10_000;
    },
  };
}

/** A search that is interrupted once this many blocks were read. */
describe('a search that was interrupted', () => {
  /** Three accounts; addresses are paid behind jumps, so that the second half of a reading lists more. */
  const paid = [
    scriptOf(0, 0, 3),
    ...Array.from({ length: 40 }, (_, n) => Buffer.from(`a stranger's ${n}`)),
    scriptOf(1, 0, JUMPS_MIN * INDICES_JUMPED + 5),
    scriptOf(1, 1, 2),
    scriptOf(2, 0, 1),
  ];

  let whole: AccountDiscovery['state']['used'];
  beforeAll(async () => {
    whole = (await ended(new AccountDiscovery(REQUEST, opened().open))).used;
    expect(whole).toHaveLength(3);
  });

  it.each([1, 2, 20, 41, 42, 43, 44])('after %d blocks finds the same, and reads none again', async (blocks) => {
    const memory = memoryWithoutPause();
    const first = opened(blocks);
    const cut = new AccountDiscovery(REQUEST, first.open, memory);
    await first.reached;
    await cut.stop();
    expect(cut.state.resumed).toBe(false);
    const second = opened();
    const again = new AccountDiscovery(REQUEST, second.open, memory);
    expect(await ended(again)).toMatchObject({ resumed: true, used: whole });
    expect(second.read[0]).toBeGreaterThanOrEqual(blocks);
  });

  const ended = async (discovery: AccountDiscovery) => {
    await discovery.done;
    expect(discovery.state.error).toBeNull();
    return discovery.state;
  };

  /** `until`: the number of blocks after which no more are given. */
  function opened(until = Number.POSITIVE_INFINITY) {
    const read: number[] = [];
    let tell = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const open = (_: unknown, __: unknown, list: ScriptList): ChainAdapter => {
      const chain = chainOf(list, paid, false);
      const sync = async (since: Checkpoint, signal: AbortSignal) => {
        if (read.length >= until) {
          tell();
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          return null;
        }
        const update = await chain.sync(since, signal);
        read.push(update!.checkpoint.at(-1)!.height);
        return update;
      };
      return { ...chain, sync } as ChainAdapter;
    };
    return { open, read, reached };
  }
});

/** The search of the first two accounts finds the second one used, and one of all three goes on with it. */
describe.each([true, false])('a search of more accounts (asked for addresses: %s)', (isAsked) => {
  it('goes on with that of fewer, and asks for no address twice', async () => {
    const paid = [scriptOf(0, 0, 3), scriptOf(1, 0, 5), scriptOf(1, 1, 2), scriptOf(2, 0, 1)];
    const memory = memoryWithoutPause();
    const asked: string[] = [];
    const open = (_: unknown, __: unknown, list: ScriptList): ChainAdapter => {
      const chain = chainOf(list, paid, isAsked);
      const areUsed = async (scripts: readonly Uint8Array[], signal: AbortSignal) => {
        asked.push(...scripts.map(String));
        return chain.areUsed!(scripts, signal);
      };
      return isAsked ? { ...chain, areUsed } : chain;
    };
    const used = async (accounts: readonly AccountKey[]) => {
      const discovery = new AccountDiscovery({ ...REQUEST, accounts: { BTC: [...accounts] } }, open, memory);
      await discovery.done;
      expect(discovery.state).toMatchObject({ error: null, running: false });
      return discovery.state;
    };
    expect((await used(keys.slice(0, 2))).used.map(({ account_no }) => account_no)).toEqual([0, 1]);
    expect(asked.length > 0).toBe(isAsked);
    expect(await used(keys)).toMatchObject({
      resumed: true,
      used: [
        { account_no: 0, receiving: 3, change: -1 },
        { account_no: 1, receiving: 5, change: 2 },
        { account_no: 2, receiving: 1, change: -1 },
      ],
    });
    expect(new Set(asked).size).toBe(asked.length);
  });
});

it('keeps a search for the same keys, and for more of the same', async () => {
  const bench = await Bench.open();
  const key = (name: string): AccountKey => ({ xpub: name }) as unknown as AccountKey;
  const of = (...names: string[]) => storedSearch(bench.app, { ...REQUEST, accounts: { BTC: names.map(key) } });
  const chains: SearchRecord = { BTC: { listed: [], rows: [], checkpoint: null, asked: 7 } };
  expect(accountsSearched(bench.app)).toBe(0);
  await of('a', 'b').write(chains);
  expect(accountsSearched(bench.app)).toBe(2);
  expect(of('a', 'b').read()).toEqual(chains);
  expect(of('a', 'b', 'c').read()).toEqual(chains);
  expect(of('a').read()).toBeNull();
  expect(of('a', 'other', 'c').read()).toBeNull();
  expect(storedSearch(bench.app, { ...REQUEST, gap: 21, accounts: { BTC: [key('a'), key('b')] } }).read()).toBeNull();
  bench.advance(8 * 86_400_000);
  expect([of('a', 'b').read(), accountsSearched(bench.app)]).toEqual([null, 0]);
  bench.app.store.close();
});

it('waits before it asks a node again that is at its tip and does not know its mempool yet', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    let asked = 0;
    const open = (_: unknown, __: unknown, list: ScriptList): ChainAdapter => {
      const chain = chainOf(list, [scriptOf(0, 0, 1)], false);
      const sync = chain.sync.bind(chain);
      chain.sync = async (since, signal) => {
        const update = await sync(since, signal);
        return update && { ...update, mempool: ++asked > 3 ? 'complete' : 'unknown' };
      };
      return chain;
    };
    const discovery = new AccountDiscovery(REQUEST, open);
    const answers: number[] = [];
    for (let ms = 0; answers.at(-1) !== 4; ms = 2_000) {
      await vi.advanceTimersByTimeAsync(ms);
      // all that it does without waiting: each round of the search takes a few turns
      for (let turn = 0; turn < 1_000; turn++) await new Promise((resolve) => setImmediate(resolve));
      answers.push(asked);
    }
    await discovery.done;
    // the first answer brought a block
    expect(answers).toEqual([2, 3, 4]);
  } finally {
    vi.useRealTimers();
  }
});

it('says how far each chain is, as a share of what is known', () => {
  const one = {
    chain: 'LTC' as const,
    derived: null,
    from: null,
    height: null,
    tip: null,
    addresses: null,
    near: false,
    done: false,
  };
  expect(progressText({ ...one, derived: { done: 300, of: 1_000 } })).toBe('derives addresses: 30 % of 1,000');
  expect(progressText(one)).toBe('waits for its node');
  expect(progressText({ ...one, from: 1_000, height: 1_500, tip: 3_000 })).toBe('25 % (block 1,500 of 3,000)');
  expect(progressText({ ...one, from: 3_000, height: 3_000, tip: 3_000 })).toBe('100 % (block 3,000 of 3,000)');
  expect(progressText({ ...one, addresses: { asked: 999, of: 1_000, seconds_left: null } })).toBe(
    '99 % of 1,000 addresses',
  );
  const left = (seconds_left: number) => progressText({ ...one, addresses: { asked: 1, of: 4, seconds_left } });
  expect([59, 61, 7_141, 7_201, 172_801].map(left)).toEqual([
    '25 % of 4 addresses, 1 minute to go',
    '25 % of 4 addresses, 2 minutes to go',
    '25 % of 4 addresses, 2 hours to go',
    '25 % of 4 addresses, 3 hours to go',
    '25 % of 4 addresses, 3 days to go',
  ]);
  expect(progressText({ ...one, done: true })).toBe('done');
});
