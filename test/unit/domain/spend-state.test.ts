import { describe, expect, it } from 'vitest';
import { message } from '../../../daemon/domain/messages.ts';
import {
  decideSpend,
  decideWithdrawal,
  type Fixed,
  isAbandoned,
  isOutdated,
  type Lack,
  type PlannedFacts,
  type ReplaceFacts,
  type SignedFact,
  SPEND_STATES,
  type SpendFacts,
  type SpendState,
  seenOf,
  whyFixed,
} from '../../../daemon/domain/spend-state.ts';
import {
  isDecided,
  isOpen,
  stepWithdrawal,
  WITHDRAWAL_STATES,
  type WithdrawalState,
} from '../../../daemon/domain/withdrawal.ts';

const B = 6;
const COIN = 'aa:0';
const GONE: Lack = { key: COIN, usedBy: null };
const USED: Lack = { key: COIN, usedBy: 'foreign' };

const sent = (change: Partial<SignedFact> = {}): SignedFact => ({
  depth: null,
  dead: 0,
  lack: null,
  vanished: false,
  failed: false,
  isStored: true,
  ...change,
});
const gone = sent({ lack: GONE, vanished: true });
const dead = (depth: number): SignedFact => sent({ lack: USED, dead: depth });
const there = (depth: number): SignedFact => sent({ depth });

const facts = (signed: readonly SignedFact[], change: Partial<SpendFacts> = {}): SpendFacts => ({
  signed,
  isPlanned: false,
  isOurs: true,
  isAbandoned: false,
  heldBy: null,
  isOwn: false,
  isReplaceable: true,
  isKept: false,
  buried: B,
  ...change,
});

type Row = [what: string, facts: SpendFacts, state: SpendState, send: number | null, problem: string | null];

