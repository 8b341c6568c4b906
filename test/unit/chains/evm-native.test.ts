/** Native coins at addresses that a restore or an import adds by the thousand, and that were paid long ago. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ListedScript, ScriptList, StoredCoin } from '../../../daemon/chains/adapter.ts';
import { type EvmEndpoint, hexOfScript } from '../../../daemon/chains/evm/endpoint.ts';
import { NativeCoin } from '../../../daemon/chains/evm/native.ts';
import type { BlockId, Credit } from '../../../daemon/domain/chain.ts';

const UNITS = 10n ** 17n;
const [OLD, TIP]: [BlockId, BlockId] = [
  { height: 1, hash: `0x${'01'.repeat(32)}` },
  { height: 2, hash: `0x${'02'.repeat(32)}` },
];
const VIEW = {
  checkpoint: [OLD, TIP],
  atHead: true,
  orphaned: new Set<string>(),
  timeOf: () => 0,
  debits: [],
  held: [],
};
const SIGNAL = new AbortController().signal;

const listed = (id: number): ListedScript => {
  const script = Buffer.alloc(20);
  script.writeUInt32BE(id);
  return { id, script };
};

const coinAt = (targetId: number): StoredCoin => ({
  targetId,
  outpoint: `${targetId}:0`,
  txid: `${targetId}`,
  asset: 'ETH',
  units: UNITS,
  blockHeight: OLD.height,
  blockHash: OLD.hash,
  locked: false,
  spentTxid: null,
  spentBlockHeight: null,
  spentBlockHash: null,
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Addresses 1 to `count`, of which the first ones are urgent, and an endpoint with the balances of `funded`. */
function scene(count: number, funded: readonly number[], urgent = 0) {
  const scripts = Array.from({ length: count }, (_, i) => listed(i + 1));
  const held = new Map(funded.map((id) => [hexOfScript(listed(id).script), UNITS]));
  const found = new Map<number, bigint>();
  const coins: StoredCoin[] = [];
  const holders: (ListedScript & { isOutside: boolean })[] = [];
  const parts: Partial<ScriptList> = {
    active: () => [scripts.slice(0, urgent)],
    page: (after, limit) => scripts.slice(after, after + limit),
    unitsAt: (id) => found.get(id) ?? 0n,
    coinsOf: (id) => coins.filter(({ targetId }) => targetId === id),
    underId: (id) => {
      const units = stored.get(id);
      return units === undefined ? [] : [{ id, targetId: 1, amount: { asset: 'ETH' as const, units }, block: null }];
    },
    debitsAt: () => [],
    holders: () => holders,
  };
  const stored = new Map<string, bigint>();
  const asked: number[] = [];
  let delay = (): void => {};
  let stateless = 0;
  const endpoint: Partial<EvmEndpoint> = {
    balances: async (addresses) => {
      delay();
      const isStateless = stateless > 0;
      if (isStateless) stateless--;
      return addresses.map((address) => (isStateless ? null : (held.get(address) ?? 0n)));
    },
    sendings: async ({ height }) => {
      asked.push(height);
      return [];
    },
    receipts: async () => [],
    payerInside: async () => null,
  };
  const coin = new NativeCoin('ETH', parts as ScriptList);
  const look = async (view = VIEW): Promise<Credit[] | null> => {
    const credits = await coin.look(endpoint as EvmEndpoint, view, () => undefined, SIGNAL);
    for (const { targetId, amount } of credits ?? []) found.set(targetId, amount.units);
    return credits;
  };
  return {
    coin,
    look,
    found,
    stored,
    holders,
    coins,
    asked,
    delay: (one: () => void) => {
      delay = one;
    },
    add: (id: number, units = UNITS) => {
      const address = hexOfScript(listed(id).script);
      held.set(address, (held.get(address) ?? 0n) + units);
    },
    grow: (to: number) => {
      while (scripts.length < to) scripts.push(listed(scripts.length + 1));
    },
    loseState: (looks: number) => {
      stateless = looks;
    },
  };
}

