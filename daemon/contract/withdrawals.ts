/**
 * The operator API's methods about withdrawals, policies, the address book and decisions about deposits. An approval
 * has a MAC that only the operator's client can make, from the wallet's passphrase: over each intent of a preview, with
 * its `fee_max` and `until`. The sandbox needs none.
 */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { POLICY_MODES } from '../domain/policy.ts';
import { SPEEDS, WITHDRAWAL_STATES } from '../domain/withdrawal.ts';
import { CollectShape, SignedGas } from './gas.ts';
import { byPassphrase, changes, ofBusiness, reads } from './method.ts';
import { Decimal, Id, Instant, MessageShape, Millis, Nothing, Page, PositiveDecimal, Text } from './operator-shapes.ts';

const BATCH_MAX = 100;
const GRANTS_MAX = 100;
/** Of a signed file: a body holds that much in base64 (`BODY_BYTES_MAX`). */
export const SIGNED_BYTES_MAX = 750_000;
const SIGNED_CHARS_MAX = (SIGNED_BYTES_MAX / 3) * 4;
const WithdrawalNumber = z.string().regex(/^[1-9]\d{0,14}$/, 'must be the number of a withdrawal, such as 12');
const Units = z.string().regex(/^\d{1,78}$/);
const Mac = z.string().regex(/^[0-9a-f]{64}$/);

/** `Intent` of the signer: amounts are decimals of smallest units. */
const IntentShape = z.object({
  uuid: z.string(),
  network: z.enum(NETWORKS),
  accountNo: z.int().min(0),
  chain: z.enum(CHAINS),
  asset: z.string(),
  address: z.string(),
  units: z.string(),
  sweep: z.boolean(),
  coins: z.array(z.string()).nullable(),
  feeMax: z.string(),
  /** The asset that the fee is paid in; absent: `asset`. */
  feeAsset: z.string().optional(),
});

const GrantShape = z.strictObject({
  network: z.enum(NETWORKS),
  accountNo: z.int().min(0),
  asset: z.string(),
  perWithdrawal: Units,
  perDay: Units,
  addresses: z.array(Text).max(1_000).nullable(),
  issuedAt: Millis,
});

export const WithdrawalShape = z.object({
  id: Id,
  uuid: z.string(),
  business_id: Id,
  business: z.string(),
  network: z.enum(NETWORKS),
  crypto: z.string(),
  origin: z.string(),
  refund_of: z.object({ invoice: z.string(), order_id: z.string().nullable() }).nullable(),
  /** The recipient's amount; of a sweep that is not signed yet, the amount with the fee. */
  amount: Decimal,
  sweep: z.boolean(),
  usd_value: Decimal.nullable(),
  address: z.string(),
  state: z.enum(WITHDRAWAL_STATES),
  /** Why it was rejected or failed. */
  reason: MessageShape.nullable(),
  /** Why it waits. */
  problem: MessageShape.nullable(),
  approved_by: z.string().nullable(),
  approved_at: Instant.nullable(),
  /** Until when it waits for a decision or for the wallet. */
  deadline_at: Instant.nullable(),
  /** The highest fee, which is reserved, and its share of the fee paid. */
  fee_max: Decimal,
  fee: Decimal.nullable(),
  /** The asset that fees are paid in: the coin of the chain. */
  fee_crypto: z.string(),
  tx_id: z.string().nullable(),
  canceling: z.boolean(),
  created_at: Instant,
  updated_at: Instant,
});

/** A planned or signed transaction. */
const VersionShape = z.object({
  id: Id,
  kind: z.string(),
  tx_id: z.string().nullable(),
  fee: Decimal,
  vsize: z.int().min(0),
  signed_at: Instant.nullable(),
  sent_at: Instant.nullable(),
  /** Monero's transaction key: shows anybody who has it what each recipient got. Null on other chains, and if it is not known. */
  proof: z.string().nullable(),
  problem: MessageShape.nullable(),
});

const WithdrawalDetailShape = WithdrawalShape.extend({
  /** The input that all versions share. */
  conflict_key: z.string().nullable(),
  /** The ways to replace its transaction now; none while another version is signed, and on a chain without replacement. */
  replacements: z.array(z.enum(['speed-up', 'cancel'])),
  /** Whether its newest transaction takes back the coins of what a lost machine signed: `cancel` with `anew` replaces that. */
  reclaimed: z.boolean(),
  versions: z.array(VersionShape),
});

