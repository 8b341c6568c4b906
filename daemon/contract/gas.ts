/** The operator API's methods about gas: money on deposit addresses, its cost, and plans to collect it. */
import { z } from 'zod';
import { NETWORKS } from '../domain/assets.ts';
import { EVM_CHAINS, TANKS_MAX } from '../domain/evm.ts';
import { changes, ofBusiness, reads } from './method.ts';
import { Decimal, Id, Instant, MessageShape, Millis, PositiveDecimal, Text } from './operator-shapes.ts';

const Units = z.string().regex(/^\d{1,30}$/);
const Chain = z.enum(EVM_CHAINS);

/** `GasGrant` of the signer. */
const GasGrant = z.strictObject({
  kind: z.literal('gas'),
  network: z.enum(NETWORKS),
  accountNo: z.int().min(0),
  chain: Chain,
  feeMax: Units,
  until: Millis,
  tank: z
    .int()
    .min(0)
    .max(TANKS_MAX - 1)
    .optional(),
  issuedAt: Millis,
});
/** With the operator's MAC; null only on the sandbox. */
export const SignedGas = z.strictObject({ grant: GasGrant, mac: z.string().regex(/^[0-9a-f]{64}$/) }).nullable();

const Missing = z.object({ amount: Decimal, address: z.string(), text: z.string() }).nullable();

/** A time of the day, "02:00", in the business's time zone. */
const Hour = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, such as 03:30');

/** The collection that a withdrawal needs first, because no single address can pay it. */
export const CollectShape = z.object({
  chain: Chain,
  coin: z.string(),
  /** How many addresses are collected. */
  addresses: z.int(),
  /** Of the coin, at the present price. */
  cost: Decimal,
  /** The grant to sign: the highest cost in smallest units, what is left of an open plan included, and its end. */
  fee_max: Units,
  until: Millis,
  /** The coin that the tank lacks. */
  needs: Missing,
});

const PlanShape = z.object({
  min_usd: Decimal,
  /** Gwei; null: any. */
  price_max: Decimal.nullable(),
  /** In the chain's coin: the highest total cost, and the highest fees of what was begun so far. */
  fee_max: Decimal,
  used: Decimal,
  begins_at: Instant,
  ends_at: Instant,
  /** The hours of each day at which it collects; null: at any time. */
  daily: z.object({ from: Hour, to: Hour }).nullable(),
  /** Whether it collects nothing but what approved withdrawals wait for. */
  only_needed: z.boolean(),
  state: z.enum(['open', 'done', 'stopped']),
  /** One of its transactions failed on the chain: it begins nothing until `gas.resume`. */
  halted: z.boolean(),
  /** The reason why it waits. */
  problem: MessageShape.nullable(),
});

const DeskShape = z.object({
  business_id: Id,
  business: z.string(),
  network: z.enum(NETWORKS),
  account_no: z.int(),
  chain: z.string(),
  /** The coin that pays for gas. */
  coin: z.string(),
  /** The address that gas is paid from, and where collected money goes. */
  tank: z.object({ address: z.string(), amount: Decimal, index: z.int() }),
  /** Tanks before that one: what they still hold. `blocked`: the token lets nothing leave from there. */
  former_tanks: z.array(
    z.object({
      address: z.string(),
      held: z.array(z.object({ crypto: z.string(), amount: Decimal, blocked: z.boolean() })),
    }),
  ),
  /** The highest price that a transaction would pay now, gwei per gas. */
  price: Decimal,
  /** The lowest and the highest price in each measured hour of the last week, the oldest first. `at`: its beginning. */
  prices: z.array(z.object({ at: Instant, low: Decimal, high: Decimal })),
  assets: z.array(
    z.object({
      crypto: z.string(),
      /** With the required confirmations: all, in the tank (can be paid out), on deposit addresses (is collected before). */
      amount: Decimal,
      in_tank: Decimal,
      on_addresses: Decimal,
      addresses: z.int(),
      usd_value: Decimal.nullable(),
    }),
  ),
  /** The amount that the tank lacks to collect everything that is worth collecting. */
  needs: Missing,
  /** The same, and to pay each token out of the tank once; absent: a service of an earlier release does not tell it. */
  needs_out: Missing.optional(),
  plan: PlanShape.nullable(),
});

const DeskRef = z.strictObject({ business: Text, chain: Chain });
const DEFAULT_MIN_USD = '5';
const DEFAULT_SHARE_PERCENT = 10;

export const GAS = {
  /** Every account of Ethereum and BNB Smart Chain. */
  'gas.status': reads(z.strictObject({ business: Text.optional() }), z.object({ desks: z.array(DeskShape) })),
  /** The present cost of collecting. */
  'gas.forecast': reads(
    DeskRef.extend({
      min_usd: PositiveDecimal.default(DEFAULT_MIN_USD),
      /** An address whose cost is a larger share of its worth is marked `dear`. */
      share_percent: z.int().min(1).max(100).default(DEFAULT_SHARE_PERCENT),
    }),
    z.object({
      coin: z.string(),
      price: Decimal,
      /** The numbers of addresses worth collecting, and of those shown. */
      worth: z.int(),
      items: z.array(
        z.object({
          address: z.string(),
          crypto: z.string(),
          amount: Decimal,
          usd_value: Decimal.nullable(),
          cost: Decimal,
          cost_usd: Decimal.nullable(),
          dear: z.boolean(),
          /** Why it is not collected; null: it is. */
          left: z.enum(['minimum', 'rate', 'busy', 'blocked']).nullable(),
        }),
      ),
      /** The highest fees together at the present price. */
      cost: Decimal,
      cost_usd: Decimal.nullable(),
      /** A highest cost with room for a price that doubles; a proposal for `fee_max`, in smallest units and as a decimal. */
      fee_max: Units,
      fee_max_coin: Decimal,
      needs: Missing,
    }),
  ),
  /**
   * Begins a plan, which replaces an earlier one. The grant's `feeMax` and `until` are the plan's. `price_max`: gwei.
   */
  'gas.collect': changes(
    DeskRef.extend({
      min_usd: PositiveDecimal.default(DEFAULT_MIN_USD),
      price_max: PositiveDecimal.nullable().default(null),
      /** `to` may be below `from`: then it is on the next day. */
      daily: z.strictObject({ from: Hour, to: Hour }).nullable().default(null),
      begins_at: Millis,
      ends_at: Millis,
      fee_max: Units,
      signed: SignedGas,
    }),
    z.object({ plan: PlanShape }),
    { approves: ofBusiness },
  ),
  /** Ends a plan. `signed`: a grant of nothing, which ends the wallet's grant too. */
  'gas.stop': changes(DeskRef.extend({ signed: SignedGas }), z.object({ plan: PlanShape.nullable() })),
  /** Lets a plan go on that halted because one of its transactions failed on the chain. */
  'gas.resume': changes(DeskRef, z.object({ plan: PlanShape.nullable() }), { approves: ofBusiness }),
  /**
   * Moves to the tank with this index, which follows the one of now, because a token blocks that. It ends the plan. `signed`: a grant of
   * no gas that names the tank.
   */
  'gas.tank': changes(
    DeskRef.extend({ index: z.int().min(1), signed: SignedGas }),
    z.object({ address: z.string(), index: z.int() }),
    { approves: ofBusiness },
  ),
} as const;