/** The looks until everything was compared that does not wait for a block. */
async function looks({ coin, look }: ReturnType<typeof scene>): Promise<number> {
  for (let done = 0; ; done++) {
    if (done > 100) throw new Error('never done');
    if (done > 0 && !coin.isDue()) return done;
    await look();
  }
}

it('are found within a few looks, wherever they are, and without new blocks', async () => {
  const chain = scene(10_030, [3, 5_149, 10_030]);
  expect(await looks(chain)).toBe(21);
  expect([...chain.found.keys()].sort((a, b) => a - b)).toEqual([3, 5_149, 10_030]);
  chain.grow(20_000);
  chain.add(19_999);
  expect(chain.coin.isDue()).toBe(true);
  expect(await looks(chain)).toBe(20);
  expect(chain.found.has(19_999)).toBe(true);
});

it('that hold money by the books are compared at each block, so that what left them is looked for at once', async () => {
  const chain = scene(20_000, [19_000]);
  await looks(chain);
  chain.found.set(19_000, 3n * UNITS);
  chain.coins.push({ ...coinAt(19_000), units: 3n * UNITS });
  const lookAt = (height: number) =>
    chain.look({ ...VIEW, checkpoint: [OLD, TIP, { height, hash: `0x${'03'.repeat(31)}0${height}` }] });
  await lookAt(3);
  expect(chain.coin.takeShort()).toEqual([]);
  chain.holders.push({ ...listed(19_000), isOutside: false });
  await lookAt(4);
  expect(chain.coin.takeShort()).toMatchObject([{ id: 19_000 }]);
});

it('one address more waits for the next block', async () => {
  const chain = scene(600, []);
  await looks(chain);
  chain.grow(601);
  chain.add(601);
  expect(chain.coin.isDue()).toBe(false);
  expect(await chain.look()).toMatchObject([{ targetId: 601, amount: { asset: 'ETH', units: UNITS } }]);
});

it('are all explained, although one look explains only some', async () => {
  const funded = Array.from({ length: 400 }, (_, i) => i + 100);
  const chain = scene(500, funded);
  expect(await looks(chain)).toBeLessThan(12);
  expect([...chain.found.keys()].sort((a, b) => a - b)).toEqual(funded);
});