/** A transaction decoded from its bytes, to be approved. */
const PreviewShape = z.object({
  crypto: z.string(),
  /** `cancel`: the MACs are for a transaction that pays only ourselves. */
  purpose: z.enum(['pay', 'cancel']),
  intents: z.array(IntentShape),
  /** The unsigned transaction in hex; null on simulated chains. */
  raw: z.string().nullable(),
  outputs: z.array(
    z.object({
      /** Null: a script without an address. */
      address: z.string().nullable(),
      /** In groups of four characters, for comparison. */
      groups: z.string(),
      amount: Decimal,
      usd_value: Decimal.nullable(),
      /** Change to ourselves. */
      change: z.boolean(),
      /** For change: the index of our address on the change branch. */
      change_index: z.int().min(0).nullable(),
    }),
  ),
  inputs: z.array(z.string()),
  fee: Decimal,
  fee_crypto: z.string(),
  fee_usd: Decimal.nullable(),
  /** The maximum that the approval allows. */
  fee_max: Decimal,
  fee_max_usd: Decimal.nullable(),
  /** US dollars per coin; null: no rate is known. */
  usd_rate: Decimal.nullable(),
  /** Smallest units per virtual byte. */
  fee_rate: Decimal,
  vsize: z.int().min(0),
  warnings: z.array(z.object({ code: z.string(), text: MessageShape })),
  /** The purposes of the withdrawals, where known. */
  notes: z.array(MessageShape),
  /** Another wallet has the keys and signs it: the approval has no MAC, and what is handed out then is a PSBT. */
  outside: z.boolean(),
  /** The end of an approval made now: milliseconds since 1970, covered by the MAC. */
  until: Millis,
  /** The likely wait and cost of each speed of a first payment; empty if its fee cannot be chosen. */
  speeds: z.array(z.object({ speed: z.enum(SPEEDS), minutes: z.int(), fee: Decimal, fee_usd: Decimal.nullable() })),
});

const ApprovalShape = z.strictObject({
  uuid: Text,
  /** Smallest units, as in the intent under the MAC. */
  fee_max: Units,
  /** For a sweep: its maximum. */
  units: Units.optional(),
  until: Millis,
  mac: Mac.nullable(),
});
const Approvals = z.array(ApprovalShape).max(BATCH_MAX).default([]);

const PolicyShape = z.object({
  business_id: Id,
  business: z.string(),
  mode: z.enum(POLICY_MODES),
  per_withdrawal_usd: Decimal.nullable(),
  per_day_usd: Decimal.nullable(),
  address_book_only: z.boolean(),
  /** Approved by the policy in the last 24 hours. */
  used_usd: Decimal,
});

const SignedGrants = z
  .array(z.strictObject({ grant: GrantShape, mac: Mac }))
  .max(GRANTS_MAX)
  .default([]);

const PolicyParams = z.strictObject({
  business: Text,
  mode: z.enum(POLICY_MODES),
  per_withdrawal_usd: PositiveDecimal.nullable().default(null),
  per_day_usd: PositiveDecimal.nullable().default(null),
  address_book_only: z.boolean().default(false),
});

const AddressShape = z.object({
  id: Id,
  business_id: Id,
  business: z.string(),
  chain: z.enum(CHAINS),
  address: z.string(),
  label: z.string(),
  created_at: Instant,
});

const FeeRate = {
  /** Smallest units per unit of size (a virtual byte); absent: the rate for the next blocks. */
  fee_rate: PositiveDecimal.optional(),
};

/** A transaction that an operator approves. */
const ProposalShape = z.discriminatedUnion('kind', [
  /** The first payment of a withdrawal, a sweep or a refund included. */
  z.strictObject({ kind: z.literal('pay'), id: WithdrawalNumber, speed: z.enum(SPEEDS).default('normal') }),
  /** The same payments with a higher fee. `anew`: each is approved as a first one, since the wallet does not know what was signed. */
  z.strictObject({ kind: z.literal('speed-up'), id: WithdrawalNumber, anew: z.boolean().optional(), ...FeeRate }),
  /** The same transaction without this payment. `anew`: none of its payments, approved as a payment to ourselves, for the same reason. */
  z.strictObject({ kind: z.literal('cancel'), id: WithdrawalNumber, anew: z.boolean().optional(), ...FeeRate }),
  /** One transaction for several withdrawals. */
  z.strictObject({ kind: z.literal('batch'), ids: z.array(WithdrawalNumber).min(2).max(BATCH_MAX) }),
  /** Pays a stuck deposit ("txid:n") on to ourselves, with a fee for both transactions. */
  z.strictObject({ kind: z.literal('bump'), business: Text, crypto: Text, outpoint: Text, ...FeeRate }),
]);