/** The states with what is done in each. */
const ROWS: Row[] = [
  ['nothing is signed', facts([], { isPlanned: true }), 'unsigned', null, null],
  ['no node has it', facts([sent()]), 'unseen', 0, null],
  ['its bytes are not known', facts([sent({ isStored: false })]), 'unseen', null, null],
  [
    'only a lost machine had its bytes',
    facts([sent({ isStored: false })], { heldBy: 'machine' }),
    'unseen',
    null,
    'wait.lost',
  ],
  [
    'only a lost machine had its bytes, and another is signed',
    facts([sent({ isStored: false })], { heldBy: 'machine', isPlanned: true }),
    'unseen',
    null,
    null,
  ],
  [
    'only the wallet that sent it had its bytes',
    facts([sent({ isStored: false })], { heldBy: 'wallet' }),
    'unseen',
    null,
    'wait.gone',
  ],
  [
    'the wallet sent an earlier one, and the newest was only handed out',
    facts([sent({ isStored: false }), sent({ isStored: false })], { heldBy: 'wallet-earlier' }),
    'unseen',
    null,
    'wait.gone_newer',
  ],
  [
    'only a lost machine had the bytes of the newest',
    facts([sent(), sent({ isStored: false })], { heldBy: 'machine' }),
    'unseen',
    null,
    'wait.lost',
  ],
  ['the same, and it is in the mempool', facts([sent(), { ...there(0), isStored: false }]), 'pending', null, null],
  ['the same, and the older one is', facts([there(0), sent({ isStored: false })]), 'pending', null, null],
  [
    'the same, and it pays only ourselves',
    facts([sent(), sent({ isStored: false })], { isOwn: true }),
    'unseen',
    0,
    null,
  ],
  ['the same, and it can never confirm', facts([sent(), { ...gone, isStored: false }]), 'unseen', 0, null],
  [
    'it pays only ourselves, and nobody here has its bytes',
    facts([sent({ isStored: false })], { isOwn: true }),
    'unseen',
    null,
    null,
  ],
  ['a lost machine made it, and it is in the mempool', facts([there(0)], { heldBy: 'machine' }), 'pending', null, null],
  ['a replacement waits for its signature', facts([sent()], { isPlanned: true }), 'unseen', 0, null],
  ['it is in the mempool', facts([there(0)]), 'pending', null, null],
  ['a newer version is not seen yet', facts([there(0), sent()]), 'pending', 1, null],
  ['a newer version, and the shown one must stay', facts([there(0), sent()], { isKept: true }), 'pending', null, null],
  ['it is in a block', facts([there(1)]), 'confirmed', null, null],
  ['the older version is in a block', facts([there(2), dead(2)]), 'confirmed', null, null],
  ['it is buried', facts([there(B)]), 'settled', null, null],
  [
    'it is buried, and another waits for its signature',
    facts([there(B)], { isPlanned: true }),
    'confirmed',
    null,
    null,
  ],
  ['another version is buried', facts([dead(B), there(B)]), 'settled', null, null],
  ['a foreign transaction is buried', facts([dead(B)]), 'lost', null, null],
  ['a foreign transaction is almost buried', facts([dead(B - 1)]), 'missing', null, 'wait.coin_lost'],
  ['a foreign transaction is in the mempool', facts([dead(0)]), 'missing', null, 'wait.coin_away'],
  ['its coin is gone', facts([gone]), 'missing', null, 'wait.coin_away'],
  [
    'its coin is gone and nothing can replace it',
    facts([gone], { isReplaceable: false }),
    'stuck',
    null,
    'wait.coin_stuck',
  ],
  [
    'the coin of one is gone, another transaction spends the other',
    facts([gone, dead(0)], { isReplaceable: false }),
    'stuck',
    null,
    'wait.coin_stuck',
  ],
  [
    'the same, while another is signed',
    facts([gone], { isReplaceable: false, isPlanned: true }),
    'missing',
    null,
    'wait.coin_away',
  ],
  [
    'a foreign spend, nothing can replace it',
    facts([dead(0)], { isReplaceable: false }),
    'missing',
    null,
    'wait.coin_away',
  ],
  ['the first version can be sent, the second not', facts([sent(), gone]), 'unseen', 0, null],
  ['it had no effect', facts([sent({ lack: USED, failed: true, dead: 2 })]), 'missing', null, 'wait.reverted'],
  [
    'another machine made it, and it is gone',
    facts([sent({ isStored: false })], { isOurs: false }),
    'stuck',
    null,
    null,
  ],
  [
    'another machine made it, and only the newer version lacks its coin',
    facts([sent({ isStored: false }), gone], { isOurs: false }),
    'stuck',
    null,
    null,
  ],
  ['it was given up unsigned', facts([sent({ isStored: false })], { isAbandoned: true }), 'abandoned', null, null],
  ['it was given up, and a copy is in the mempool', facts([there(0)], { isAbandoned: true }), 'pending', null, null],
  ['it was given up, and another payment is buried', facts([dead(B)], { isAbandoned: true }), 'lost', null, null],
  ['another machine made it, and it is in a block', facts([there(1)], { isOurs: false }), 'confirmed', null, null],
];

