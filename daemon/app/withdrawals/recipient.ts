/** The known facts about an address that is to be paid. The operator compares them before approving. */
import type { Asset } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';
import { lookalikeKeyOf } from '../../domain/policy.ts';
import { addressesByLookalikeKey, addressInBook } from '../../store/queries/policies.ts';
import { withdrawalsByLookalikeKey, withdrawalsOfBusinessBelow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { addressBook } from './policy.ts';
import { chainOf } from './request.ts';

const ALIKE_MAX = 100;
const SAME_LABEL_MAX = 20;
const NEWEST_MAX = 200;

type Paid = { address: string; at: number };

export type Recipient = {
  isValid: boolean;
  label: string | null;
  since: number | null;
  paid: number;
  last: Paid | null;
  lookalikes: { address: string; label: string | null; paidAt: number | null }[];
  /** Smallest units. */
  most: bigint | null;
};

export function recipientOf(app: App, business: Business, asset: Asset, address: string): Recipient {
  const reader = app.store;
  const { chain } = asset;
  const listed = reader.get(addressInBook, { business_id: business.id, chain, address });
  const named = addressBook(reader, business).filter((one) => one.chain === chain && one.label === listed?.label);
  const own = new Set([address, ...named.slice(0, SAME_LABEL_MAX).map((one) => one.address)]);
  const payments = [...own].flatMap((one) => paidTo(reader, business, one).filter((paid) => paid.address === one));
  const last = payments.reduce<Paid | null>((newest, one) => (newest && newest.at >= one.at ? newest : one), null);
  return {
    isValid: chainOf(app, business, asset)?.adapter.isValidAddress(address) ?? false,
    label: listed?.label ?? null,
    since: listed?.created_at ?? null,
    ...{ paid: payments.length, last, lookalikes: lookalikesOf(reader, business, address, own) },
    most: mostPaid(reader, business, asset),
  };
}

/** Payments to addresses that begin and end like this one. */
function paidTo(reader: Reader, { id }: Business, address: string): Paid[] {
  return reader
    .all(withdrawalsByLookalikeKey, { business_id: id, lookalike_key: lookalikeKeyOf(address), limit: ALIKE_MAX })
    .filter(({ state }) => state === 'broadcast' || state === 'completed')
    .map(({ address: to, updated_at }) => ({ address: to, at: updated_at }));
}

function lookalikesOf(
  reader: Reader,
  business: Business,
  address: string,
  own: ReadonlySet<string>,
): Recipient['lookalikes'] {
  const found = new Map<string, Recipient['lookalikes'][number]>();
  for (const one of reader.all(addressesByLookalikeKey, {
    business_id: business.id,
    lookalike_key: lookalikeKeyOf(address),
    limit: ALIKE_MAX,
  })) {
    found.set(one.address, { ...one, paidAt: null });
  }
  for (const { address: to, at } of paidTo(reader, business, address)) {
    const known = found.get(to);
    found.set(to, { address: to, label: known?.label ?? null, paidAt: Math.max(at, known?.paidAt ?? at) });
  }
  return [...found.values()].filter((one) => !own.has(one.address));
}

function mostPaid(reader: Reader, { id }: Business, { symbol }: Asset): bigint | null {
  return reader
    .all(withdrawalsOfBusinessBelow, { business_id: id, id: Number.MAX_SAFE_INTEGER, limit: NEWEST_MAX })
    .filter(({ state, asset }) => asset === symbol && (state === 'broadcast' || state === 'completed'))
    .reduce<bigint | null>((most, { units }) => (most === null ? units : maxOf(most, units)), null);
}
