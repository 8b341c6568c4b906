/** Which facts count by one endpoint's word, which need another operator's, and how long they are asked about. */
import { expect, it, vi } from 'vitest';
import { Agreement, type Fact } from '../../../daemon/chains/agreement.ts';
import { type Endpoint, Endpoints } from '../../../daemon/chains/endpoints.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';

const signal = AbortSignal.timeout(5_000);
const block = (height: number, hash = `block ${height}`) => ({ height, hash });
const fact = (units: bigint, height: number | null): Fact => ({
  id: `${units} in ${height}`,
  txid: 'a'.repeat(64),
  targetId: 1,
  amount: { asset: 'XMR' as const, units },
  block: height === null ? null : block(height),
});
const heights = (facts: Fact[]) => facts.map((one) => [one.amount.units, one.block?.height ?? null]);

/** Two operators' endpoints, of which the second knows the blocks of `known`. Amounts from 100 on need both. */
function agreeing(known: Set<string>) {
  const opened: Endpoint[] = [];
  const open = (url: string): Endpoint => {
    opened.push({ name: url, identify: async () => {}, close: () => {} });
    return opened.at(-1)!;
  };
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const isNeeded = (facts: readonly { units: bigint }[]) => facts.some(({ units }) => units >= 100n);
  const [stored, settled] = [new Set<string>(), new Set<string>()];
  const agreement = new Agreement<Endpoint, Fact>(endpoints, isNeeded, {
    areThere: async (_, facts) => facts.map((one) => known.has(one.block!.hash)),
    isStored: ({ id }) => stored.has(id),
    isSettled: ({ id }) => settled.has(id),
    isProved: (one) => one.block?.height !== 3,
  });
  const judge = async (facts: Fact[], checkpoint = [block(8), block(9)], teller = endpoints.asked) =>
    heights(await agreement.judge([{ facts, teller }], checkpoint, signal));
  return { judge, stored, settled, another: () => opened.at(-1) };
}

it('reports what is large as unconfirmed until another operator has its block, and then until it is stored', async () => {
  const known = new Set<string>();
  const { judge, stored } = agreeing(known);
  expect(await judge([fact(99n, 9), fact(100n, 9), fact(500n, null)])).toEqual([
    [99n, 9],
    [500n, null],
    [100n, null],
  ]);
  expect(await judge([])).toEqual([[100n, null]]);
  known.add('block 9');
  expect(await judge([])).toEqual([[100n, 9]]);
  known.clear();
  expect(await judge([])).toEqual([[100n, 9]]);
  stored.add('100 in 9');
  expect(await judge([])).toEqual([]);
});

it('leaves in its block what is settled by the books, although nobody else has it after a start', async () => {
  const { judge, settled, stored } = agreeing(new Set());
  settled.add('100 in 9');
  stored.add('200 in 9');
  expect(await judge([fact(100n, 9), fact(200n, 9)])).toEqual([
    [100n, 9],
    [200n, null],
  ]);
});

it('reports a fact once, in the block that needs no agreement, whatever was said of another one before', async () => {
  const { judge } = agreeing(new Set());
  const [invented, mined, pooled] = [fact(50n, 3), fact(50n, 9), fact(50n, null)].map((one) => ({ ...one, id: 'one' }));
  expect(await judge([invented!])).toEqual([[50n, null]]);
  expect(await judge([pooled!])).toEqual([[50n, null]]);
  expect(await judge([mined!])).toEqual([[50n, 9]]);
  expect(await judge([])).toEqual([]);
});

it('keeps what waits when too many large payments come at once', async () => {
  const known = new Set<string>();
  const { judge } = agreeing(known);
  expect(await judge([fact(100n, 9)])).toEqual([[100n, null]]);
  const flood = Array.from({ length: 20_001 }, (_, i) => ({ ...fact(100n, 8), id: `${i}` }));
  await expect(judge(flood)).rejects.toThrow('Too many payments wait');
  expect(await judge([])).toEqual([[100n, null]]);
  known.add('block 8');
  expect(await judge(flood)).toHaveLength(20_002);
});

it('counts nothing small without a proof by one word, however much else waits', async () => {
  const { judge } = agreeing(new Set());
  const invented = Array.from({ length: 20_000 }, (_, i) => ({ ...fact(50n, 3), id: `${i}` }));
  const first = await judge(invented);
  expect(first.every(([, height]) => height === null)).toBe(true);
  await expect(judge([{ ...fact(60n, 3), id: 'one more' }])).rejects.toThrow('Too many payments wait');
  // what a block proves needs nobody
  expect((await judge([fact(70n, 9)]))[0]).toEqual([70n, 9]);
});

