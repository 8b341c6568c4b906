/** When an invoice that anybody could make is given up: at a time of its own, and only while nothing at all came for it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CreditFact, settle, type Terms } from '../../../daemon/domain/payment.ts';

const ABANDONED = 500_000;
const DEADLINE = 1_000_000;
const GRACE = 200_000;
const GRACE_END = DEADLINE + GRACE;

const terms = (over: Partial<Terms> = {}): Terms => ({
  invoice: 'unpaid',
  payment: 'pending',
  undone: false,
  markedPaid: false,
  amount: 100n,
  tolerance: 1n,
  roundedUp: 0n,
  deadlineAt: DEADLINE,
  abandonedAt: ABANDONED,
  ...over,
});

const credit = (over: Partial<CreditFact> = {}): CreditFact => ({
  id: 1,
  units: 400n,
  value: 40n,
  firstSeenAt: 1_000,
  confirmed: true,
  claim: null,
  ...over,
});

const run = (over: Partial<Terms>, credits: CreditFact[], syncedAt: number) =>
  settle(terms(over), { graceMs: GRACE }, credits, syncedAt);

describe('without a credit', () => {
  it.each<[string, Partial<Terms>, number, string, string, number | null]>([
    ['before', {}, ABANDONED - 1, 'unpaid', 'pending', ABANDONED],
    ['then', {}, ABANDONED, 'canceled', 'overdue', null],
    ['later', {}, DEADLINE, 'canceled', 'overdue', null],
    ['one of the merchant’s', { abandonedAt: null }, ABANDONED, 'unpaid', 'pending', DEADLINE],
    [
      'one that knows nothing of it',
      { abandonedAt: undefined as unknown as null },
      ABANDONED,
      'unpaid',
      'pending',
      DEADLINE,
    ],
    ['due before it', { abandonedAt: GRACE_END + 5 }, DEADLINE, 'unpaid', 'overdue', GRACE_END],
    ['graced before it', { abandonedAt: GRACE_END + 5 }, GRACE_END, 'canceled', 'overdue', null],
    ['one that is paid', { invoice: 'paid', markedPaid: true, payment: 'paid' }, ABANDONED, 'paid', 'paid', null],
  ])('%s', (_name, over, syncedAt, invoice, payment, checkAt) => {
    expect(run(over, [], syncedAt)).toMatchObject({ invoice, payment, checkAt, effects: [] });
  });
});

describe('a credit keeps it', () => {
  it.each<[string, Partial<CreditFact>]>([
    ['confirmed', {}],
    ['unconfirmed', { confirmed: false }],
    ['not valued yet', { value: null }],
    ['that came in the last moment', { firstSeenAt: ABANDONED - 1 }],
    ['that came when it was over, before anybody looked', { firstSeenAt: ABANDONED + 1 }],
  ])('%s', (_name, over) => {
    const result = run({}, [credit(over)], ABANDONED + 2);
    expect(result).toMatchObject({ invoice: 'unpaid', payment: 'pending', checkAt: DEADLINE });
    expect(run({}, [credit(over)], ABANDONED - 1).checkAt).toBe(DEADLINE);
  });
});

it('never changes what was decided, and says the same twice', () => {
  const facts = fc.array(
    fc.record({
      id: fc.nat(),
      units: fc.bigInt(1n, 1_000n),
      value: fc.option(fc.bigInt(0n, 120n)),
      firstSeenAt: fc.nat(2 * GRACE_END),
      confirmed: fc.boolean(),
      claim: fc.constant(null),
    }),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(facts, fc.nat(2 * GRACE_END), fc.nat(2 * GRACE_END), (credits, syncedAt, abandonedAt) => {
      const own = run({ abandonedAt }, credits, syncedAt);
      const merchants = run({ abandonedAt: null }, credits, syncedAt);
      // it only ever cancels sooner, and only where no credit counts
      if (own.invoice !== merchants.invoice) {
        expect([own.invoice, own.received, syncedAt >= abandonedAt]).toEqual(['canceled', 0n, true]);
      } else {
        expect(own.effects).toEqual(merchants.effects);
      }
      if (own.checkAt !== null) expect(own.checkAt).toBeGreaterThan(syncedAt);
      const again = run({ abandonedAt, invoice: own.invoice, payment: own.payment, undone: own.undone }, [], syncedAt);
      if (own.invoice === 'canceled') expect(again.invoice).toBe('canceled');
    }),
  );
});
