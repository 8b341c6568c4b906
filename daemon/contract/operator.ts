/**
 * The operator API: every method with what it takes and what it gives. `POST /operator/v1/{method}` with `params` as the
 * JSON body; a 200 carries the result, anything else an `ErrorBody`.
 *
 * Invariant: a parameter that a method does not know is refused, so that a misspelt one is never silently without effect.
 */
import { z } from 'zod';
import { CHAINS, NETWORKS } from '../domain/assets.ts';
import { SCOPES } from '../domain/merchant.ts';
import { INVOICE_STATUSES } from '../domain/payment.ts';
import { BOOKS } from './books.ts';
import { ENDPOINTS } from './endpoints.ts';
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
  InvoiceDetailShape,
  InvoiceShape,
  KeyShape,
  NewKeyShape,
  PerMinute,
  StatusShape,
  WebhookShape,
} from './operator-shapes.ts';
import { RECOVERY } from './recovery.ts';
import { SOURCES } from './sources.ts';
import { WALLET } from './wallet.ts';
import { WITHDRAWALS } from './withdrawals.ts';

export const OPERATOR_PATH = '/operator/v1/';
export const BODY_BYTES_MAX = 1_048_576;
export const PAGE_MAX = 200;

const TEXT_CHARS_MAX = 300;
const LIST_MAX = 100;
/** More than a logo may have, so that one that is too large gets an answer that says so. */
const LOGO_BASE64_MAX = 524_288;

const Nothing = z.strictObject({});
const Text = z.string().min(1).max(TEXT_CHARS_MAX);
const Texts = z.array(Text).max(LIST_MAX);
/** A business by its number, its UUID or its name, if only one has that name. */
const BusinessRef = Text;
const Scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const Name = z.string().trim().min(1).max(LIST_MAX);
const Page = z.strictObject({
  limit: z.int().min(1).max(PAGE_MAX).default(50),
  /** Only what has a lower id than this. */
  before: Id.optional(),
});
/** The `before` of the next page; null when there is none. */
const next = Id.nullable();

/** The browsers' origins, none only for the sandbox, which takes any; without `hosts`, those of the origins. */
const NewClient = z.strictObject({ name: Name, origins: Texts.default([]), hosts: Texts.optional() });

const NewBusiness = z.strictObject({
  name: Text,
  network: z.enum(NETWORKS),
  time_zone: Text.default('UTC'),
  /** Left out for the sandbox, whose wallet the daemon has itself. */
  account_no: z.int().min(0).optional(),
  accounts: z.partialRecord(z.enum(CHAINS), AccountKeySchema).optional(),
  /** When the wallet was first used; null: it is new. */
  birthday: z.iso.datetime().nullable().default(null),
  /**
   * Of a wallet that was used before: how many addresses past the last one used are watched and given to nobody, in each
   * branch. Left out with a birthday: 1,000; left out without: the wallet is new.
   */
  gap: Gap.optional(),
  /** The highest indices that are known to be used of each chain, as `wallet.scanned` tells them; -1 for none. */
  used: z.partialRecord(z.enum(CHAINS), HighestUsed).default({}),
  key: z.strictObject({ name: Name, scopes: Scopes }),
  client: NewClient.optional(),
});

const method = <P extends z.ZodType, R extends z.ZodType>(params: P, result: R) => ({ params, result });

