/**
 * Shapes of the operator API. Amounts are decimals in whole coins or currency units, times are ISO 8601 in UTC, `null`
 * means absent. Only a new API key is secret.
 */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { SCRIPT_FORMS } from '../domain/chain.ts';
import { GAP_MAX } from '../domain/indices.ts';
import { SCOPES, type Scope } from '../domain/merchant.ts';
import type { Message } from '../domain/messages.ts';
import { INBOX_STATES, INVOICE_STATUSES } from '../domain/payment.ts';
import { REACHES } from '../domain/reach.ts';
import { WITHDRAWAL_STATES } from '../domain/withdrawal.ts';

/** The scopes of a key that names none: `withdraw` includes `refund`. */
export const DEFAULT_SCOPES: Scope[] = ['invoices', 'balance', 'withdraw'];

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`));

const INDEX_MAX = 1_000_000;
/** How many addresses past the last used one are searched. */
export const Gap = z.int().min(20).max(GAP_MAX);
/** The highest used index in each branch of an account; -1: none. */
export const HighestUsed = z.object({
  receiving: z.int().min(-1).max(INDEX_MAX),
  change: z.int().min(-1).max(INDEX_MAX),
});

/** The public part of an account: `AccountKey` of the domain. */
export const AccountKeySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('secp256k1'),
    publicKey: hex(33),
    chainCode: hex(32),
    /** Its private keys are in another wallet. */
    watch: z
      .strictObject({
        /** Of its addresses; null on a chain of accounts. */
        form: z.enum(SCRIPT_FORMS).nullable(),
        origin: z
          .strictObject({ fingerprint: hex(4), path: z.string().regex(/^(?:\d{1,10}h?(?:\/\d{1,10}h?){0,9})?$/) })
          .nullable(),
      })
      .exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('monero'),
    privateViewKey: hex(32),
    publicSpendKey: hex(32),
    /** Its spend key is in another wallet. */
    watch: z.literal(true).exactOptional(),
  }),
]);

export const Nothing = z.strictObject({});
export const TEXT_CHARS_MAX = 300;
export const Text = z.string().min(1).max(TEXT_CHARS_MAX);
/** Milliseconds since 1970. */
export const Millis = z.int().min(0);

export const Id = z.int().min(1);

export const PAGE_MAX = 200;
export const Page = z.strictObject({
  limit: z.int().min(1).max(PAGE_MAX).default(50),
  /** Returns only ids below this. */
  before: Id.optional(),
});

export const Decimal = z.string().regex(/^-?\d+(\.\d+)?$/);
export const PositiveDecimal = z.string().regex(/^\d{1,30}(\.\d{1,30})?$/, 'must be a positive number, such as 0.5');
export const Instant = z.iso.datetime();

/**
 * `withheld`: why the amount is not known yet; then it is 0. `locked`: what can be spent later, and the blocks until the first
 * and until the last part of it can. `unproven`: the amount is as far as known; so much of it may have been spent already, until key
 * images are imported; null: every spend is seen by itself.
 */
const Balance = z.object({
  crypto: z.string(),
  amount: Decimal,
  withheld: z.string().nullable(),
  unproven: Decimal.nullable(),
  locked: z.object({ amount: Decimal, first_blocks: z.int(), last_blocks: z.int() }).nullable(),
});

export const BusinessShape = z.object({
  id: Id,
  uuid: z.uuid(),
  name: z.string(),
  network: z.enum(NETWORKS),
  time_zone: z.string(),
  account_no: z.int().min(0),
  /** The symbols that it takes. */
  cryptos: z.array(z.string()),
  /** The symbols that it could take: it has an account on their chain, and the chain is connected. */
  possible_cryptos: z.array(z.string()),
  /** The chains of its watch-only accounts, whose private keys are in another wallet. */
  watch_only: z.array(z.enum(CHAINS)),
  /**
   * Its appearance to payers; null where it uses the default. `logo`: a hash of the picture. `contact`: the contact for
   * payers. `favourites`: the symbols that payers see first.
   */
  brand: z.object({
    name: z.string().nullable(),
    accent: z.string().nullable(),
    logo: z.string().nullable(),
    contact: z.string().nullable(),
    favourites: z.array(z.string()),
    /** The currency in which the business reckons; null: nobody chose one. */
    currency: z.string().nullable(),
  }),
  /** The spendable amount of each asset that it takes, then of each other one that it still has something of. */
  balances: z.array(Balance),
  created_at: Instant,
});

/** Requests a minute of one API key. */
export const PerMinute = z.int().min(1).max(60_000);

export const KeyShape = z.object({
  id: Id,
  business_id: Id,
  business: z.string(),
  name: z.string(),
  /** The first characters of the key. */
  hint: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  /** Null: no limit. */
  per_minute: PerMinute.nullable(),
  created_at: Instant,
  last_used_at: Instant.nullable(),
  revoked_at: Instant.nullable(),
});

/** `key` is shown this once and stored as a hash. */
export const NewKeyShape = KeyShape.extend({ key: z.string() });

export const ClientShape = z.object({
  id: Id,
  client_id: z.string(),
  business_id: Id,
  business: z.string(),
  name: z.string(),
  origins: z.array(z.string()),
  /** The hosts that its close, redirect and webhook URLs may name. */
  hosts: z.array(z.string()),
  created_at: Instant,
  revoked_at: Instant.nullable(),
});

/**
 * The present cost of collecting it into the tank, in US dollars and in percent of its worth (999: or more). `dear`:
 * a larger share than `[evm] dear_percent`. Null: it needs no collecting, or no price is known.
 */
const SweepCostShape = z.object({ cost_usd: Decimal, percent: z.int(), dear: z.boolean() });

export const InvoiceShape = z.object({
  /** Its number in the order of creation, used as the cursor of lists. */
  id: Id,
  slug: z.string(),
  uuid: z.uuid(),
  business_id: Id,
  business: z.string(),
  origin: z.string(),
  amount: Decimal,
  currency: z.string(),
  /** The asset that it may be paid in: a symbol or ALL. */
  crypto: z.string(),
  status: z.enum(INVOICE_STATUSES),
  /** The shop's own reference, and a text for the payer. */
  order_id: z.string().nullable(),
  description: z.string().nullable(),
  payment: z
    .object({
      crypto: z.string(),
      status: z.string(),
      amount: Decimal,
      received: Decimal,
      confirmed: Decimal,
      sweep: SweepCostShape.nullable(),
    })
    .nullable(),
  /** The time to pay ended without money. */
  expired: z.boolean(),
  /** The amounts that went back by refunds with a confirmation. */
  refunded: z.array(z.object({ crypto: z.string(), amount: Decimal })),
  /** The part that it got beyond its amount and tolerance, while nobody has decided about it. `inbox`: its item there. */
  over: z.object({ crypto: z.string(), amount: Decimal, inbox: Id }).nullable(),
  due_at: Instant,
  created_at: Instant,
});

const AttemptShape = z.object({
  id: Id,
  by_operator: z.boolean(),
  started_at: Instant,
  finished_at: Instant.nullable(),
  /** The HTTP status of the answer. */
  status: z.int().nullable(),
  /** Why there was no answer. */
  error: z.string().nullable(),
});

export const WebhookShape = z.object({
  id: Id,
  invoice: z.string(),
  url: z.string(),
  /** `waiting`: not sent yet. `attempted`: sent once, and never again by itself. `skipped`: never sent. */
  state: z.string(),
  created_at: Instant,
  /** The newest attempts, oldest first. */
  attempts: z.array(AttemptShape),
});

/** A deposit to the address of an invoice's payment. */
const CreditShape = z.object({
  id: Id,
  tx_id: z.string(),
  /** True for a coin sent from inside a contract: `tx_id` is the transaction that the source names, or the block's hash. */
  internal: z.boolean().optional(),
  outpoint: z.string(),
  crypto: z.string(),
  amount: Decimal,
  /** In the invoice's currency; null while no rate is known for it. */
  value: Decimal.nullable(),
  usd_value: Decimal.nullable(),
  block_height: z.int().nullable(),
  confirmations: z.int().min(0),
  required_confirmations: z.int().min(0),
  confirmed: z.boolean(),
  /** `invoice`: it counts for the invoice. Another word: it is in the inbox, for that reason. Null: not decided. */
  claim: z.string().nullable(),
  /** It was replaced, or dropped from the mempool. */
  gone: z.boolean(),
  spent_by: z.string().nullable(),
  first_seen_at: Instant,
});

const PaymentShape = z.object({
  crypto: z.string(),
  network: z.string(),
  address: z.string(),
  status: z.string(),
  /** The amount of the current quote, in whole coins. */
  amount: Decimal,
  received: Decimal,
  confirmed: Decimal,
  remaining: Decimal,
  /** The received value and its confirmed part, in the invoice's currency. */
  received_value: Decimal,
  confirmed_value: Decimal,
  confirmations: z.int().min(0),
  required_confirmations: z.int().min(0),
  quote: z.object({
    /** The invoice's currency per whole coin. */
    rate: Decimal,
    issued_at: Instant,
    ends_at: Instant,
    ended: z.boolean(),
  }),
  deadline_at: Instant,
  underpaid: z.boolean(),
  overpaid: z.boolean(),
  late: z.boolean(),
  undone: z.boolean(),
  marked_paid: z.boolean(),
  sweep: SweepCostShape.nullable(),
  created_at: Instant,
  updated_at: Instant,
});

export const InvoiceDetailShape = InvoiceShape.omit({ payment: true }).extend({
  invoice_url: z.string(),
  /** The accepted shortfall. */
  tolerance: Decimal,
  close_url: z.string().nullable(),
  redirect_url: z.string().nullable(),
  webhook_url: z.string().nullable(),
  /** The shop's own data, which payers never see. */
  metadata: z.record(z.string(), z.string()).nullable(),
  automatic_redirect: z.boolean(),
  updated_at: Instant,
  deleted_at: Instant.nullable(),
  payment: PaymentShape.nullable(),
  /** The servers that showed no further payment, and up to when; null: none were asked before a deadline. */
  absence: z.object({ until: Instant, servers: z.string() }).nullable(),
  /** Since when servers of one operator alone tell of an open payment's chain; null: those of two do, or no others are named. */
  unchecked_since: Instant.nullable(),
  /** The newest, oldest first. */
  credits: z.array(CreditShape),
  /** The newest, oldest first. */
  refunds: z.array(
    z.object({
      id: Id,
      crypto: z.string(),
      amount: Decimal,
      state: z.enum(WITHDRAWAL_STATES),
      address: z.string(),
      tx_id: z.string().nullable(),
      created_at: Instant,
      approved_at: Instant.nullable(),
      updated_at: Instant,
    }),
  ),
  /** The amounts that can be refunded, in whole coins. */
  refundable: z.array(z.object({ crypto: z.string(), amount: Decimal })),
  webhook: WebhookShape.nullable(),
});

/** A deposit that no unpaid invoice claims. */
export const InboxShape = z.object({
  id: Id,
  business_id: Id,
  business: z.string(),
  invoice: z.string().nullable(),
  reason: z.string(),
  /** The operator's choices, in words, for a deposit that was sent by mistake and is not decided yet. */
  advice: z.string().nullable(),
  /** `refunding`: its refund has no confirmation yet, and may still wait for approval. `refunded`: it has one. */
  state: z.enum(INBOX_STATES),
  /** The withdrawal that refunds it. */
  refund: z
    .object({ id: Id, state: z.enum(WITHDRAWAL_STATES), tx_id: z.string().nullable(), deadline_at: Instant.nullable() })
    .nullable(),
  /** When the decision was made; null: none was made. */
  decided_at: Instant.nullable(),
  chain: z.string(),
  crypto: z.string(),
  amount: Decimal,
  usd_value: Decimal.nullable(),
  address: z.string(),
  outpoint: z.string(),
  block_height: z.int().nullable(),
  confirmed: z.boolean(),
  gone: z.boolean(),
  created_at: Instant,
});

/** A token that this program does not know. It has no price, and counts for nothing. */
export const UnknownTokenShape = z.object({
  id: Id,
  business_id: Id,
  business: z.string(),
  invoice: z.string().nullable(),
  chain: z.string(),
  address: z.string(),
  contract: z.string(),
  /** By the contract's own statement, which may be false. */
  symbol: z.string().nullable(),
  decimals: z.int().min(0).nullable(),
  /** In smallest units, all transfers together. */
  units: z.string().regex(/^\d{1,78}$/),
  transfers: z.int().min(1),
  /** Of the last one. */
  tx_id: z.string(),
  first_seen_at: Instant,
  last_seen_at: Instant,
});

/** The cursor of the next page of alerts: "rank:id", as the previous page returned it. */
export const AlertCursor = z.string().regex(/^[01]:\d{1,16}$/);

/** A message of the service: what its sentence is made of, in any language. */
export const MessageShape: z.ZodType<Message> = z.object({
  code: z.string(),
  values: z.record(z.string(), z.union([z.string(), z.number(), z.lazy(() => MessageShape)])),
});

export const AlertShape = z.object({
  /** 0: it could not be stored yet, because the disk is full, and cannot be marked as seen. */
  id: z.int().min(0),
  kind: z.string(),
  subject: z.string(),
  message: MessageShape,
  /** Null: it is about the appliance itself. */
  network: z.string().nullable(),
  created_at: Instant,
});

const ChainShape = z.object({
  network: z.enum(NETWORKS),
  chain: z.enum(CHAINS),
  source: z.string(),
  tip: z.object({ height: z.int(), hash: z.string() }).nullable(),
  tip_age_seconds: z.int().nullable(),
  /** When the last complete sync began. */
  synced_at: Instant.nullable(),
  lagging: z.boolean(),
  /** The source's last failure. */
  error: z.string().nullable(),
  /** Why payers are not offered this chain. */
  withheld: z.string().nullable(),
});

export const StatusShape = z.object({
  version: z.string(),
  url: z.string(),
  /** Who can open the payment pages, by that address. It is not tried. */
  reach: z.enum(REACHES),
  data_dir: z.string(),
  started_at: Instant,
  uptime_seconds: z.int().min(0),
  businesses: z.array(z.object({ id: Id, name: z.string(), network: z.string(), cryptos: z.array(z.string()) })),
  chains: z.array(ChainShape),
  /** US dollars per coin; null if no rate is valid. `at`: the time of the rate. */
  rates: z.array(
    z.object({ network: z.string(), crypto: z.string(), usd: Decimal.nullable(), at: Instant.nullable() }),
  ),
  /** The number of unused addresses of each account, and the number that it should have. */
  pools: z.array(
    z.object({
      business_id: Id,
      business: z.string(),
      chain: z.string(),
      ready: z.int().min(0),
      wanted: z.int().min(0),
    }),
  ),
  open_alerts: z.int().min(0),
  /** Faults of the configuration, and how to correct them. */
  warnings: z.array(MessageShape),
  /** Free space on the data directory's disk, the size of the write-ahead log, and why writes fail. */
  storage: z.object({
    free_bytes: z.int().min(0).nullable(),
    log_bytes: z.int().min(0),
    problem: z.string().nullable(),
  }),
});