describe('a spend', () => {
  it.each(ROWS)('%s', (_, given, state, send, problem) => {
    const decision = decideSpend(given);
    expect({ state: decision.state, send: decision.send, problem: decision.problem?.code ?? null }).toEqual({
      state,
      send,
      problem,
    });
  });

  it('has a row for every state', () => {
    expect(new Set(ROWS.map(([, , state]) => state))).toEqual(new Set(Object.keys(SPEND_STATES)));
  });

  it('names the transaction that had no effect, and the surest of several deaths', () => {
    const failed = sent({ lack: { key: COIN, usedBy: 'mine' }, failed: true, dead: 3 });
    expect(decideSpend(facts([failed])).problem?.values).toMatchObject({ tx: 'mine', buried: B, depth: 3 });
    expect(decideSpend(facts([dead(1), dead(4), dead(2)])).problem?.values).toMatchObject({ buried: B, depth: 4 });
    expect([sent(), failed].map((_, at, all) => decideSpend(facts(all.slice(0, at + 1))).failed)).toEqual([null, 1]);
  });

  it('names the coin that left, or what spent it', () => {
    const coinOf = (one: SignedFact) => decideSpend(facts([one])).problem?.values;
    expect([gone, dead(0), dead(2)].map(coinOf)).toMatchObject([
      { coin: message('coin.left', { coin: COIN }) },
      { coin: message('coin.spent', { coin: COIN, tx: 'foreign' }) },
      { coin: message('coin.spent', { coin: COIN, tx: 'foreign' }) },
    ]);
  });

  it('is shown by the version in the deepest block, of equal ones by the oldest', () => {
    const [deep, flat] = [there(3), there(1)];
    expect([seenOf([deep, flat]), seenOf([flat, deep]), seenOf([there(0), flat])]).toEqual([deep, deep, flat]);
    expect(seenOf([flat, { ...flat }])).toBe(flat);
  });

  it('needs no node to take it once it is in a block, or its newest version is seen', () => {
    const ends = (given: SpendFacts): boolean => decideSpend(given).refusalsEnd;
    expect([[there(1), sent()], [there(0)], [dead(B)]].map((signed) => ends(facts(signed)))).toEqual([
      true,
      true,
      true,
    ]);
    expect([[], [sent()], [there(0), sent()], [gone]].map((signed) => ends(facts(signed)))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

/** Every combination of facts about two versions that a chain can show. */
function everything(): SpendFacts[] {
  const yesNo = [false, true];
  const kinds: SignedFact[] = [
    ...[null, 0, 1, B].map((depth) => sent({ depth })),
    ...yesNo.flatMap((vanished) =>
      [0, 1, B].map((depth) => sent({ lack: vanished ? GONE : USED, vanished, dead: depth })),
    ),
    ...[1, B].map((depth) => sent({ lack: USED, failed: true, dead: depth })),
    sent({ isStored: false }),
  ];
  const versions = [[], ...kinds.map((one) => [one]), ...kinds.flatMap((one) => kinds.map((two) => [one, two]))];
  return versions
    .filter((signed) => signed.filter(({ depth }) => depth !== null).length < 2)
    .flatMap((signed) =>
      yesNo.flatMap((isPlanned) =>
        yesNo.flatMap((isOurs) =>
          yesNo.flatMap((isReplaceable) =>
            yesNo.map((isKept) => facts(signed, { isPlanned, isOurs, isReplaceable, isKept })),
          ),
        ),
      ),
    );
}

describe('every combination of facts', () => {
  const all = everything();

  it('are thousands', () => expect(all.length).toBeGreaterThan(2_000));

  it('never sends beside a version in a block, nor what lacks a key or has no bytes', () => {
    for (const given of all) {
      const { send } = decideSpend(given);
      if (send === null) continue;
      expect(given.signed.some(({ depth }) => (depth ?? 0) > 0)).toBe(false);
      expect(given.signed[send]).toMatchObject({ lack: null, isStored: true });
    }
  });

  it('is decided exactly while each version is, and none waits for its signature', () => {
    for (const given of all) {
      const { signed, isPlanned } = given;
      const over = !isPlanned && signed.length > 0 && signed.every((one) => isDecided(one, B));
      expect(SPEND_STATES[decideSpend(given).state].stored === 'buried').toBe(over);
    }
  });

  it('frees the money only where nothing can be sent or replaced, and the chain shows nothing', () => {
    for (const given of all) {
      const { state } = decideSpend(given);
      if (SPEND_STATES[state].holds) continue;
      expect(seenOf(given.signed)).toBeUndefined();
      expect(given.isPlanned).toBe(false);
      if (given.isOurs) expect(given.signed.every(({ lack }) => lack !== null)).toBe(true);
    }
  });

  it('has a problem only while no version can be sent and none is seen', () => {
    for (const given of all) {
      const { problem, send, seen } = decideSpend(given);
      if (problem !== null) expect([send, seen]).toEqual([null, null]);
    }
  });

  it('tells of every withdrawal in every state, and the same facts once more change nothing', () => {
    for (const given of all) {
      const decision = decideSpend(given);
      for (const state of WITHDRAWAL_STATES) {
        for (const paying of [[], given.signed.map((_, place) => place), [0]]) {
          const one = decideWithdrawal(given, decision, { state, paying });
          expect(one === null).toBe(['requested', 'approved', 'rejected'].includes(state));
          if (!one) continue;
          const after = one.events.reduce((now, event) => stepWithdrawal(now, event)!.state, state);
          if (paying.length > 0 && given.signed.length > 0)
            expect(after === 'completed').toBe(one.isPaying && (seenOf(given.signed)?.depth ?? 0) > 0);
          expect(one.held && !isOpen(after)).toBe(false);
          expect(one.loss !== null).toBe(one.events.includes('lose'));
          const again = decideWithdrawal(given, decision, { state: after, paying });
          expect(again?.events.reduce((now, event) => stepWithdrawal(now, event)!.state, after)).toBe(after);
          expect(again).toMatchObject({ held: one.held, isPaying: one.isPaying });
        }
      }
    }
  });
});

describe('a withdrawal of a spend', () => {
  const result = (given: SpendFacts, paying: number[], state: 'broadcast' | 'completed' = 'broadcast') =>
    decideWithdrawal(given, decideSpend(given), { state, paying });

  it('is canceled by a buried version that does not pay it', () => {
    expect(result(facts([dead(B), there(B)]), [0])).toMatchObject({
      events: ['lose'],
      loss: 'ended.canceled',
      held: false,
    });
  });

  it('fails by another transaction, or by its own without an effect', () => {
    expect(result(facts([dead(B)]), [0])?.loss).toBe('ended.conflict');
    const failed = sent({ lack: USED, failed: true, dead: B });
    expect(result(facts([failed]), [0])?.loss).toBe('ended.reverted');
    expect(result(facts([dead(B), failed]), [0, 1])?.loss).toBe('ended.reverted');
  });

  it('has its coin again once a version is seen, or nothing waits for it', () => {
    const found = (...signed: SignedFact[]) => result(facts(signed), [0])?.isFound;
    expect([found(gone), found(sent()), found(there(0)), found(sent(), there(0)), found(dead(B))]).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('keeps its money reserved until a version that pays it is seen', () => {
    expect(result(facts([sent()]), [0])?.held).toBe(true);
    expect(result(facts([there(0)]), [0])?.held).toBe(false);
    expect(result(facts([sent(), there(0)]), [0])?.held).toBe(true);
    expect(result(facts([gone], { isReplaceable: false }), [0])?.held).toBe(false);
  });

  it('that was given up unsigned stays so until the chain shows a copy', () => {
    const given = (signed: SignedFact[]) => {
      const one = facts(signed, { isAbandoned: true });
      return decideWithdrawal(one, decideSpend(one), { state: 'failed', paying: [0] });
    };
    const quiet = { events: [], loss: null, held: false, isPaying: false, problem: null, isFound: true };
    expect([given([sent({ isStored: false })]), given([dead(0)]), given([dead(B)])]).toMatchObject([
      quiet,
      quiet,
      quiet,
    ]);
    expect(given([there(0)])?.events).toEqual(['unpay', 'send']);
    expect(given([there(1)])?.events).toEqual(['pay']);
  });

  it.each<[string, [WithdrawalState, string | null][], boolean]>([
    ['nothing', [], false],
    ['what was given up', [['failed', 'ended.unsigned']], true],
    ['what was given up for a reason', [['failed', 'ended.unsigned_why']], true],
    ['what failed otherwise', [['failed', 'ended.conflict']], false],
    ['what failed without a reason', [['failed', null]], false],
    ['what is not over', [['signed', 'ended.unsigned']], false],
    [
      'what was given up only in part',
      [
        ['failed', 'ended.unsigned'],
        ['failed', 'ended.conflict'],
      ],
      false,
    ],
  ])('is abandoned with %s: %o', (_what, paid, isOver) => {
    const withdrawals = paid.map(([state, code]) => ({ state, reason: code === null ? null : message(code as never) }));
    expect(isAbandoned(withdrawals)).toBe(isOver);
  });

  it('goes back with its block', () => {
    expect(result(facts([sent()]), [0], 'completed')).toMatchObject({ events: ['unpay'], isPaying: false, held: true });
  });
});

describe('a version that waits for its signature', () => {
  const free = { isThere: true, isInBlock: false, isForeign: false };
  const planned = (change: Partial<PlannedFacts> = {}): PlannedFacts => ({
    pays: [{ state: 'approved', isCovered: true }],
    keys: [free, free],
    isInOrder: true,
    isNeedless: false,
    isBesideAbandoned: false,
    ...change,
  });
  const paying = (state: WithdrawalState, isCovered = true) =>
    planned({
      pays: [
        { state: 'approved', isCovered: true },
        { state, isCovered },
      ],
    });

  it.each<[string, PlannedFacts, boolean]>([
    ['is signed as it was planned', planned(), false],
    ['pays ourselves', planned({ pays: [] }), false],
    ['pays a refund whose deposits are gone', paying('approved', false), true],
    ['pays again what was signed, whatever covers it', paying('broadcast', false), false],
    ['lost one of its coins', planned({ keys: [free, { ...free, isThere: false }] }), true],
    ['has a coin that a block spends', planned({ keys: [free, { ...free, isInBlock: true }] }), true],
    ['has a coin that another transaction spends', planned({ keys: [free, { ...free, isForeign: true }] }), true],
    ['has a nonce whose predecessor is lost', planned({ isInOrder: false }), true],
    ['hurries a deposit that is confirmed', planned({ isNeedless: true }), true],
    ['could be paid beside what was given up', planned({ isBesideAbandoned: true }), true],
  ])('%s', (_what, facts, isOver) => {
    expect(isOutdated(facts)).toBe(isOver);
  });

  it('pays only what is approved or was signed', () => {
    const states = WITHDRAWAL_STATES.filter((state) => !isOutdated(paying(state)));
    expect(states).toEqual(['approved', 'signed', 'broadcast', 'completed']);
  });
});

const open = (signed: readonly SignedFact[], change: Partial<ReplaceFacts> = {}): ReplaceFacts => ({
  signed,
  isSigning: false,
  isRefused: false,
  hasKeys: true,
  hasDescendant: false,
  ...change,
});

/** The reasons where nodes replace transactions, and where they do not. */
const FIXED: [what: string, facts: ReplaceFacts | null, replacing: Fixed | null, final: Fixed | null][] = [
  ['nothing is signed, or it is over', null, 'nothing', 'final'],
  ['no version is signed yet', open([]), 'signing', 'final'],
  ['another version is signed now', open([there(0)], { isSigning: true }), 'signing', 'final'],
  ['no node has it', open([sent()]), null, 'final'],
  ['a node has it', open([there(0)]), null, 'final'],
  ['a block has it', open([there(1)]), 'confirmed', 'final'],
  ['a block has an older version', open([there(1), dead(1)]), 'confirmed', 'final'],
  ['no key is left', open([gone], { hasKeys: false }), 'no_coin', 'no_coin'],
  ['a later payment spends from it', open([there(0)], { hasDescendant: true }), 'descendant', 'final'],
  ['nodes refuse it', open([sent()], { isRefused: true }), null, null],
  [
    'nodes refuse it while another is signed',
    open([sent()], { isRefused: true, isSigning: true }),
    'signing',
    'signing',
  ],
  ['nobody here has its bytes', open([sent({ isStored: false })]), null, null],
  ['nobody here has the bytes of what a node has', open([there(0), sent({ isStored: false })]), null, 'final'],
  ['it lacks its coin', open([gone]), null, null],
];

describe('whyFixed', () => {
  it.each(FIXED)('%s', (_, known, replacing, final) => {
    expect(whyFixed(true, known)).toBe(replacing);
    expect(whyFixed(false, known)).toBe(final);
  });
});
