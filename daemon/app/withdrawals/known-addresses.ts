/**
 * The known facts about an address, and about those that begin and end like it.
 *
 * Invariant: only the operator makes an address trusted, by the address book or by an approval of a payment that the chain completed.
 * A payment that a policy let go says nothing about who is paid: whoever has a key that withdraws can have it made.
 */
import type { ChainId } from '../../domain/assets.ts';
import { lookalikeKeyOf, sharesOneEnd } from '../../domain/policy.ts';
import { addressesByLookalikeKey, addressInBook, bookEntries } from '../../store/queries/policies.ts';
import { allPayees, approvedPayees, trustedPayees } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';

const ALIKE_MAX = 200;
/** Of the addresses that are compared by one end alone. */
const COMPARED_MAX = 1_000;

type KnownAddress = {
  address: string;
  /** In the address book. */
  label: string | null;
  /** Payments that the operator approved and the chain completed; when the first was approved, when the last was completed. */
  approved: number;
  firstAt: number | null;
  lastAt: number | null;
  /** Payments that went out without asking the operator. */
  unasked: number;
  /** The newest of all its payments, of whatever approval. */
  paidAt: number | null;
};

const isTrusted = ({ label, approved }: KnownAddress): boolean => label !== null || approved > 0;

type Place = { business: number; chain: ChainId };

/** All addresses that begin and end like this one, by themselves. */
function alike(reader: Reader, business: number, address: string): Map<string, KnownAddress> {
  const found = new Map<string, KnownAddress>();
  const of = (one: string): KnownAddress => {
    const none = { address: one, label: null, approved: 0, firstAt: null, lastAt: null, unasked: 0, paidAt: null };
    const known = found.get(one) ?? none;
    found.set(one, known);
    return known;
  };
  const key = { business_id: business, lookalike_key: lookalikeKeyOf(address), limit: ALIKE_MAX };
  for (const { address: listed, label } of reader.all(addressesByLookalikeKey, key)) of(listed).label = label;
  for (const { address: to, payments, first_at, last_at } of reader.all(approvedPayees, key)) {
    Object.assign(of(to), { approved: payments, firstAt: first_at, lastAt: last_at, paidAt: last_at });
  }
  for (const group of reader.all(allPayees, key)) {
    const known = of(group.address);
    if (group.state !== 'broadcast' && group.state !== 'completed') continue;
    if (group.approved_by !== 'operator') known.unasked += group.payments;
    known.paidAt = Math.max(known.paidAt ?? 0, group.last_at);
  }
  return found;
}

export type AddressReport = KnownAddress & {
  /** True if it is not in the book and the operator approved no payment to it that was completed. */
  isNew: boolean;
  /** Other known addresses with the same beginning and end. Of a trusted address: those that are trusted, too. */
  lookalikes: KnownAddress[];
  /** Of a new address without lookalikes: the addresses known to the operator that share its beginning or its end alone. */
  oneEnd: string[];
};

/** The trusted addresses that share one end alone with an address; only so many are compared. */
function sharingOneEnd(reader: Reader, business: number, address: string): string[] {
  const key = lookalikeKeyOf(address);
  const asked = { business_id: business, limit: COMPARED_MAX };
  const known = [...reader.all(bookEntries, asked), ...reader.all(trustedPayees, asked)];
  const found = known.filter((one) => sharesOneEnd(key, one.lookalike_key)).map((one) => one.address);
  return [...new Set(found)];
}

/** `chain`: of the address book's entry, because a book may have the same address on several chains. */
export function reportAddress(reader: Reader, { business, chain }: Place, address: string): AddressReport {
  const all = alike(reader, business, address);
  const listed = reader.get(addressInBook, { business_id: business, chain, address });
  const nothing = { address, approved: 0, firstAt: null, lastAt: null, unasked: 0, paidAt: null };
  const known: KnownAddress = { ...(all.get(address) ?? nothing), label: listed?.label ?? null };
  all.delete(address);
  const trusted = isTrusted(known);
  const lookalikes = [...all.values()].filter((one) => !trusted || isTrusted(one));
  const oneEnd = trusted || lookalikes.length > 0 ? [] : sharingOneEnd(reader, business, address);
  return { ...known, isNew: !trusted, lookalikes, oneEnd };
}

/** Whether it could be mistaken for another address that was paid or is in the book, and is itself not known to the operator. */
export function isDoubtful(reader: Reader, place: Place, address: string): boolean {
  const { isNew, lookalikes } = reportAddress(reader, place, address);
  return isNew && lookalikes.some((one) => one.label !== null || one.paidAt !== null);
}
