import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  amountNeeded,
  type Claim,
  type CreditFact,
  type Decision,
  type InvoiceStatus,
  isCrumb,
  isSilent,
  type PaymentStatus,
  type Settlement,
  settle,
  type Terms,
} from '../../../daemon/domain/payment.ts';

const DEADLINE = 1_000_000;
const GRACE = 500_000;
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
  ...over,
});

let nextId = 1;
const credit = (value: bigint | null, over: Partial<CreditFact> = {}): CreditFact => ({
  id: nextId++,
  units: (value ?? 7n) * 10n,
  value,
  firstSeenAt: 1_000,
  confirmed: true,
  claim: null,
  ...over,
});

const run = (t: Terms, credits: CreditFact[], syncedAt: number, decision: Decision | null = null): Settlement =>
  settle(t, { graceMs: GRACE }, credits, syncedAt, decision);

const kinds = (result: Settlement): string[] =>
  result.effects.map((effect) => (effect.kind === 'claim' ? `claim ${effect.claim}` : effect.kind));

type Row = [
  name: string,
  before: Partial<Terms>,
  credits: () => CreditFact[],
  syncedAt: number,
  after: [InvoiceStatus, PaymentStatus],
  effects: string[],
];

const before = 10_000;
const overdueTime = DEADLINE;
const graceTime = GRACE_END;