describe('a crumb to each of many addresses with each block', () => {
  const CROWD = Array.from({ length: 120 }, (_, i) => i + 1);
  const PAID = CROWD.length + 1;
  const crowded = (): ReturnType<typeof scene> => scene(PAID, [], PAID);
  const next = async (chain: ReturnType<typeof scene>, height: number): Promise<number[]> => {
    for (const id of CROWD) chain.add(id, 1n);
    const tip = { height, hash: `0x${`${height}`.padStart(64, '0')}` };
    const credits = await chain.look({ ...VIEW, checkpoint: [OLD, tip] });
    return (credits ?? []).map(({ targetId }) => targetId);
  };

  it('keeps no payment waiting: each address has its turn', async () => {
    const chain = crowded();
    expect(await next(chain, 2)).toEqual(CROWD.slice(0, 50));
    chain.add(PAID);
    expect(await next(chain, 3)).toEqual([PAID, ...CROWD.slice(50, 99)]);
    chain.add(PAID);
    expect(await next(chain, 4)).toEqual([...CROWD.slice(99), ...CROWD.slice(0, 29)]);
    expect(chain.coin.isDue()).toBe(true);
    expect(await next(chain, 5)).toEqual([...CROWD.slice(29, 50), PAID, ...CROWD.slice(50, 78)]);
  });

  /** Each question takes half a second, and there are two for each address. */
  const slow = (chain: ReturnType<typeof scene>): void => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    chain.delay(() => {
      now += 500;
    });
  };

  it('takes no look longer than some seconds once each had a turn, and blames nobody for the others', async () => {
    const chain = crowded();
    for (let height = 2; height < 5; height++) await next(chain, height);
    slow(chain);
    chain.asked.length = 0;
    const explained = await next(chain, 5);
    expect(explained).toEqual([31, 32, 33, 34, 35]);
    expect(chain.asked).toHaveLength(1);
    expect(CROWD.filter((id) => !chain.coin.isUntold(id))).toEqual(explained);
  });

  it('puts first differences of addresses off only for so long, and is not whole then', async () => {
    const chain = crowded();
    slow(chain);
    expect(await next(chain, 2)).toEqual(CROWD.slice(0, 20));
    expect(chain.coin.hasLeftFirst).toBe(true);
    chain.delay(() => {});
    while (chain.coin.hasLeftFirst) await chain.look();
    expect([...chain.found.keys()].sort((a, b) => a - b)).toEqual(CROWD);
  });

  it('leaves to the next look what the endpoint lost the state for meanwhile', async () => {
    const chain = scene(3, [1, 2]);
    let isLost = false;
    chain.delay(() => {
      // the first is explained
      if (chain.asked.length > 0 && !isLost) {
        isLost = true;
        chain.loseState(1);
      }
    });
    expect(await chain.look()).toMatchObject([{ targetId: 1 }]);
    expect([chain.coin.hasLeftFirst, chain.coin.isUntold(1), chain.coin.isUntold(2)]).toEqual([true, false, true]);
    expect((await chain.look())?.map(({ targetId }) => targetId)).toContain(2);
    expect(chain.coin.hasLeftFirst).toBe(false);
  });

  it('tells of an endpoint that has the state of its newest block for lists alone', async () => {
    const chain = scene(3, [2]);
    let questions = 0;
    chain.delay(() => {
      questions++;
      if (questions === 2) chain.loseState(1);
    });
    expect(await chain.look()).toBe(null);
    expect(await chain.look()).toMatchObject([{ targetId: 2, amount: { units: UNITS } }]);
  });

  it('puts no payment off for ever at an address whose money another wallet can move, and holds no deadline meanwhile', async () => {
    const chain = scene(1, [1], 1);
    chain.holders.push({ ...listed(1), isOutside: true });
    let looked = 0;
    for (let isTold = false; !isTold && looked < 50; looked++) {
      chain.add(1, 1n);
      const tip = { height: 2 + looked, hash: `0x${`${looked}`.padStart(64, '0')}` };
      isTold = ((await chain.look({ ...VIEW, checkpoint: [OLD, tip] })) ?? []).length > 0;
      expect([chain.coin.hasLeftFirst, chain.coin.isUntold(1)]).toEqual([false, !isTold]);
      chain.coin.takeShort();
    }
    expect(looked).toBe(11);
    // the next crumb is put off anew
    chain.add(1, 1n);
    expect(await chain.look()).toEqual([]);
  });

  it('keeps no new address from being compared', async () => {
    const chain = scene(PAID + 1_000, [], PAID);
    await looks(chain);
    chain.grow(PAID + 1_600);
    chain.add(PAID + 1_600);
    for (let height = 2; height < 5; height++) await next(chain, height);
    expect(chain.found.get(PAID + 1_600)).toBe(UNITS);
  });
});

it('are told of no address that a look did not ask about', async () => {
  const chain = scene(1_200, [], 2);
  await looks(chain);
  await chain.look({ ...VIEW, checkpoint: [OLD, TIP, { height: 3, hash: `0x${'03'.repeat(32)}` }] });
  await chain.look({ ...VIEW, checkpoint: [OLD, TIP, { height: 3, hash: `0x${'03'.repeat(32)}` }] });
  expect([1, 2, 1_100].map((id) => chain.coin.isUntold(id))).toEqual([false, false, true]);
});

it('count as compared only at the tip, by an endpoint that has its state', async () => {
  const chain = scene(2_000, [1_400]);
  chain.loseState(1);
  expect(await chain.look()).toBe(null);
  expect(await chain.look({ ...VIEW, atHead: false })).toEqual([]);
  expect(await looks(chain)).toBe(4);
  expect(chain.found.has(1_400)).toBe(true);
});