/** `sent`: a node has accepted it. `problem`: why not; null if unknown yet. */
const OutcomeShape = z.object({
  sent: z.boolean(),
  problem: MessageShape.nullable(),
});

export const WITHDRAWALS = {
  /** Newest first. With `state`, a page may be short, even empty, and still have a `next`. */
  'withdrawal.list': reads(
    Page.extend({ business: Text.optional(), state: z.enum(WITHDRAWAL_STATES).optional() }),
    z.object({ withdrawals: z.array(WithdrawalShape), next: Id.nullable() }),
  ),
  'withdrawal.show': reads(z.strictObject({ id: WithdrawalNumber }), z.object({ withdrawal: WithdrawalDetailShape })),
  /** `amount` null: everything, less the fee. `request`: the caller's own id of it: the same one gets the same withdrawal. */
  'withdrawal.add': changes(
    z.strictObject({
      business: Text,
      crypto: Text,
      address: Text,
      amount: PositiveDecimal.nullable(),
      request: z.uuid().optional(),
    }),
    z.object({ withdrawal: WithdrawalShape }),
    { approves: ({ business }) => ({ by: 'policy', business }) },
  ),
  /** All that is known about an address to be paid, for the operator to compare it with. */
  'withdrawal.recipient': reads(
    z.strictObject({
      business: Text,
      crypto: Text,
      address: Text,
      /** The amount that it shall get; its cost is answered then. */
      amount: PositiveDecimal.optional(),
    }),
    z.object({
      valid: z.boolean(),
      /**
       * The highest fee of that amount, the available amount, and the missing one for both. `fee_on_top`: the fee is paid in the same
       * coin. Null: no amount was given, or the fee cannot be estimated.
       */
      cost: z
        .object({ fee: Decimal, fee_crypto: z.string(), fee_on_top: z.boolean(), available: Decimal, missing: Decimal })
        .nullable(),
      /** In the address book. */
      label: z.string().nullable(),
      since: Instant.nullable(),
      /**
       * The completed payments to this recipient that the operator approved: to this address, or to one that has the
       * same label in the address book.
       */
      paid: z.int().min(0),
      /** The newest of them. */
      last: z.object({ address: z.string(), at: Instant }).nullable(),
      /** When the operator first approved one to this very address. */
      first_approved_at: Instant.nullable(),
      /** The payments to this address that went out without asking the operator. */
      unasked: z.int().min(0),
      /** Other known addresses with the same beginning and end. They count before anything that speaks for this one. */
      lookalikes: z.array(z.object({ address: z.string(), label: z.string().nullable(), paid_at: Instant.nullable() })),
      /** The highest amount among the business's 200 newest withdrawals of this crypto that were paid. */
      most: Decimal.nullable(),
    }),
  ),
  /**
   * The unsigned transaction of a proposal, as it would be signed now. `preview` null: it cannot be planned yet, for the
   * reason in `why`. A `pay` can be approved all the same, and waits.
   */
  'withdrawal.propose': reads(
    ProposalShape,
    z.object({
      withdrawals: z.array(WithdrawalShape),
      preview: PreviewShape.nullable(),
      why: MessageShape.nullable(),
      /** Its money is on several addresses: with a grant of gas of this kind it is collected first. */
      collect: CollectShape.nullable(),
    }),
  ),
  /** Carries a proposal out. `outcome`: the result of a replacement or a bump after some seconds; else null. */
  'withdrawal.approve': changes(
    z.strictObject({ proposal: ProposalShape, approvals: Approvals, gas: SignedGas.default(null) }),
    z.object({ withdrawals: z.array(WithdrawalShape), outcome: OutcomeShape.nullable() }),
    {
      approves: ({ proposal }) => {
        if (proposal.kind === 'bump') return { by: 'business', business: proposal.business };
        return { by: 'withdrawals', ids: proposal.kind === 'batch' ? proposal.ids : [proposal.id] };
      },
    },
  ),
  /**
   * The newest unsigned transaction of a withdrawal whose keys are in another wallet, as a PSBT of version 0 in base64; the same each
   * time. From then on it counts as signed, because somebody may sign it.
   */
  'withdrawal.psbt': changes(
    z.strictObject({ id: WithdrawalNumber }),
    z.object({ psbt: z.string(), name: z.string(), withdrawal: WithdrawalShape }),
    { approves: ({ id }) => ({ by: 'withdrawals', ids: [id] }) },
  ),
  /** Takes it back: `signed` is a PSBT or a transaction, in base64. It is judged, stored, and sent. */
  'withdrawal.signed': changes(
    z.strictObject({ id: WithdrawalNumber, signed: z.base64().min(1).max(SIGNED_CHARS_MAX) }),
    z.object({ withdrawal: WithdrawalShape }),
    { approves: ({ id }) => ({ by: 'withdrawals', ids: [id] }) },
  ),
  'withdrawal.reject': changes(
    z.strictObject({ id: WithdrawalNumber, reason: Text.optional() }),
    z.object({ withdrawal: WithdrawalShape }),
  ),
  /** Frees a deposit whose bump no node accepts. */
  'withdrawal.giveUpBump': changes(z.strictObject({ business: Text, crypto: Text, outpoint: Text }), z.object({})),

  'policy.show': reads(z.strictObject({ business: Text }), z.object({ policy: PolicyShape })),
  /** The limits that the wallet must be granted for such a policy. Each is signed (`policyMac`) and passed to `set`. */
  'policy.grants': reads(PolicyParams, z.object({ grants: z.array(GrantShape) })),
  'policy.set': changes(PolicyParams.extend({ grants: SignedGrants }), z.object({ policy: PolicyShape }), {
    approves: ofBusiness,
  }),

  'addressBook.list': reads(z.strictObject({ business: Text }), z.object({ addresses: z.array(AddressShape) })),
  'addressBook.add': changes(
    z.strictObject({ business: Text, chain: z.enum(CHAINS), address: Text, label: Text }),
    z.object({ address: AddressShape }),
    { approves: ofBusiness },
  ),
  /** The limits that the wallet must be granted again, for the policy in force, if this address is removed. */
  'addressBook.grants': reads(
    z.strictObject({ id: Id }),
    z.object({ grants: z.array(GrantShape), policy: PolicyParams.omit({ business: true }) }),
  ),
  'addressBook.remove': changes(z.strictObject({ id: Id, grants: SignedGrants }), z.object({ address: AddressShape }), {
    approves: byPassphrase,
  }),

  /** Counts the deposit for the invoice at whose address it came. */
  'inbox.accept': changes(z.strictObject({ id: Id }), z.object({ invoice: z.string(), status: z.string() })),
  /** Drafts a withdrawal of this deposit, less the fee. */
  'inbox.refund': changes(z.strictObject({ id: Id, address: Text }), z.object({ withdrawal: WithdrawalShape })),
  'inbox.keep': changes(z.strictObject({ id: Id }), z.object({})),

  /**
   * The names of things that changed since a cursor. Waits up to `wait_seconds` for the first; without a cursor,
   * returns one at once. `missed`: the cursor is too old or of another start of the service, so everything must be read
   * again.
   */
  'events.next': reads(
    z.strictObject({ cursor: z.string().max(100).optional(), wait_seconds: z.int().min(0).max(20).default(20) }),
    z.object({
      events: z.array(
        z.object({
          kind: z.enum(['withdrawal', 'invoice', 'inbox', 'alert']),
          /** The number of a withdrawal or an alert, an invoice's slug, or the number of the inbox item's deposit. */
          subject: z.string(),
          /** The change, in words. */
          what: z.string(),
          at: Instant,
        }),
      ),
      cursor: z.string(),
      missed: z.boolean(),
    }),
    { counter: 'events' },
  ),
  /** The configuration in force, without secrets. */
  'settings.show': reads(
    Nothing,
    z.object({ settings: z.array(z.object({ key: z.string(), value: z.string(), origin: z.string() })) }),
  ),

  /** The value of one coin; null: no rate is valid. */
  'rates.list': reads(
    Nothing,
    z.object({
      rates: z.array(
        z.object({
          network: z.enum(NETWORKS),
          crypto: z.string(),
          usd: Decimal.nullable(),
          eur: Decimal.nullable(),
          gbp: Decimal.nullable(),
        }),
      ),
      /** The currencies that have a rate: their units for a dollar. */
      currencies: z.array(z.object({ network: z.enum(NETWORKS), currency: z.string(), per_dollar: Decimal })),
      /** The sources that want to be named where these are shown. */
      credits: z.array(z.object({ network: z.enum(NETWORKS), text: z.string(), url: z.string() })),
    }),
  ),
} as const;