const ROWS: Row[] = [
  ['nothing came yet', {}, () => [], before, ['unpaid', 'pending'], []],
  ['paid in full, unconfirmed', {}, () => [credit(100n, { confirmed: false })], before, ['unpaid', 'pending'], []],
  ['paid in full', {}, () => [credit(100n)], before, ['paid', 'paid'], ['paid', 'claim invoice']],
  ['paid within the tolerance', {}, () => [credit(99n)], before, ['paid', 'paid'], ['paid', 'claim invoice']],
  ['paid below the tolerance', {}, () => [credit(98n)], before, ['unpaid', 'pending'], []],
  [
    'paid in two parts',
    {},
    () => [credit(50n), credit(50n)],
    before,
    ['paid', 'paid'],
    ['paid', 'claim invoice', 'claim invoice'],
  ],
  [
    'one part unconfirmed',
    {},
    () => [credit(50n), credit(50n, { confirmed: false })],
    before,
    ['unpaid', 'pending'],
    [],
  ],
  ['an unvalued credit does not pay', {}, () => [credit(null)], before, ['unpaid', 'pending'], []],
  ['the deadline passed with nothing', {}, () => [], overdueTime, ['unpaid', 'overdue'], []],
  ['the deadline passed with a part', {}, () => [credit(40n)], overdueTime, ['unpaid', 'overdue'], []],
  [
    'the deadline passed, enough was seen',
    {},
    () => [credit(100n, { confirmed: false })],
    overdueTime,
    ['unpaid', 'pending'],
    [],
  ],
  ['the deadline passed, one is unvalued', {}, () => [credit(null)], overdueTime, ['unpaid', 'pending'], []],
  [
    'late money in grace, unconfirmed',
    { payment: 'overdue' },
    () => [credit(100n, { firstSeenAt: DEADLINE + 1, confirmed: false })],
    DEADLINE + 2,
    ['unpaid', 'overdue'],
    [],
  ],
  [
    'late money in grace, confirmed',
    { payment: 'overdue' },
    () => [credit(100n, { firstSeenAt: DEADLINE + 1 })],
    DEADLINE + 2,
    ['paid', 'paid'],
    ['paid', 'claim invoice'],
  ],
  ['grace ended with nothing', { payment: 'overdue' }, () => [], graceTime, ['canceled', 'overdue'], []],
  [
    'grace ended short',
    { payment: 'overdue' },
    () => [credit(40n)],
    graceTime,
    ['canceled', 'overdue'],
    ['claim short'],
  ],
  [
    'grace ended short, a part still unconfirmed',
    { payment: 'overdue' },
    () => [credit(40n), credit(20n, { confirmed: false })],
    graceTime,
    ['unpaid', 'overdue'],
    [],
  ],
  [
    'grace ended, enough was seen but unconfirmed',
    { payment: 'pending' },
    () => [credit(100n, { confirmed: false })],
    graceTime + 9_999_999,
    ['unpaid', 'pending'],
    [],
  ],
  ['grace ended, one is unvalued', { payment: 'overdue' }, () => [credit(null)], graceTime, ['unpaid', 'overdue'], []],
  [
    'what came after grace does not count',
    { payment: 'overdue' },
    () => [credit(100n, { firstSeenAt: GRACE_END + 1 })],
    graceTime + 2,
    ['canceled', 'overdue'],
    ['claim late'],
  ],
  [
    'what came in the last moment of grace counts',
    { payment: 'overdue' },
    () => [credit(100n, { firstSeenAt: GRACE_END })],
    graceTime + 2,
    ['paid', 'paid'],
    ['paid', 'claim invoice'],
  ],
  [
    'what came in the last moment of grace is not late while it is not confirmed',
    { payment: 'overdue' },
    () => [credit(40n, { firstSeenAt: GRACE_END, confirmed: false })],
    graceTime + 2,
    ['unpaid', 'overdue'],
    [],
  ],
  [
    'what came after grace is late to the invoice that the rest pays',
    { payment: 'overdue' },
    () => [credit(100n), credit(5n, { firstSeenAt: GRACE_END + 1 })],
    graceTime + 2,
    ['paid', 'paid'],
    ['paid', 'claim invoice', 'claim late'],
  ],
  [
    'the deadline passed, exactly what is needed was seen',
    {},
    () => [credit(99n, { confirmed: false })],
    overdueTime,
    ['unpaid', 'pending'],
    [],
  ],
  [
    'extra after exactly what was needed',
    { invoice: 'paid', payment: 'paid' },
    () => [credit(99n, { claim: 'invoice' }), credit(5n)],
    before,
    ['paid', 'paid'],
    ['claim extra'],
  ],
  [
    'while an early part is unconfirmed, what came after grace goes to the inbox',
    { payment: 'overdue' },
    () => [credit(40n, { confirmed: false }), credit(60n, { firstSeenAt: GRACE_END + 1 })],
    graceTime + 2,
    ['unpaid', 'overdue'],
    ['claim late'],
  ],
  [
    'extra after paid',
    { invoice: 'paid', payment: 'paid' },
    () => [credit(100n, { claim: 'invoice' }), credit(5n)],
    before,
    ['paid', 'paid'],
    ['claim extra'],
  ],
  [
    'late to a canceled invoice',
    { invoice: 'canceled', payment: 'overdue' },
    () => [credit(100n)],
    before,
    ['canceled', 'overdue'],
    ['claim late'],
  ],
  [
    'a reorg undoes a paid invoice',
    { invoice: 'paid', payment: 'paid' },
    () => [credit(100n, { claim: 'invoice', confirmed: false })],
    before,
    ['paid', 'paid'],
    ['undone'],
  ],
  [
    'an undone invoice stays undone, once',
    { invoice: 'paid', payment: 'paid', undone: true },
    () => [],
    before,
    ['paid', 'paid'],
    [],
  ],
  [
    'an undone invoice is made good by the payer',
    { invoice: 'paid', payment: 'paid', undone: true },
    () => [credit(100n)],
    before,
    ['paid', 'paid'],
    ['claim invoice'],
  ],
  [
    'a payment that replaces the one of a paid invoice pays it',
    { invoice: 'paid', payment: 'paid' },
    () => [credit(100n)],
    before,
    ['paid', 'paid'],
    ['claim invoice'],
  ],
  [
    'a payment that is to replace it and is not confirmed yet counts for it',
    { invoice: 'paid', payment: 'paid' },
    () => [credit(40n, { claim: 'invoice' }), credit(60n, { confirmed: false })],
    before,
    ['paid', 'paid'],
    ['undone', 'claim invoice'],
  ],
  [
    'an undone invoice whose payment is back takes no further one',
    { invoice: 'paid', payment: 'paid', undone: true },
    () => [credit(100n, { claim: 'invoice' }), credit(5n)],
    before,
    ['paid', 'paid'],
    ['claim extra'],
  ],
  [
    'an invoice that the operator marked paid needs no credit',
    { invoice: 'paid', payment: 'paid', markedPaid: true },
    () => [],
    before,
    ['paid', 'paid'],
    [],
  ],
];