it('have an id of their own where the books have another amount that nobody affirmed', async () => {
  const chain = scene(1, [1]);
  const [first] = (await chain.look()) ?? [];
  expect(first?.amount.units).toBe(UNITS);
  const id = first?.id ?? '';
  chain.found.clear();
  chain.stored.set(id, UNITS);
  expect(await chain.look({ ...VIEW, orphaned: new Set(['another']) })).toMatchObject([
    { id, amount: { units: UNITS } },
  ]);
  chain.found.clear();
  chain.stored.set(id, 2n * UNITS);
  const again = await chain.look({ ...VIEW, orphaned: new Set(['another']) });
  expect(again).toMatchObject([{ id: `${id}:2`, amount: { units: UNITS } }]);
});

describe('payments that wait for another operator, with false ones among them', () => {
  const paidIn = (height: number, name: string, units = UNITS): Credit => {
    const block = { height, hash: `0x${name.repeat(32)}` };
    const txid = `0x${'e'.repeat(60)}${name}${height}`;
    const amount = { asset: 'ETH' as const, units };
    return { id: `${txid}:0`, targetId: 1, block, txid, amount, inputs: [], replaceable: true };
  };
  const insideOf = (height: number, name: string, units = UNITS): Credit => {
    const { block, ...paid } = paidIn(height, name, units);
    return { ...paid, block, id: `${block!.hash}:1`, txid: block!.hash };
  };
  const [before, between]: [BlockId, BlockId] = [
    { height: 7, hash: `0x${'07'.repeat(32)}` },
    { height: 8, hash: `0x${'08'.repeat(32)}` },
  ];
  const late = { ...VIEW, checkpoint: [before, between] };

  /** The credits once it was looked for what the address had sent, and nothing was found. */
  async function afterSearch({ look, coin }: ReturnType<typeof scene>, held: Credit[]): Promise<Credit[] | null> {
    expect(await look({ ...late, held } as never)).toEqual([]);
    expect(coin.takeShort()).toHaveLength(1);
    return look({ ...late, held } as never);
  }

  it.each<[string, Credit[]]>([
    ['a payment that was invented in the checkpoint', [paidIn(6, 'aa'), paidIn(8, 'bb')]],
    ['a payment from inside a contract that was invented before it', [insideOf(0, 'cc'), paidIn(6, 'aa')]],
    ['more than there is', [insideOf(3, 'dd', 5n * UNITS), paidIn(6, 'aa'), paidIn(8, 'bb', 9n * UNITS)]],
  ])('are not found again in the first block that is left of the checkpoint: beside %s', async (_, held) => {
    const chain = scene(1, [1]);
    expect(await chain.look({ ...late, held } as never)).toEqual([]);
  });

  it('are found in their blocks as long as the checkpoint has these', async () => {
    const chain = scene(1, [1]);
    const held = [paidIn(7, 'aa'), paidIn(8, 'bb')];
    expect(await afterSearch(chain, held)).toMatchObject([{ block: before, amount: { units: UNITS } }]);
  });

  it('hide nothing that the balance has beside them', async () => {
    const chain = scene(1, [1]);
    const held = [paidIn(6, 'aa', UNITS / 4n), paidIn(8, 'bb', UNITS)];
    expect(await afterSearch(chain, held)).toMatchObject([{ amount: { units: (UNITS * 3n) / 4n } }]);
  });

  it('do not hide that money left: its transaction is looked for before less is said to have come', async () => {
    const chain = scene(1, [1]);
    const held = [insideOf(7, '07', 3n * UNITS)];
    expect(await chain.look({ ...late, held } as never)).toEqual([]);
    expect(chain.coin.isDue()).toBe(true);
    expect(chain.coin.takeShort()).toMatchObject([{ id: 1 }]);
    // the search found what another machine has sent
    const id = `0x${'f'.repeat(64)}:0`;
    const sent = { id, targetId: 1, txid: id, block: between, amount: { asset: 'ETH', units: 2n * UNITS } };
    expect(await chain.look({ ...late, held, debits: [sent] } as never)).toEqual([]);
    expect(chain.coin.takeShort()).toEqual([]);
    // one that waits may be told by both searches
    expect(await chain.look({ ...late, held, debits: [sent, sent] } as never)).toEqual([]);
  });
});
