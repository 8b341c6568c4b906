import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apiStatus,
  BURIED_BLOCKS,
  eventsOf,
  isDecided,
  isOpen,
  stepWithdrawal,
  type VersionFact,
  WITHDRAWAL_EVENTS,
  WITHDRAWAL_STATES,
  type WithdrawalEvent,
  type WithdrawalState,
} from '../../../daemon/domain/withdrawal.ts';

/** Every state against every event, once more by hand. '.': nothing changes. '-': refused. */
const TABLE = `
             approve   reject    return     expire  sign    send       abandon  pay        unpay      lose
  requested  approved  rejected  .          rejected  -       -          -        -          -          -
  approved   -         rejected  requested  rejected  signed  -          -        -          -          -
  signed     -         -         -          -       .       broadcast  failed   completed  .          failed
  broadcast  -         -         -          -       .       .          -        completed  .          failed
  completed  -         -         -          -       -       .          -        .          broadcast  failed
  rejected   -         -         -          -       -       -          -        -          -          -
  failed     -         -         -          -       -       .          -        completed  broadcast  .
`;
const [head = [], ...lines] = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));
const CELLS = lines.flatMap(([state = '', ...cells]) =>
  cells.map((cell, i): [state: string, event: string, cell: string] => [state, head[i] ?? '', cell]),
);

describe('what may follow on what', () => {
  it('is said of every state and every event', () => {
    expect(head).toEqual([...WITHDRAWAL_EVENTS]);
    expect(lines.map(([state]) => state)).toEqual([...WITHDRAWAL_STATES]);
    expect(CELLS).toHaveLength(WITHDRAWAL_STATES.length * WITHDRAWAL_EVENTS.length);
  });

  it.each(CELLS)('%s, %s: %s', (state, event, cell) => {
    const step = stepWithdrawal(state as WithdrawalState, event as WithdrawalEvent);
    if (cell === '-') expect(step).toBeNull();
    else expect(step?.state).toBe(cell === '.' ? state : cell);
  });

  it.each<[WithdrawalState, WithdrawalEvent, string]>([
    ['completed', 'unpay', 'undone'],
    ['completed', 'lose', 'lost'],
    ['failed', 'pay', 'revived'],
    ['failed', 'unpay', 'reopened'],
  ])('the operator is told when %s meets %s', (state, event, alert) => {
    expect(stepWithdrawal(state, event)?.alert).toBe(alert);
  });

  it('and of nothing else', () => {
    const told = CELLS.filter(
      ([state, event]) => stepWithdrawal(state as WithdrawalState, event as WithdrawalEvent)?.alert,
    );
    expect(told.map(([state, event]) => `${state} ${event}`)).toEqual([
      'completed unpay',
      'completed lose',
      'failed pay',
      'failed unpay',
    ]);
  });

  it('shows the merchant three states', () => {
    expect(WITHDRAWAL_STATES.map(apiStatus)).toEqual([
      'pending',
      'pending',
      'pending',
      'pending',
      'completed',
      'failed',
      'failed',
    ]);
    expect(WITHDRAWAL_STATES.filter(isOpen)).toEqual(['requested', 'approved', 'signed', 'broadcast']);
  });
});