it('is not kept by the flood of one endpoint from what another one tells', async () => {
  const known = new Set<string>();
  const { judge, another } = agreeing(known);
  await judge(Array.from({ length: 20_000 }, (_, i) => ({ ...fact(50n, 3), id: `${i}` })));
  await expect(judge([fact(100n, 8)])).rejects.toThrow('Too many payments wait');
  const next = await judge([fact(100n, 9)], undefined, another());
  expect(next).toHaveLength(20_001);
  known.add('block 9');
  expect(await judge([], undefined, another())).toContainEqual([100n, 9]);
});

it('forgets a block that left the chain, but none because the past is read meanwhile', async () => {
  const { judge } = agreeing(new Set());
  await judge([fact(100n, 9)]);
  expect(await judge([], [block(3), block(4)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9)])).toEqual([[100n, null]]);
  expect(await judge([], [block(8), block(9, 'another')])).toEqual([]);
});

/** Three operators' endpoints: what each states now, and which of them do not answer. */
function three() {
  const states = new Map<string, Set<string>>();
  const silent = new Set<string>();
  const open = (url: string): Endpoint => ({
    name: url,
    identify: async () => {
      if (silent.has(url)) throw new Unavailable('no answer', 1);
    },
    close: () => {},
  });
  const urls = ['http://one.example', 'http://two.example', 'http://three.example'];
  const made = new Map<string, Endpoint>();
  const endpoints = new Endpoints(
    'a setting',
    urls,
    (url) => {
      const endpoint = open(url);
      made.set(url, endpoint);
      return endpoint;
    },
    () => {},
  );
  const agreement = new Agreement<Endpoint, Fact>(endpoints, () => true, {
    areThere: async ({ name }, facts) => facts.map(({ id }) => states.get(name)?.has(id) === true),
    isStored: () => false,
  });
  const judge = async (facts: Fact[]) => {
    const teller = made.get('http://one.example');
    if (!teller) throw new Error('no first endpoint');
    return heights(await agreement.judge([{ facts, teller }], [block(8), block(9)], signal));
  };
  const says = (name: string, ...facts: Fact[]) =>
    states.set(`http://${name}.example`, new Set(facts.map(({ id }) => id)));
  return { judge, says, silence: (name: string) => silent.add(`http://${name}.example`) };
}

it('counts no fact that its teller has taken back when another operator tells the same lie later', async () => {
  const { judge, says } = three();
  const lie = fact(100n, 9);
  says('one', lie);
  expect(await judge([lie])).toEqual([[100n, null]]);
  says('one');
  says('two', lie);
  expect(await judge([])).toEqual([[100n, null]]);
  // the teller was only behind, and two others have it
  says('three', lie);
  expect(await judge([])).toEqual([[100n, 9]]);
});

it('needs two operators that state it now in place of a teller that is silent', async () => {
  const { judge, says, silence } = three();
  const one = fact(100n, 9);
  says('one', one);
  expect(await judge([one])).toEqual([[100n, null]]);
  silence('one');
  says('two', one);
  expect(await judge([])).toEqual([[100n, null]]);
  says('three', one);
  expect(await judge([])).toEqual([[100n, 9]]);
});

it('believes an earlier statement that its teller repeats', async () => {
  const { judge, says } = three();
  const one = fact(100n, 9);
  says('one', one);
  expect(await judge([one])).toEqual([[100n, null]]);
  says('two', one);
  expect(await judge([])).toEqual([[100n, 9]]);
});

/** Two operators' endpoints, of which the second may be silent, and has what is in `known`. Amounts from 10 on need it. */
function watched() {
  const silent = { isSilent: false };
  const open = (url: string): Endpoint => ({
    name: url,
    identify: async () => {
      if (silent.isSilent && url.includes('two')) throw new Unavailable('no answer', 1);
    },
    close: () => {},
  });
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const teller = endpoints.asked;
  const known = new Set<string>();
  const agreement = new Agreement<Endpoint, Fact>(endpoints, (facts) => facts.some(({ units }) => units >= 100n), {
    areThere: async (_, facts) => facts.map(({ id }) => known.has(id)),
    isStored: () => false,
    isProved: ({ amount }) => amount.units < 10n,
  });
  const judge = async (facts: Fact[]) =>
    heights(await agreement.judge([{ facts, teller }], [block(8), block(9)], signal));
  return { judge, silent, known };
}

it('takes a small fact without a proof from one alone only after two minutes in which no other operator answered', async () => {
  const { judge, silent, known } = watched();
  const [proved, small, denied, large] = [5n, 20n, 30n, 100n].map((units) => fact(units, 9)) as [
    Fact,
    Fact,
    Fact,
    Fact,
  ];
  expect(await judge([proved, denied])).toEqual([
    [5n, 9],
    [30n, null],
  ]);
  silent.isSilent = true;
  const waiting = [
    [30n, null],
    [20n, null],
    [100n, null],
  ];
  expect(await judge([small, large])).toEqual(waiting);
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 110_000);
  expect(await judge([])).toEqual(waiting);
  clock.mockImplementation(() => now + 130_000);
  // one that another operator denied stays denied
  expect(await judge([])).toEqual([
    [30n, null],
    [20n, 9],
    [100n, null],
  ]);
  silent.isSilent = false;
  known.add(denied.id);
  clock.mockImplementation(() => now + 400_000);
  expect((await judge([])).slice(0, 2)).toEqual([
    [30n, 9],
    [20n, 9],
  ]);
  clock.mockRestore();
});

