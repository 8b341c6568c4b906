/** The known facts about an address that is to be paid. The operator compares them before approving. */
import type { Asset } from '../../domain/assets.ts';
import { maxOf } from '../../domain/money.ts';
import { addressInBook } from '../../store/queries/policies.ts';
import { withdrawalsOfBusinessBelow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { type AddressReport, reportAddress } from './known-addresses.ts';
import { addressBook } from './policy.ts';
import { chainOf } from './request.ts';

const SAME_LABEL_MAX = 20;
const NEWEST_MAX = 200;

type PastPayment = { address: string; at: number };

export type Recipient = Pick<AddressReport, 'label' | 'firstAt' | 'unasked' | 'lookalikes'> & {
  isValid: boolean;
  since: number | null;
  /** Payments to this recipient that the operator approved and the chain completed, and the newest of them. */
  paid: number;
  last: PastPayment | null;
  /** Smallest units. */
  most: bigint | null;
};

export function recipientOf(app: App, business: Business, asset: Asset, address: string): Recipient {
  const reader = app.store;
  const { chain } = asset;
  const place = { business: business.id, chain };
  const listed = reader.get(addressInBook, { business_id: business.id, chain, address });
  const { label, firstAt, unasked, lookalikes, ...known } = reportAddress(reader, place, address);
  const named = addressBook(reader, business)
    .filter((one) => one.chain === chain && one.label === label && one.address !== address)
    .slice(0, SAME_LABEL_MAX)
    .map((one) => reportAddress(reader, place, one.address));
  const own = [known, ...named];
  return {
    label,
    firstAt,
    unasked,
    lookalikes,
    isValid: chainOf(app, business, asset)?.adapter.isValidAddress(address) ?? false,
    since: listed?.created_at ?? null,
    paid: own.reduce((sum, { approved }) => sum + approved, 0),
    last: own.reduce<PastPayment | null>(
      (newest, { address: to, lastAt: at }) =>
        at === null || (newest && newest.at >= at) ? newest : { address: to, at },
      null,
    ),
    most: mostPaid(reader, business, asset),
  };
}

function mostPaid(reader: Reader, { id }: Business, { symbol }: Asset): bigint | null {
  return reader
    .all(withdrawalsOfBusinessBelow, { business_id: id, id: Number.MAX_SAFE_INTEGER, limit: NEWEST_MAX })
    .filter(({ state, asset }) => asset === symbol && (state === 'broadcast' || state === 'completed'))
    .reduce<bigint | null>((most, { units }) => (most === null ? units : maxOf(most, units)), null);
}