describe('what the chain says of the versions that pay', () => {
  const B = BURIED_BLOCKS.LTC;
  const there = (depth: number): VersionFact => ({ depth, dead: 0 });
  const away = (dead = 0): VersionFact => ({ depth: null, dead });
  it.each<[what: string, paying: VersionFact[], events: WithdrawalEvent[]]>([
    ['none is signed', [], []],
    ['it is nowhere', [away()], ['unpay']],
    ['it is in the mempool', [there(0)], ['unpay', 'send']],
    ['it is in a block', [there(1)], ['pay']],
    ['it is deep down', [there(100)], ['pay']],
    ['another is in a block', [away(1), there(1)], ['pay']],
    ['something else is almost buried', [away(B - 1)], ['unpay']],
    ['something else is buried', [away(B)], ['lose']],
    ['one is impossible and another is not', [away(B), away()], ['unpay']],
    ['one is impossible and another in the mempool', [away(B), there(0)], ['unpay', 'send']],
    ['all are impossible', [away(B), away(B + 3)], ['lose']],
  ])('%s', (_, paying, events) => {
    expect(eventsOf(paying, B)).toEqual(events);
  });

  it('is decided once it is buried, or impossible for as long', () => {
    expect([there(B), there(B - 1), away(B), away(B - 1), away()].map((one) => isDecided(one, B))).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it('is final after the depths that were decided', () => {
    expect(BURIED_BLOCKS).toMatchObject({ BTC: 6, LTC: 12, BCH: 12 });
  });
});

type Spender = 'pays' | 'ours' | 'foreign';

/**
 * A withdrawal that was signed, and a chain that does what it likes with its versions: puts any of them, a cancellation or
 * a stranger's conflict into blocks and takes them out again. One spender of a coin at a time is all that a chain can.
 */
type Move =
  | { kind: 'spend'; by: Spender }
  | { kind: 'mine'; blocks: number }
  | { kind: 'reorg'; to: number }
  | { kind: 'decide'; event: 'approve' | 'reject' | 'expire' };

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant('spend' as const), by: fc.constantFrom<Spender>('pays', 'ours', 'foreign') }),
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant('reorg' as const), to: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    kind: fc.constant('decide' as const),
    event: fc.constantFrom<'approve' | 'reject' | 'expire'>('approve', 'reject', 'expire'),
  }),
);

describe('whatever the chain and the operator do', () => {
  it('a withdrawal is completed exactly while a version that pays it is in a block', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
        let state: WithdrawalState = 'signed';
        let spender: Spender | null = null;
        let depth = 0;
        for (const step of moves) {
          if (step.kind === 'decide') {
            // what was signed can be sent at any time: nobody can decide against it any more
            expect(stepWithdrawal(state, step.event)).toBeNull();
            continue;
          }
          if (step.kind === 'spend' && depth === 0) spender = step.by;
          if (step.kind === 'mine' && spender) depth += step.blocks;
          if (step.kind === 'reorg' && depth > 0) depth = step.to;
          const pays = spender === 'pays' ? depth : null;
          const paying = [{ depth: pays, dead: spender === null || pays !== null ? 0 : depth }];
          const before = state;
          for (const event of eventsOf(paying, 6)) {
            const next = stepWithdrawal(state, event);
            expect(next).not.toBeNull();
            state = next!.state;
          }
          const paid = spender === 'pays' && depth >= 1;
          expect(state === 'completed').toBe(paid);
          if (before === 'failed' && !paid) expect(state).toBe(paying[0]!.dead >= 6 ? 'failed' : 'broadcast');
          if (state === 'failed' && before !== 'failed') {
            expect(spender).not.toBe('pays');
            expect(depth).toBeGreaterThanOrEqual(6);
          }
          // the same facts once more change nothing
          const again = eventsOf(paying, 6).reduce<WithdrawalState>(
            (now, event) => stepWithdrawal(now, event)?.state ?? now,
            state,
          );
          expect(again).toBe(state);
        }
      }),
    );
  });

  it('nothing is signed that nobody approved, and nothing is sent that was not signed', () => {
    const events = fc.array(fc.constantFrom(...WITHDRAWAL_EVENTS), { maxLength: 30 });
    fc.assert(
      fc.property(events, (happened) => {
        let state: WithdrawalState = 'requested';
        const taken: WithdrawalEvent[] = [];
        for (const event of happened) {
          const step = stepWithdrawal(state, event);
          if (!step) continue;
          state = step.state;
          taken.push(event);
        }
        const first = (event: WithdrawalEvent): number => {
          const at = taken.indexOf(event);
          return at < 0 ? Number.POSITIVE_INFINITY : at;
        };
        if (taken.includes('sign')) expect(first('approve')).toBeLessThan(first('sign'));
        if (taken.includes('send')) expect(first('sign')).toBeLessThan(first('send'));
        if (state === 'completed') expect(taken).toContain('pay');
        if (taken.includes('pay')) expect(first('sign')).toBeLessThan(first('pay'));
        if (state === 'rejected') expect(taken).not.toContain('sign');
      }),
    );
  });
});