it('takes nothing from one alone at once that it repeats after another operator denied it', async () => {
  const { judge, silent } = watched();
  const lie = fact(20n, 9);
  expect(await judge([lie])).toEqual([[20n, null]]);
  silent.isSilent = true;
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 200_000);
  expect(await judge([lie])).toEqual([[20n, null]]);
  clock.mockRestore();
});

it('takes a flood of small facts after two minutes, too, although the step is made again until then', async () => {
  const { judge, silent } = watched();
  silent.isSilent = true;
  const flood = Array.from({ length: 20_001 }, (_, i) => ({ ...fact(20n, 9), id: `${i}` }));
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  await expect(judge(flood)).rejects.toThrow('Too many payments wait');
  clock.mockImplementation(() => now + 110_000);
  await expect(judge(flood)).rejects.toThrow('Too many payments wait');
  clock.mockImplementation(() => now + 130_000);
  const counted = await judge(flood);
  expect(counted).toHaveLength(20_001);
  expect(counted.every(([, height]) => height === 9)).toBe(true);
  clock.mockRestore();
});

it('asks about the largest first, and then about those that nobody was asked about for the longest time', async () => {
  const open = (url: string): Endpoint => ({ name: url, identify: async () => {}, close: () => {} });
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const teller = endpoints.asked;
  const asked: bigint[] = [];
  const known = new Set<bigint>();
  const agreement = new Agreement<Endpoint, Fact>(endpoints, () => true, {
    // one of all in time
    areThere: async (_, [first, ...rest]) => {
      asked.push(first!.amount.units);
      return [known.has(first!.amount.units), ...rest.map(() => null)];
    },
    isStored: () => false,
  });
  const judge = (facts: Fact[]) => agreement.judge([{ facts, teller }], [block(8), block(9)], signal);
  const crumbs = [fact(1n, 9), fact(2n, 9)];
  const waiting = async () => {
    await judge(crumbs);
    return agreement.undenied().map(({ amount }) => amount.units);
  };
  expect(await waiting()).toEqual([1n]);
  known.add(100n);
  expect(heights(await judge([fact(100n, 9)]))).toEqual([
    [1n, null],
    [2n, null],
    [100n, 9],
  ]);
  // what nobody was asked about is not denied
  expect(agreement.undenied().map(({ amount }) => amount.units)).toEqual([1n, 100n]);
  await judge(crumbs);
  await judge(crumbs);
  await judge(crumbs);
  expect(asked).toEqual([2n, 100n, 1n, 2n, 1n]);
});

/** Two operators: `answer` says what an endpoint knows of the facts that it is asked about. */
function asking(answer: (name: string, facts: readonly Fact[]) => (boolean | null)[]) {
  const open = (url: string): Endpoint => ({ name: url, identify: async () => {}, close: () => {} });
  const endpoints = new Endpoints('a setting', ['http://one.example', 'http://two.example'], open, () => {});
  const agreement = new Agreement<Endpoint, Fact>(endpoints, () => true, {
    areThere: async ({ name }, facts) => answer(name, facts),
    isStored: () => false,
  });
  const judge = (facts: Fact[]) =>
    agreement.judge([{ facts, teller: endpoints.asked }], [block(8), block(9)], signal).then(heights);
  return { judge, agreement };
}

it('asks again about what was denied however many new facts come with each step', async () => {
  let isThere = false;
  const { judge } = asking((_, facts) =>
    // two in time
    facts.map(({ amount }, i) => (i < 2 ? amount.units === 7n && isThere : null)),
  );
  await judge([fact(7n, 9)]);
  isThere = true;
  const crumbs = Array.from({ length: 10 }, (_, i) => fact(100n + BigInt(i), 9));
  expect(await judge(crumbs)).toContainEqual([7n, 9]);
});

it('calls nothing denied that there was no time to ask its teller about again', async () => {
  const known = new Map<string, boolean | null>([['two', null]]);
  const { judge, agreement } = asking((name, facts) =>
    facts.map(() => known.get(name.includes('two') ? 'two' : 'one') ?? null),
  );
  expect(await judge([fact(7n, 9)])).toEqual([[7n, null]]);
  known.set('two', true);
  expect(await judge([])).toEqual([[7n, null]]);
  expect(agreement.undenied()).toHaveLength(1);
  known.set('one', true);
  expect(await judge([])).toEqual([[7n, 9]]);
});
