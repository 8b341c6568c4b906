/**
 * Decides when an invoice is paid, overdue or canceled, and whether each of its credits belongs to the invoice or to the
 * inbox: one pure function of all facts.
 *
 * `settle` is level-triggered: it compares the present facts with the earlier decision. So seen, confirmed, reorganised,
 * replaced and synced are one path, and repeated facts have no effect. Invariants: only credits with their required
 * confirmations make an invoice paid; no invoice leaves `paid` or `canceled`; once an invoice is no longer unpaid, every
 * credit is claimed by the invoice or by the inbox.
 */
import { assert } from './errors.ts';
import { maxOf } from './money.ts';

export const INVOICE_STATUSES = ['unpaid', 'paid', 'canceled'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];
/** Groups of invoices that lists show, beside those of a status. */
export const INVOICE_GROUPS = ['needs-you', 'expired'] as const;
export type InvoiceGroup = (typeof INVOICE_GROUPS)[number];
export const PAYMENT_STATUSES = ['pending', 'paid', 'overdue'] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/**
 * Why a deposit is in the inbox. `unexpected`: another asset than the invoice asked for. `wrong-network`: to an address
 * that an invoice has on another network with the same keys. `overpaid`: the part of a deposit that an invoice got beyond
 * its amount and tolerance before it was paid; the deposit itself counts for the invoice.
 */
const INBOX_REASONS = [
  'late',
  'extra',
  'short',
  'deleted',
  'unexpected',
  'wrong-network',
  'unassigned',
  'locked',
  'overpaid',
] as const;
export type InboxReason = (typeof INBOX_REASONS)[number];

/** The states of a deposit in the inbox, as they are shown. A refund is done with the first confirmation of its transaction. */
export const INBOX_STATES = ['open', 'accepted', 'kept', 'refunding', 'refunded'] as const;
export type InboxState = (typeof INBOX_STATES)[number];

/** A deposit in the inbox that is worth less (dollars, 1e-8) raises no alert: anybody can send any number of them. */
const TOLD_FROM_USD = 100_000_000n;

/** Whether a deposit in the inbox raises no alert. `usd`: its value (1e-8), null without a rate. A locked one can never be moved. */
export const isSilent = (reason: string, usd: bigint | null): boolean =>
  reason === 'locked' || (usd !== null && usd < TOLD_FROM_USD);

/** The divisor of a price: what is worth less than a hundredth of it is a crumb. */
const CRUMB_SHARE = 100n;

/** Whether money for an invoice is so little that it decides nothing: anybody can send it. Both in the invoice's fiat, 1e-8. */
export const isCrumb = (value: bigint, amount: bigint): boolean => value * CRUMB_SHARE < amount;

/** Bits of `payment.flags`. */
export const FLAG = { underpaid: 1, overpaid: 2, late: 4, undone: 8, markedPaid: 16 } as const;

/**
 * 'invoice': it counts for its invoice permanently. 'moved': it came from an address of the same account. An inbox reason: it is in
 * the inbox. Null: not decided yet.
 */
export type Claim = Verdict | 'moved' | null;

/** The decision of an invoice about a deposit. */
export type Verdict = 'invoice' | InboxReason;

/** A deposit to the payment's address, in the payment's asset, that is on the chain or in the mempool. */
export type CreditFact = {
  id: number;
  units: bigint;
  /** Its value in the invoice's fiat (1e-8); null while no rate is known. */
  value: bigint | null;
  firstSeenAt: number;
  /** Whether it has its required confirmations. */
  confirmed: boolean;
  claim: Claim;
};

export type Terms = {
  invoice: InvoiceStatus;
  payment: PaymentStatus;
  /** True if the invoice was paid and a reorganisation took the payment away. */
  undone: boolean;
  /** True if the operator marked the invoice paid; then no credit is required. */
  markedPaid: boolean;
  /** The invoice's amount and the tolerance below it, fiat 1e-8. */
  amount: bigint;
  tolerance: bigint;
  /** The most that the payer was asked for beyond the amount, because a quote and a small rest are rounded up. Fiat 1e-8. */
  roundedUp: bigint;
  /** The later of due date and quote end; from then on an unfunded payment is overdue. Milliseconds since 1970. */
  deadlineAt: number;
  /**
   * For invoices that anybody can make: when an invoice without any credit is canceled, even before its deadline; null
   * or absent: never. Milliseconds since 1970.
   */
  abandonedAt?: number | null;
};

