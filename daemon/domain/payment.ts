/**
 * When an invoice is paid, overdue or canceled, and where each of its credits belongs: one pure function of all facts.
 *
 * `settle` is level-triggered: it compares what is true now with what was decided, so seen, confirmed, reorged,
 * replaced and caught up are the same path, and the same facts twice have no effect. Invariants: an invoice becomes
 * paid only by credits with their required confirmations; nothing leaves `paid` or `canceled`; every credit is claimed
 * by an invoice or by the inbox as soon as its invoice is no longer unpaid.
 */
import { assert } from './errors.ts';

export type InvoiceStatus = 'unpaid' | 'paid' | 'canceled';
export type PaymentStatus = 'pending' | 'paid' | 'overdue';

/** Why a deposit lies in the inbox. */
export type InboxReason = 'late' | 'extra' | 'short' | 'deleted' | 'unexpected' | 'unassigned' | 'locked';

/** 'invoice': counts for its invoice for good. Any other word: in the inbox, for that reason. Null: not decided. */
export type Claim = 'invoice' | InboxReason | null;

/** One deposit to the payment's address, in the payment's asset, present on the chain or in the mempool. */
export type CreditFact = {
  id: number;
  units: bigint;
  /** Its worth in the invoice's fiat (1e-8), null while no rate is known for it. */
  value: bigint | null;
  firstSeenAt: number;
  /** Whether it has the confirmations that its transaction needs. */
  confirmed: boolean;
  claim: Claim;
};

export type Terms = {
  invoice: InvoiceStatus;
  payment: PaymentStatus;
  /** True once an operator or the sum of credits has paid the invoice and a reorg took that away. */
  undone: boolean;
  /** True when the operator marked the invoice paid: no credit has to bear that out. */
  markedPaid: boolean;
  /** The invoice's amount and how much less is enough, in fiat 1e-8. */
  amount: bigint;
  tolerance: bigint;
  /** The later of due date and quote end: from here on an unfunded payment is overdue. Milliseconds since 1970. */
  deadlineAt: number;
  /**
   * From when on the invoice is canceled if nothing at all came for it, also before its deadline; null or absent: never.
   * For invoices that anybody could make. Milliseconds since 1970.
   */
  abandonedAt?: number | null;
};

/** The time after the deadline in which late money still counts. */
export type Grace = { graceMs: number };

export type Effect =
  | { kind: 'paid' }
  | { kind: 'undone' }
  | { kind: 'claim'; credit: number; claim: Exclude<Claim, null> };

export type Settlement = {
  invoice: InvoiceStatus;
  payment: PaymentStatus;
  undone: boolean;
  /** What has arrived for the invoice and what of it is confirmed: in units and in fiat (1e-8). */
  received: bigint;
  confirmed: bigint;
  seenValue: bigint;
  confirmedValue: bigint;
  underpaid: boolean;
  overpaid: boolean;
  late: boolean;
  effects: Effect[];
  /** When to look again though no fact changes; null when only facts can change anything. */
  checkAt: number | null;
};

/** What is enough: the amount less the tolerance, in fiat 1e-8. */
export function amountNeeded(terms: { amount: bigint; tolerance: bigint }): bigint {
  assert(terms.tolerance >= 0n && terms.tolerance < terms.amount, 'the tolerance is below the amount');
  return terms.amount - terms.tolerance;
}

type Sums = Pick<Settlement, 'received' | 'confirmed' | 'seenValue' | 'confirmedValue'> & {
  allConfirmed: boolean;
  allValued: boolean;
};

function sum(credits: Iterable<CreditFact>): Sums {
  const sums: Sums = {
    received: 0n,
    confirmed: 0n,
    seenValue: 0n,
    confirmedValue: 0n,
    allConfirmed: true,
    allValued: true,
  };
  for (const credit of credits) {
    sums.received += credit.units;
    sums.seenValue += credit.value ?? 0n;
    if (credit.confirmed) {
      sums.confirmed += credit.units;
      sums.confirmedValue += credit.value ?? 0n;
    }
    sums.allConfirmed &&= credit.confirmed;
    sums.allValued &&= credit.value !== null;
  }
  return sums;
}

/** What an operator may decide about an unpaid invoice. */
export type Decision = 'cancel' | 'mark-paid';

