/**
 * The operator API: every method with its parameters and its result. `POST /operator/v1/{method}` with `params` as the
 * JSON body. A 200 carries the result, any other status an `ErrorBody`.
 *
 * Invariant: an unknown parameter is refused, so that a misspelt one is never silently ignored.
 */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { SCOPES } from '../domain/merchant.ts';
import { INVOICE_GROUPS, INVOICE_STATUSES } from '../domain/payment.ts';
import { BOOKS } from './books.ts';
import { CONSOLE } from './console.ts';
import { COUNTER } from './counter.ts';
import { ENDPOINTS } from './endpoints.ts';
import { FORWARDING } from './forwarding.ts';
import { GAS } from './gas.ts';
import { KEY_IMAGES } from './key-images.ts';
import { LINKS } from './links.ts';
import { type AnyMethod, changes, reads } from './method.ts';
import {
  AccountKeySchema,
  AlertCursor,
  AlertShape,
  BusinessShape,
  ClientShape,
  DEFAULT_SCOPES,
  Gap,
  HighestUsed,
  Id,
  InboxShape,
  Instant,
  InvoiceDetailShape,
  InvoiceShape,
  KeyShape,
  MessageShape,
  NewKeyShape,
  Nothing,
  PAGE_MAX,
  Page,
  PerMinute,
  StatusShape,
  Text,
  UnknownTokenShape,
  WebhookShape,
} from './operator-shapes.ts';
import { REACH } from './reach.ts';
import { RECOVERY } from './recovery.ts';
import { REFUNDS } from './refunds.ts';
import { RELEASES } from './releases.ts';
import { SHOP } from './shop.ts';
import { SIGNING_MACHINE } from './signing-machine.ts';
import { SOURCES } from './sources.ts';
import { WALLET } from './wallet.ts';
import { WITHDRAWALS, WithdrawalShape } from './withdrawals.ts';

export const OPERATOR_PATH = '/operator/v1/';
export const BODY_BYTES_MAX = 1_048_576;

const LIST_MAX = 100;
/** Larger than the limit of a logo, so that a logo that is too large gets a specific error. */
const LOGO_BASE64_MAX = 524_288;

const Texts = z.array(Text).max(LIST_MAX);
/** A business by its number, its UUID or its name. A name must be unique. */
const BusinessRef = Text;
const Scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const Name = z.string().trim().min(1).max(LIST_MAX);
/** The `before` of the next page; null when there is none. */
const next = Id.nullable();

/** The browsers' origins; empty only for the sandbox, which accepts any. Default of `hosts`: those of the origins. */
const NewClient = z.strictObject({ name: Name, origins: Texts.default([]), hosts: Texts.optional() });

/** Monero makes 263,000 blocks a year. */
const RESTORE_HEIGHT_MAX = 1_000_000_000;

const NewBusiness = z.strictObject({
  name: Text,
  network: z.enum(NETWORKS),
  time_zone: Text.default('UTC'),
  /** Absent for the sandbox, whose wallet the daemon holds. */
  account_no: z.int().min(0).optional(),
  accounts: z.partialRecord(z.enum(CHAINS), AccountKeySchema).optional(),
  /** When the wallet was first used; null: it is new. */
  birthday: z.iso.datetime().nullable().default(null),
  /** In place of the birthday: Monero's block from which on the wallet was used ("restore height"). */
  restore_height: z.int().min(0).max(RESTORE_HEIGHT_MAX).optional(),
  /**
   * For a wallet that was used before: how many addresses past the last used one are watched and never given out, in
   * each branch. Default with a birthday: 1,000. Without a birthday the wallet is new.
   */
  gap: Gap.optional(),
  /** The highest used indices of each chain, as `wallet.discovery` returns them; -1: none. */
  used: z.partialRecord(z.enum(CHAINS), HighestUsed).default({}),
  key: z.strictObject({ name: Name, scopes: Scopes }),
  client: NewClient.optional(),
});