/** The time after the deadline in which late money still counts. */
type Grace = { graceMs: number };

type Effect = { kind: 'paid' } | { kind: 'undone' } | { kind: 'claim'; credit: number; claim: Verdict };

export type Settlement = {
  invoice: InvoiceStatus;
  payment: PaymentStatus;
  undone: boolean;
  /** Received and confirmed for the invoice: in units, and in fiat (1e-8). */
  received: bigint;
  confirmed: bigint;
  seenValue: bigint;
  confirmedValue: bigint;
  underpaid: boolean;
  overpaid: boolean;
  late: boolean;
  effects: Effect[];
  /** When to settle again without a new fact; null if only facts can change the state. */
  checkAt: number | null;
};

/** The amount less the tolerance, fiat 1e-8. */
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

/** An operator's decision about an unpaid invoice. */
export type Decision = 'cancel' | 'mark-paid';

/**
 * The state that follows from the facts, and from the operator's decision if there is one.
 *
 * `credits`: every present credit of the payment's asset at its address. `syncedAt`: when the last completed sync
 * began, in milliseconds. A deadline counts only once it is before that.
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
  const counted = new Set(countedFor(credits, terms, needed, graceEndsAt));
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
    } else if (syncedAt >= graceEndsAt && sums.allConfirmed && sums.allValued) {
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
  else if (syncedAt >= terms.deadlineAt && sums.seenValue < needed && sums.allValued) payment = 'overdue';

  for (const credit of credits) {
    const claim = claimFor(credit, counted.has(credit), terms.invoice, invoice, graceEndsAt);
    if (claim !== null) effects.push({ kind: 'claim', credit: credit.id, claim });
  }

  const checks = [terms.deadlineAt, graceEndsAt, ...(counted.size === 0 ? [abandonedAt] : [])];
  // the credits of a canceled invoice go to the inbox at the same moment
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
    overpaid: seenValue > terms.amount + maxOf(terms.tolerance, terms.roundedUp),
    late: [...counted].some((credit) => credit.firstSeenAt > terms.deadlineAt),
    effects,
    checkAt: invoice === 'unpaid' ? nextCheck(syncedAt, checks) : null,
  };
}

/**
 * The credits that count for the invoice: those claimed for it, and new ones that came in time while it was unpaid. Once it is paid, new
 * ones count while the claimed do not suffice: a payment that replaces one removed by a reorganisation is not for the inbox.
 */
function countedFor(credits: readonly CreditFact[], terms: Terms, needed: bigint, graceEndsAt: number): CreditFact[] {
  const claimed = credits.filter(({ claim }) => claim === 'invoice');
  const isShort = terms.invoice === 'paid' && !terms.markedPaid && sum(claimed).confirmedValue < needed;
  if (!isShort && terms.invoice !== 'unpaid') return claimed;
  const counts = ({ claim, firstSeenAt }: CreditFact): boolean =>
    claim === null ? isShort || firstSeenAt <= graceEndsAt : claim === 'invoice';
  return credits.filter(counts);
}

/** The claim that a deposit gets; null: it has one, or none yet. */
function claimFor(
  credit: CreditFact,
  counted: boolean,
  before: InvoiceStatus,
  after: InvoiceStatus,
  graceEndsAt: number,
): Verdict | null {
  if (credit.claim !== null) return null;
  if (after === 'unpaid') return credit.firstSeenAt > graceEndsAt ? 'late' : null;
  if (after === 'paid') return counted ? 'invoice' : before === 'unpaid' ? 'late' : 'extra';
  return counted ? 'short' : 'late';
}

/** The first of these times that no sync has reached, or null. */
function nextCheck(syncedAt: number, times: readonly number[]): number | null {
  const next = Math.min(...times.filter((time) => time > syncedAt));
  return Number.isFinite(next) ? next : null;
}