describe('settle', () => {
  it.each(ROWS)('%s', (_name, over, credits, syncedAt, [invoice, payment], effects) => {
    const result = run(terms(over), credits(), syncedAt);
    expect([result.invoice, result.payment]).toEqual([invoice, payment]);
    expect(kinds(result)).toEqual(effects);
  });

  it.each<[Decision, InvoiceStatus, PaymentStatus, string[]]>([
    ['cancel', 'canceled', 'overdue', ['claim short']],
    ['mark-paid', 'paid', 'paid', ['paid', 'claim invoice']],
  ])('an operator may %s', (decision, invoice, payment, effects) => {
    const result = run(terms({ markedPaid: decision === 'mark-paid' }), [credit(10n)], before, decision);
    expect([result.invoice, result.payment]).toEqual([invoice, payment]);
    expect(kinds(result)).toEqual(effects);
  });

  it('sums what was received and confirmed, in units and in fiat', () => {
    const result = run(terms(), [credit(30n), credit(20n, { confirmed: false }), credit(null)], before);
    expect(result).toMatchObject({ received: 570n, confirmed: 370n, seenValue: 50n, confirmedValue: 30n });
    expect(result).toMatchObject({ underpaid: true, overpaid: false, late: false });
  });

  it('sums of a canceled invoice only what was claimed for it', () => {
    const credits = [credit(30n, { claim: 'invoice' }), credit(10n)];
    const result = run(terms({ payment: 'overdue' }), credits, graceTime);
    expect(result).toMatchObject({ invoice: 'canceled', received: 300n, confirmed: 300n });
    expect(result).toMatchObject({ seenValue: 30n, confirmedValue: 30n, underpaid: true });
  });

  it('sums of an undone invoice what was claimed for it, and what replaces that', () => {
    const credits = [credit(40n, { claim: 'invoice' }), credit(20n), credit(9n, { claim: 'extra' })];
    const result = run(terms({ invoice: 'paid', payment: 'paid' }), credits, before);
    expect(result).toMatchObject({ undone: true, received: 600n, confirmedValue: 60n });
  });

  it.each([
    [[], false],
    [[98n], true],
    [[99n], false],
  ] as const)('%s of 100 with a tolerance of 1 is underpaid: %s', (values, underpaid) => {
    expect(
      run(
        terms(),
        values.map((value) => credit(value)),
        before,
      ).underpaid,
    ).toBe(underpaid);
  });

  it.each([
    [-1n, 100n],
    [100n, 100n],
    [101n, 100n],
  ])('takes no tolerance of %s of %s', (tolerance, amount) => {
    expect(() => amountNeeded({ tolerance, amount })).toThrow('the tolerance is below the amount');
  });

  it.each([
    ['late', null, false],
    ['late', 100_000_000n, false],
    ['late', 99_999_999n, true],
    ['locked', null, true],
    ['locked', 100_000_000n, true],
  ])('is silent about what is %s and worth %s: %s', (reason, usd, silent) => {
    expect(isSilent(reason, usd)).toBe(silent);
  });

  it.each([
    [0n, true],
    [9n, true],
    [10n, false],
  ])('calls %s of 1000 a crumb: %s', (value, isSmall) => expect(isCrumb(value, 1_000n)).toBe(isSmall));

  it.each([
    [101n, 0n, false],
    [102n, 0n, true],
    [103n, 3n, false],
    [104n, 3n, true],
  ])('%s of 100 with a tolerance of 1, rounded up by at most %s, is overpaid: %s', (value, roundedUp, overpaid) => {
    expect(run(terms({ roundedUp }), [credit(value)], before).overpaid).toBe(overpaid);
  });

  it('flags money that was first seen after the deadline', () => {
    expect(run(terms(), [credit(10n, { firstSeenAt: DEADLINE })], before).late).toBe(false);
    const late = credit(10n, { firstSeenAt: DEADLINE + 1 });
    expect(run(terms(), [late], before).late).toBe(true);
    expect(run(terms(), [credit(10n), late], before).late).toBe(true);
  });

  it.each<[Partial<Terms>, number, number | null]>([
    [{}, before, DEADLINE],
    [{ payment: 'overdue' }, DEADLINE, GRACE_END],
    [{}, DEADLINE, GRACE_END],
    [{ invoice: 'paid', payment: 'paid' }, before, null],
    [{ invoice: 'canceled', payment: 'overdue' }, before, null],
  ])('%o at %s is looked at again at %s', (over, syncedAt, checkAt) => {
    expect(run(terms(over), [], syncedAt).checkAt).toBe(checkAt);
  });
});