export const OPERATOR = {
  status: reads(Nothing, StatusShape),

  /** Checks the service, and reports its state and the necessary actions. */
  doctor: reads(
    Nothing,
    z.object({
      findings: z.array(
        z.object({
          subject: z.string(),
          level: z.enum(['ok', 'warning', 'problem']),
          text: MessageShape,
          advice: MessageShape.nullable(),
        }),
      ),
    }),
  ),

  'business.list': reads(Nothing, z.object({ businesses: z.array(BusinessShape) })),
  /** The coins of its balances of which a withdrawal of everything would move nothing now, because its fee would be more than that. */
  'business.leftovers': reads(z.strictObject({ business: BusinessRef }), z.object({ cryptos: z.array(z.string()) })),
  /** The number of the next account of a network, from which its keys are derived. */
  'business.nextAccount': reads(
    z.strictObject({ network: z.enum(NETWORKS) }),
    z.object({ account_no: z.int().min(0) }),
  ),
  'business.add': changes(
    NewBusiness,
    z.object({ business: BusinessShape, key: NewKeyShape, client: ClientShape.nullable() }),
    { approves: ({ network }) => ({ by: 'network', network }) },
  ),
  'business.change': changes(
    z.strictObject({
      business: BusinessRef,
      name: Text.optional(),
      time_zone: Text.optional(),
      enable: Texts.optional(),
      disable: Texts.optional(),
    }),
    z.object({ business: BusinessShape }),
  ),

  /** Its appearance to payers. An absent field stays unchanged; null restores the default. `logo`: in base64. */
  'business.brand': changes(
    z.strictObject({
      business: BusinessRef,
      name: Text.nullish(),
      accent: Text.nullish(),
      logo: z.base64().max(LOGO_BASE64_MAX).nullish(),
      contact: Text.nullish(),
      favourites: Texts.nullish(),
      currency: Text.nullish(),
    }),
    z.object({ business: BusinessShape }),
  ),

  'key.list': reads(
    z.strictObject({ business: BusinessRef.optional(), revoked: z.boolean().default(false) }),
    z.object({ keys: z.array(KeyShape) }),
  ),
  'key.add': changes(
    z.strictObject({
      business: BusinessRef,
      name: Name,
      scopes: Scopes.default(DEFAULT_SCOPES),
      per_minute: PerMinute.nullable().default(null),
    }),
    z.object({ key: NewKeyShape }),
    { approves: ({ business, scopes }) => (scopes.includes('withdraw') ? { by: 'business', business } : null) },
  ),
  'key.revoke': changes(z.strictObject({ id: Id }), z.object({})),

  'client.list': reads(
    z.strictObject({ business: BusinessRef.optional(), revoked: z.boolean().default(false) }),
    z.object({ clients: z.array(ClientShape) }),
  ),
  'client.add': changes(NewClient.extend({ business: BusinessRef }), z.object({ client: ClientShape })),
  /** An absent field stays unchanged. `client`: its number or its public id. */
  'client.change': changes(
    z.strictObject({ client: Text, origins: Texts.optional(), hosts: Texts.optional() }),
    z.object({ client: ClientShape }),
  ),
  'client.revoke': changes(z.strictObject({ client: Text }), z.object({})),

  /** Newest first. Reads a bounded number of invoices: a page may be short, even empty, and still have a next one. */
  'invoice.list': reads(
    Page.extend({
      business: BusinessRef.optional(),
      status: z.enum(INVOICE_STATUSES).optional(),
      /** `needs-you`: money came, and somebody must decide. `expired`: the time to pay ended without money. */
      only: z.enum(INVOICE_GROUPS).optional(),
      /** Exactly as the shop wrote it. */
      order_id: Text.optional(),
      /** The coin of its payment. */
      crypto: Text.optional(),
      /** Made on these days, both included, in the time zone of the business; of all businesses: UTC. */
      from: z.iso.date().optional(),
      to: z.iso.date().optional(),
    }),
    z.object({ invoices: z.array(InvoiceShape), next }),
  ),
  /** How many invoices of a business each state and group has; no higher number than `most` is counted. */
  'invoice.counts': reads(
    z.strictObject({ business: BusinessRef }),
    z.object({
      unpaid: z.int(),
      paid: z.int(),
      canceled: z.int(),
      'needs-you': z.int(),
      expired: z.int(),
      most: z.int(),
    }),
  ),
  /** The paid ones among the invoices that were made between two times, both included. `whole`: none was left out. */
  'invoice.sums': reads(
    z.strictObject({ business: BusinessRef, from: Instant, to: Instant }),
    z.object({
      payments: z.int(),
      amounts: z.array(z.object({ currency: z.string(), amount: z.string() })),
      whole: z.boolean(),
    }),
  ),
  'invoice.show': reads(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),
  'invoice.cancel': changes(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),
  'invoice.markPaid': changes(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),

  /**
   * Asks for a withdrawal that refunds a paid invoice; it waits for an approval. Default: all that is left. `request`: the caller's own id
   * of it: the same one gets the same withdrawal.
   */
  'invoice.refund': changes(
    z.strictObject({
      invoice: Text,
      address: Text,
      amount: Text.optional(),
      crypto: Text.optional(),
      request: z.uuid().optional(),
    }),
    z.object({ withdrawal: WithdrawalShape }),
  ),

  /** `waiting`: in place of the newest, those of this business that wait for a decision and are more than crumbs; `before` is for the others. */
  'inbox.list': reads(Page.extend({ waiting: BusinessRef.optional() }), z.object({ items: z.array(InboxShape), next })),
  /** Tokens that this program does not know, at addresses of ours. */
  'inbox.unknownTokens': reads(Page, z.object({ tokens: z.array(UnknownTokenShape), next })),
  'webhook.list': reads(Page, z.object({ webhooks: z.array(WebhookShape), next })),
  /** Sends a webhook again, and answers after that attempt. */
  'webhook.resend': changes(
    z.strictObject({ id: Id }),
    z.object({ status: z.int().nullable(), error: z.string().nullable(), webhook: WebhookShape }),
  ),
  ...RECOVERY,
  ...BOOKS,
  ...WALLET,
  ...WITHDRAWALS,
  ...GAS,
  ...KEY_IMAGES,
  ...FORWARDING,
  ...ENDPOINTS,
  ...SOURCES,
  ...SHOP,
  ...LINKS,
  ...REACH,
  ...COUNTER,
  ...REFUNDS,
  ...RELEASES,
  ...CONSOLE,
  ...SIGNING_MACHINE,
  /** Runs the nightly removal of old data at once. */
  'maintenance.free': changes(
    Nothing,
    z.object({ transactions: z.int().min(0), attempts: z.int().min(0), alerts: z.int().min(0) }),
  ),

  'alert.list': reads(
    z.strictObject({ limit: z.int().min(1).max(PAGE_MAX).default(PAGE_MAX), after: AlertCursor.optional() }),
    z.object({ alerts: z.array(AlertShape), next: AlertCursor.nullable() }),
  ),
  /** Sends a test message over every configured channel. */
  'alert.test': changes(
    Nothing,
    z.object({ channels: z.array(z.object({ channel: z.string(), error: z.string().nullable() })) }),
  ),
  'alert.seen': changes(
    z.strictObject({ ids: z.array(Id).min(1).max(PAGE_MAX) }),
    z.object({ closed: z.int().min(0) }),
  ),
} as const;

export type Method = keyof typeof OPERATOR;

/** The rules of a method, for whoever looks at any of them. */
export const rulesOf = (method: Method): AnyMethod => OPERATOR[method];

/** The parameters as a caller passes them: fields with a default are optional. */
export type Params<M extends Method> = z.input<(typeof OPERATOR)[M]['params']>;
/** The parameters after parsing, with defaults filled in. */
export type Parsed<M extends Method> = z.output<(typeof OPERATOR)[M]['params']>;
export type Result<M extends Method> = z.output<(typeof OPERATOR)[M]['result']>;

/** Calls a method over a socket, HTTP or IPC. */
export type Call = <M extends Method>(method: M, params: Params<M>) => Promise<Result<M>>;

export const isMethod = (name: string): name is Method => Object.hasOwn(OPERATOR, name);

export const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** The file in the data directory that has the address of a running daemon. Only its owner can read it. */
export const OPERATOR_FILE = 'operator.json';
export const OperatorFile = z.object({
  /** `http://127.0.0.1:port`; with a socket, only the host name of requests. */
  url: z.string(),
  socket: z.string().nullable(),
  token: z.string(),
});
export type OperatorFile = z.infer<typeof OperatorFile>;