export const OPERATOR = {
  status: method(Nothing, StatusShape),

  /** Looks the service over: what is so, and what is to be done. */
  doctor: method(
    Nothing,
    z.object({
      findings: z.array(
        z.object({
          subject: z.string(),
          level: z.enum(['ok', 'warning', 'problem']),
          text: z.string(),
          advice: z.string().nullable(),
        }),
      ),
    }),
  ),

  'business.list': method(Nothing, z.object({ businesses: z.array(BusinessShape) })),
  /** The number of the next account of a network: what its keys are derived with. */
  'business.nextAccount': method(
    z.strictObject({ network: z.enum(NETWORKS) }),
    z.object({ account_no: z.int().min(0) }),
  ),
  'business.add': method(
    NewBusiness,
    z.object({ business: BusinessShape, key: NewKeyShape, client: ClientShape.nullable() }),
  ),
  'business.change': method(
    z.strictObject({
      business: BusinessRef,
      name: Text.optional(),
      time_zone: Text.optional(),
      enable: Texts.optional(),
      disable: Texts.optional(),
    }),
    z.object({ business: BusinessShape }),
  ),

  /** How it looks to payers: what is left out stays, null goes back to how every business looks. `logo`: in base64. */
  'business.brand': method(
    z.strictObject({
      business: BusinessRef,
      name: Text.nullish(),
      accent: Text.nullish(),
      logo: z.base64().max(LOGO_BASE64_MAX).nullish(),
      contact: Text.nullish(),
      favourites: Texts.nullish(),
    }),
    z.object({ business: BusinessShape }),
  ),

  'key.list': method(
    z.strictObject({ business: BusinessRef.optional(), revoked: z.boolean().default(false) }),
    z.object({ keys: z.array(KeyShape) }),
  ),
  'key.add': method(
    z.strictObject({
      business: BusinessRef,
      name: Name,
      scopes: Scopes.default(DEFAULT_SCOPES),
      per_minute: PerMinute.nullable().default(null),
    }),
    z.object({ key: NewKeyShape }),
  ),
  'key.revoke': method(z.strictObject({ id: Id }), z.object({})),

  'client.list': method(
    z.strictObject({ business: BusinessRef.optional(), revoked: z.boolean().default(false) }),
    z.object({ clients: z.array(ClientShape) }),
  ),
  'client.add': method(NewClient.extend({ business: BusinessRef }), z.object({ client: ClientShape })),
  /** What is left out stays. `client`: its number or its public id. */
  'client.change': method(
    z.strictObject({ client: Text, origins: Texts.optional(), hosts: Texts.optional() }),
    z.object({ client: ClientShape }),
  ),
  'client.revoke': method(z.strictObject({ client: Text }), z.object({})),

  /** Newest first. Looks at a bounded number of invoices: a page may be short, even empty, and still have a next. */
  'invoice.list': method(
    Page.extend({
      business: BusinessRef.optional(),
      status: z.enum(INVOICE_STATUSES).optional(),
      /** Exactly as the shop wrote it. */
      order_id: Text.optional(),
    }),
    z.object({ invoices: z.array(InvoiceShape), next }),
  ),
  'invoice.show': method(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),
  'invoice.cancel': method(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),
  'invoice.markPaid': method(z.strictObject({ invoice: Text }), z.object({ invoice: InvoiceDetailShape })),

  'inbox.list': method(Page, z.object({ items: z.array(InboxShape), next })),
  'webhook.list': method(Page, z.object({ webhooks: z.array(WebhookShape), next })),
  /** Sends one again and answers when that attempt has ended. */
  'webhook.resend': method(
    z.strictObject({ id: Id }),
    z.object({ status: z.int().nullable(), error: z.string().nullable(), webhook: WebhookShape }),
  ),
  ...RECOVERY,
  ...BOOKS,
  ...WALLET,
  ...WITHDRAWALS,
  ...ENDPOINTS,
  ...SOURCES,
  /** Removes at once what is removed every night. */
  'maintenance.free': method(
    Nothing,
    z.object({ transactions: z.int().min(0), attempts: z.int().min(0), alerts: z.int().min(0) }),
  ),

  'alert.list': method(
    z.strictObject({ limit: z.int().min(1).max(PAGE_MAX).default(PAGE_MAX), after: AlertCursor.optional() }),
    z.object({ alerts: z.array(AlertShape), next: AlertCursor.nullable() }),
  ),
  /** Sends a message of trial over every channel that is configured. */
  'alert.test': method(
    Nothing,
    z.object({ channels: z.array(z.object({ channel: z.string(), error: z.string().nullable() })) }),
  ),
  'alert.seen': method(z.strictObject({ ids: z.array(Id).min(1).max(PAGE_MAX) }), z.object({ closed: z.int().min(0) })),
} as const;

export type Method = keyof typeof OPERATOR;
/** What a caller gives: defaults may be left out. */
export type Params<M extends Method> = z.input<(typeof OPERATOR)[M]['params']>;
/** What the server works with. */
export type Parsed<M extends Method> = z.output<(typeof OPERATOR)[M]['params']>;
export type Result<M extends Method> = z.output<(typeof OPERATOR)[M]['result']>;

export const isMethod = (name: string): name is Method => Object.hasOwn(OPERATOR, name);

export const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** Where a running daemon can be reached, as it writes it into its data directory: for the owner's eyes only. */
export const OPERATOR_FILE = 'operator.json';
export const OperatorFile = z.object({
  /** `http://127.0.0.1:port`; with a socket, only the name that requests are sent under. */
  url: z.string(),
  socket: z.string().nullable(),
  token: z.string(),
});
export type OperatorFile = z.infer<typeof OperatorFile>;