const claims: Claim[] = [null, 'invoice', 'moved', 'late', 'extra', 'short'];
const arbitraryCredit = fc.record({
  id: fc.integer({ min: 1, max: 1_000_000 }),
  units: fc.bigInt(1n, 1_000n),
  value: fc.option(fc.bigInt(0n, 150n)),
  firstSeenAt: fc.integer({ min: 0, max: GRACE_END * 2 }),
  confirmed: fc.boolean(),
  claim: fc.constantFrom(...claims),
});
const arbitraryTerms = fc.record({
  invoice: fc.constantFrom<InvoiceStatus>('unpaid', 'paid', 'canceled'),
  payment: fc.constantFrom<PaymentStatus>('pending', 'paid', 'overdue'),
  undone: fc.boolean(),
  markedPaid: fc.boolean(),
  amount: fc.constant(100n),
  tolerance: fc.bigInt(0n, 5n),
  roundedUp: fc.bigInt(0n, 9n),
  deadlineAt: fc.constant(DEADLINE),
});
const arbitraryFacts = fc.uniqueArray(arbitraryCredit, { maxLength: 6, selector: (fact) => fact.id });
const arbitraryTime = fc.integer({ min: 0, max: GRACE_END * 2 });

/** What the store keeps of a settlement. */
function applied(t: Terms, facts: CreditFact[], result: Settlement): [Terms, CreditFact[]] {
  const claimed = new Map(
    result.effects.flatMap((effect) => (effect.kind === 'claim' ? [[effect.credit, effect.claim] as const] : [])),
  );
  return [
    { ...t, invoice: result.invoice, payment: result.payment, undone: result.undone },
    facts.map((fact) => ({ ...fact, claim: claimed.get(fact.id) ?? fact.claim })),
  ];
}

describe('settle, for any facts', () => {
  it('has no effect the second time', () => {
    fc.assert(
      fc.property(arbitraryTerms, arbitraryFacts, arbitraryTime, (t, facts, time) => {
        const [nextTerms, nextFacts] = applied(t, facts, run(t, facts, time));
        const again = run(nextTerms, nextFacts, time);
        expect(again.effects).toEqual([]);
        expect([again.invoice, again.payment]).toEqual([nextTerms.invoice, nextTerms.payment]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is paid by itself only with enough confirmed, and never leaves paid or canceled', () => {
    fc.assert(
      fc.property(arbitraryTerms, arbitraryFacts, arbitraryTime, (t, facts, time) => {
        const result = run(t, facts, time);
        if (t.invoice !== 'unpaid') expect(result.invoice).toBe(t.invoice);
        if (t.invoice === 'unpaid' && result.invoice === 'paid') {
          const confirmed = facts.filter((fact) => fact.confirmed && (fact.claim === null || fact.claim === 'invoice'));
          const worth = confirmed.reduce((total, fact) => total + (fact.value ?? 0n), 0n);
          expect(worth).toBeGreaterThanOrEqual(t.amount - t.tolerance);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('leaves no credit of a settled invoice unclaimed, and pays at most once', () => {
    fc.assert(
      fc.property(
        arbitraryTerms.filter((t) => t.invoice === 'unpaid'),
        fc.array(fc.tuple(arbitraryFacts, arbitraryTime), { minLength: 1, maxLength: 5 }),
        (start, steps) => {
          let current: Terms = start;
          let paid = 0;
          for (const [facts, time] of steps) {
            const result = run(current, facts, time);
            paid += result.effects.filter((effect) => effect.kind === 'paid').length;
            const [nextTerms, nextFacts] = applied(current, facts, result);
            if (result.invoice !== 'unpaid') for (const fact of nextFacts) expect(fact.claim).not.toBeNull();
            current = nextTerms;
          }
          expect(paid).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
