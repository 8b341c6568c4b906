/** The operator API's methods about plans that send the takings of a business on to one address. */
import { z } from 'zod';
import { NETWORKS } from '../domain/assets.ts';
import { FORWARD_TIMES } from '../domain/forwarding.ts';
import { changes, ofBusiness, reads } from './method.ts';
import { Decimal, Id, Instant, MessageShape, Millis, PositiveDecimal, Text } from './operator-shapes.ts';
import { WithdrawalShape } from './withdrawals.ts';

const Units = z.string().regex(/^\d{1,30}$/);
/** The signer's unit of a share. */
const PPM_MAX = 1_000_000;
const INDEX_MAX = 2 ** 31 - 1;
/** A time of the day in the business's time zone. */
const Hour = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 03:30');
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;
export const Weekday = z.enum(WEEKDAYS);

/** `ForwardGrant` of the signer. */
const ForwardGrant = z.strictObject({
  kind: z.literal('forward'),
  network: z.enum(NETWORKS),
  accountNo: z.int().min(0),
  asset: z.string(),
  address: Text,
  from: z.int().min(0).max(INDEX_MAX).optional(),
  feeSharePpm: z.int().min(0).max(PPM_MAX).nullable(),
  feeMax: Units.nullable(),
  feeDay: Units,
  issuedAt: Millis,
});
/** With the operator's MAC; null only on the sandbox, and for an end that the wallet itself was told. */
const Signed = z
  .strictObject({ grant: ForwardGrant, mac: z.string().regex(/^[0-9a-f]{64}$/) })
  .nullable()
  .default(null);

const Ref = z.strictObject({ business: Text, crypto: Text });

/** Amounts are of the crypto, those of fees of the coin that fees are paid in. */
const Terms = z.strictObject({
  /** In the address book, for the crypto's chain; or an extended public key or an output descriptor (BTC, LTC, BCH). */
  address: Text,
  /** Of an extended public key: the index of the first address that it pays. */
  from: z.int().min(0).max(INDEX_MAX).default(0),
  /** It leaves so much, and sends from so much on. */
  keep: PositiveDecimal.default('0'),
  least: PositiveDecimal.default('0'),
  every: z.enum(FORWARD_TIMES),
  at: Hour.default('03:00'),
  weekday: Weekday.nullable().default(null),
  /** On an account chain: a run waits for an hour in which gas is cheap, a day at most. */
  cheap: z.boolean().default(false),
  /** The highest fee of a payment: a share of its amount, such as 0.01, and an amount. One of the two is given. */
  fee_share: PositiveDecimal.nullable().default(null),
  fee_max: PositiveDecimal.nullable().default(null),
  /** The highest fees of 24 hours. */
  fee_day: PositiveDecimal,
});

const ForwardPlanShape = z.object({
  business_id: Id,
  business: z.string(),
  network: z.enum(NETWORKS),
  account_no: z.int(),
  crypto: z.string(),
  /** An address, or the output descriptor of another wallet's account. */
  address: z.string(),
  /** Of an account: the index and the address that it pays next. */
  next_index: z.int().nullable(),
  next_address: z.string().nullable(),
  /** Its name in the address book; null: it is not there any more. */
  label: z.string().nullable(),
  keep: Decimal,
  least: Decimal,
  every: z.enum(FORWARD_TIMES),
  /** Null: as soon as the sum is there. */
  at: z.string().nullable(),
  weekday: Weekday.nullable(),
  /** A run waits for an hour in which gas is cheap. */
  cheap: z.boolean(),
  fee_share: Decimal.nullable(),
  fee_max: Decimal.nullable(),
  fee_day: Decimal,
  fee_crypto: z.string(),
  /** Null: as soon as the sum is there. */
  next_at: Instant.nullable(),
  /** The number of the payment that is under way. */
  withdrawal: Id.nullable(),
  /** Why it waits. */
  problem: MessageShape.nullable(),
});

const One = z.object({ plan: ForwardPlanShape });

export const FORWARDING = {
  'forwarding.list': reads(z.strictObject({ business: Text }), z.object({ plans: z.array(ForwardPlanShape) })),
  /** The payments that a plan would begin now. `terms`: of a plan that is not stored; absent: of the stored one. */
  'forwarding.preview': reads(
    Ref.extend({ terms: Terms.optional() }),
    z.object({
      crypto: z.string(),
      address: z.string(),
      /** Of another wallet's account: the next three addresses, to compare with it; else none. */
      addresses: z.array(z.string()),
      /** The amount that would arrive; null: nothing would be sent. */
      amount: Decimal.nullable(),
      usd_value: Decimal.nullable(),
      /** On an account chain each address sends what it has: a payment of each, one after the other. */
      payments: z.int(),
      /** The highest fee that is reserved for it, in `fee_crypto`, and its share of the amount if both are one coin, as in 0.0002. */
      fee: Decimal.nullable(),
      fee_crypto: z.string(),
      fee_share: Decimal.nullable(),
      /** The gas that so many addresses get from the tank before, in `fee_crypto`, and the highest fees of that; null: none needs it. */
      gas: z.object({ addresses: z.int(), amount: Decimal, fee: Decimal }).nullable(),
      /** The amount that stays, and the part of the balance of now that nobody else needs. */
      kept: Decimal,
      free: Decimal,
      next_at: Instant.nullable(),
      /** Why nothing would be sent, besides too small a sum. */
      problem: MessageShape.nullable(),
    }),
  ),
  /** Replaces the plan of the crypto. The grant has the limits of the terms, in smallest units. */
  'forwarding.set': changes(Ref.extend({ terms: Terms, signed: Signed }), One, { approves: ofBusiness }),
  'forwarding.skip': changes(Ref, One),
  /** Sends now what is free, whatever the time and the sum. Null: its addresses get gas first, and each pays once it has that. */
  'forwarding.send': changes(Ref, z.object({ withdrawal: WithdrawalShape.nullable() }), { approves: ofBusiness }),
  /**
   * Ends the wallet's grant first, by `signed`: a grant of nothing. `told`: the wallet itself was told to end it. `plan`: null if
   * there was only a grant.
   */
  'forwarding.end': changes(
    Ref.extend({ signed: Signed, told: z.boolean().default(false) }),
    z.object({ plan: ForwardPlanShape.nullable() }),
  ),
} as const;
