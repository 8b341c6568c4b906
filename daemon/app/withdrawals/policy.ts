/** Approval policies and address books of businesses, and their verdict on a withdrawal. */
import { addressFault } from '../../chains/address-fault.ts';
import type { ChainId } from '../../domain/assets.ts';
import { chainKey } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import type { Message } from '../../domain/messages.ts';
import { lookalikeKeyOf, MANUAL, POLICY_WINDOW_MS, type Policy, WITHOUT_ASKING, whyAsk } from '../../domain/policy.ts';
import {
  type AddressBookRow,
  addressById,
  addressesOf,
  addressInBook,
  dropAddress,
  insertAddress,
  policyOf,
  setPolicy,
} from '../../store/queries/policies.ts';
import { approvedByPolicySince } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import type { Business } from '../shops/directory.ts';
import { isDoubtful } from './known-addresses.ts';

const ADDRESSES_MAX = 1_000;
const LABEL_CHARACTERS_MAX = 100;

/** The policy of a business. By default: manual, and on the sandbox automatic. After a restore: manual. */
export function policyFor(reader: Reader, business: Business): Policy {
  if (isQuarantined(reader)) return MANUAL;
  const row = reader.get(policyOf, { business_id: business.id });
  if (!row) return business.network === 'sandbox' ? WITHOUT_ASKING : MANUAL;
  return {
    mode: row.mode === 'automatic' ? 'automatic' : 'manual',
    perWithdrawalUsd: row.per_withdrawal_usd,
    perDayUsd: row.per_day_usd,
    addressBookOnly: row.address_book_only,
  };
}

/** Sets a business's policy. Throws `Rejected` for real money without any limit. */
export function changePolicy(app: App, tx: Tx, business: Business, policy: Policy): void {
  const unlimited = policy.perWithdrawalUsd === null || policy.perDayUsd === null;
  if (policy.mode === 'automatic' && unlimited && business.network !== 'sandbox') {
    throw new Rejected(
      'policy.limits',
      'An automatic policy needs a limit per withdrawal and one per 24 hours',
      'mode',
    );
  }
  tx.run(setPolicy, {
    business_id: business.id,
    mode: policy.mode,
    per_withdrawal_usd: policy.perWithdrawalUsd,
    per_day_usd: policy.perDayUsd,
    address_book_only: policy.addressBookOnly,
    updated_at: app.now(),
  });
}

/** The value approved by the policy in the last 24 hours, 1e-8 US dollars, also after a clock was set back. */
export function usedOfPolicy(app: App, reader: Reader, business: Business): bigint {
  const rows = reader.all(approvedByPolicySince, {
    business_id: business.id,
    since: app.now() - POLICY_WINDOW_MS,
  });
  return rows
    .filter(({ state }) => state !== 'rejected' && state !== 'failed')
    .reduce((sum, { usd_value }) => sum + (usd_value ?? 0n), 0n);
}

/** Why this withdrawal needs the operator, or null if the policy approves it. */
export function whyByHand(
  app: App,
  reader: Reader,
  business: Business,
  wanted: { chain: ChainId; address: string; usd: bigint | null },
): Message | null {
  return whyAsk(policyFor(reader, business), {
    usd: wanted.usd,
    usedUsd: usedOfPolicy(app, reader, business),
    inAddressBook: isInBook(reader, business, wanted.chain, wanted.address),
    isDoubtful: isDoubtful(reader, { business: business.id, chain: wanted.chain }, wanted.address),
  });
}

const isInBook = (reader: Reader, business: Business, chain: ChainId, address: string): boolean =>
  reader.get(addressInBook, { business_id: business.id, chain, address }) !== undefined;

/** The addresses of a business. */
export function addressBook(reader: Reader, business: Business): AddressBookRow[] {
  return reader.all(addressesOf, { business_id: business.id, limit: ADDRESSES_MAX });
}

/** Adds an address. Throws `Rejected`: `address_book.address`, `.label`, `.too_many`, `.known`. */
export function addAddress(
  app: App,
  tx: Tx,
  business: Business,
  { chain, address, label }: { chain: ChainId; address: string; label: string },
): AddressBookRow {
  const adapter = app.chains.find(chainKey(business.network, chain))?.adapter;
  if (!adapter) throw new Rejected('address_book.chain', `${business.name} has no ${chain} chain`, 'chain');
  const fault = addressFault(adapter, address);
  if (fault !== null) {
    throw new Rejected('address_book.address', `${address} cannot be paid on ${chain}: ${fault}`, 'address');
  }
  const text = label.trim();
  if (text.length === 0 || text.length > LABEL_CHARACTERS_MAX) {
    throw new Rejected('address_book.label', `A label has 1 to ${LABEL_CHARACTERS_MAX} characters`, 'label');
  }
  if (addressBook(tx, business).length >= ADDRESSES_MAX) {
    throw new Rejected('address_book.too_many', `The address book holds ${ADDRESSES_MAX} addresses: remove some first`);
  }
  const added = tx.run(insertAddress, {
    business_id: business.id,
    chain,
    address,
    label: text,
    lookalike_key: lookalikeKeyOf(address),
    created_at: app.now(),
  });
  if (added.changes !== 1) throw new Rejected('address_book.known', `${address} is in the address book already`);
  const row = tx.get(addressInBook, { business_id: business.id, chain, address });
  if (!row) throw new Error('assertion failed: an address that was added is there');
  return row;
}

/** Removes an address. Throws `Rejected('address_book.not_found')`. */
export function removeAddress(tx: Tx, id: number): AddressBookRow {
  const row = addressOf(tx, id);
  tx.run(dropAddress, { id });
  return row;
}

/** An address of a book. Throws `Rejected('address_book.not_found')`. */
export function addressOf(reader: Reader, id: number): AddressBookRow {
  const row = reader.get(addressById, { id });
  if (!row) throw new Rejected('address_book.not_found', `There is no address ${id} in the address book`, 'id');
  return row;
}