/**
 * The state that follows from the facts, and from the operator's decision where there is one.
 *
 * `credits`: every credit of the payment's asset at its address that is present now. `syncedAt`: when the last sync
 * began that has completed, in milliseconds: a deadline counts only once it is past that.
 */
export function settle(
  terms: Terms,
  { graceMs }: Grace,
  credits: readonly CreditFact[],
  syncedAt: number,
  decision: Decision | null = null,
): Settlement {
  const needed = amountNeeded(terms);
  const graceEndsAt = terms.deadlineAt + graceMs;
  const abandonedAt = terms.abandonedAt ?? Number.POSITIVE_INFINITY;
  const counted = new Set(credits.filter((credit) => countsFor(credit, terms, graceEndsAt)));
  const sums = sum(counted);

  let invoice = terms.invoice;
  let payment = terms.payment;
  let undone = terms.undone;
  const effects: Effect[] = [];

  if (invoice === 'unpaid') {
    if (sums.confirmedValue >= needed || decision === 'mark-paid') {
      invoice = 'paid';
      effects.push({ kind: 'paid' });
    } else if (decision === 'cancel') {
      invoice = 'canceled';
    } else if (syncedAt >= graceEndsAt && sums.seenValue < needed && sums.allConfirmed && sums.allValued) {
      invoice = 'canceled';
    } else if (counted.size === 0 && syncedAt >= abandonedAt) {
      invoice = 'canceled';
    }
  } else if (invoice === 'paid' && !terms.markedPaid) {
    const short = sums.confirmedValue < needed;
    if (short && !undone) effects.push({ kind: 'undone' });
    undone = short;
  }

  if (invoice === 'paid') payment = 'paid';
  else if (invoice === 'canceled') payment = 'overdue';
  else if (payment === 'pending' && syncedAt >= terms.deadlineAt && sums.seenValue < needed && sums.allValued) {
    payment = 'overdue';
  }

  for (const credit of credits) {
    const claim = claimFor(credit, counted.has(credit), terms.invoice, invoice, graceEndsAt);
    if (claim !== null && claim !== credit.claim) effects.push({ kind: 'claim', credit: credit.id, claim });
  }

  const checks = [
    ...(payment === 'pending' ? [terms.deadlineAt] : []),
    graceEndsAt,
    ...(counted.size === 0 ? [abandonedAt] : []),
  ];
  // what a canceled invoice had is the inbox's from the same moment on
  const { received, confirmed, seenValue, confirmedValue } =
    invoice === 'canceled' ? sum(credits.filter(({ claim }) => claim === 'invoice')) : sums;
  return {
    invoice,
    payment,
    undone,
    received,
    confirmed,
    seenValue,
    confirmedValue,
    underpaid: received > 0n && seenValue < needed,
    overpaid: seenValue > terms.amount + terms.tolerance,
    late: [...counted].some((credit) => credit.firstSeenAt > terms.deadlineAt),
    effects,
    checkAt: invoice === 'unpaid' ? nextCheck(syncedAt, checks) : null,
  };
}

/** Whether a credit speaks for the invoice: what came in time while it was unpaid, and what was claimed for it. */
function countsFor(credit: CreditFact, terms: Terms, graceEndsAt: number): boolean {
  if (credit.claim === 'invoice') return true;
  if (credit.claim !== null) return false;
  if (terms.invoice === 'unpaid') return credit.firstSeenAt <= graceEndsAt;
  // a payer who makes good what a reorg took away pays the invoice, not the inbox
  return terms.invoice === 'paid' && terms.undone;
}

function claimFor(
  credit: CreditFact,
  counted: boolean,
  before: InvoiceStatus,
  after: InvoiceStatus,
  graceEndsAt: number,
): Claim {
  if (credit.claim !== null) return credit.claim;
  if (after === 'unpaid') return credit.firstSeenAt > graceEndsAt ? 'late' : null;
  if (after === 'paid') return counted ? 'invoice' : before === 'unpaid' ? 'late' : 'extra';
  return before === 'unpaid' && counted ? 'short' : 'late';
}

/** The first of these times that no sync has reached, or null. */
function nextCheck(syncedAt: number, times: readonly number[]): number | null {
  const next = Math.min(...times.filter((time) => time > syncedAt));
  return Number.isFinite(next) ? next : null;
}
