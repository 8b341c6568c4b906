/** Every table with the types and the storage (`columns.ts`) of its columns. */
import type { Selectable } from 'kysely';
import type { AssetId, Network } from '../domain/assets.ts';
import type { AccountKey, Checkpoint } from '../domain/chain.ts';
import type { Claim, InboxReason, InboxState, InvoiceStatus, PaymentStatus } from '../domain/payment.ts';
import {
  bytes,
  type Codec,
  type Column,
  flag,
  int,
  json,
  made,
  maybe,
  only,
  parts,
  type Stored,
  text,
  time,
  units,
} from './columns.ts';
import { ALERT_TABLES } from './schema-alerts.ts';
import { BOOKED } from './schema-books.ts';
import { CORRECTION_TABLES } from './schema-corrections.ts';
import { COUNTER_TABLES } from './schema-counter.ts';
import { EVENT_TABLES } from './schema-events.ts';
import { GIVEN_TABLES } from './schema-given.ts';
import { LINK_TABLES } from './schema-links.ts';
import { LISTED_TABLES } from './schema-listed.ts';
import { WITHDRAWAL_TABLES } from './schema-withdrawals.ts';

export const TABLES = {
  ...WITHDRAWAL_TABLES,
  ...ALERT_TABLES,
  ...CORRECTION_TABLES,
  ...COUNTER_TABLES,
  ...EVENT_TABLES,
  ...LINK_TABLES,
  ...LISTED_TABLES,
  ...GIVEN_TABLES,
  business: {
    id: made(int),
    uuid: text,
    name: text,
    network: only<Network>(),
    time_zone: text,
    account_no: int,
    created_at: time,
  },
  business_asset: { business_id: int, asset: only<AssetId>(), enabled: flag },
  /** `logo_id`: its picture's hash. `contact`: for payers. `favourites`: symbols seen first. Null: the default. */
  brand: {
    business_id: int,
    display_name: maybe(text),
    accent: maybe(text),
    logo_id: maybe(text),
    contact: maybe(text),
    favourites: maybe(json<string[]>()),
    /** An ISO 4217 code. */
    currency: maybe(text),
  },
  logo: { id: text, type: text, bytes: bytes },
  api_key: {
    id: made(int),
    business_id: int,
    name: text,
    hash: bytes,
    hint: text,
    scopes: text,
    created_at: time,
    last_used_at: maybe(time),
    revoked_at: maybe(time),
    /** The requests per minute that the key may make; null: no limit. */
    per_minute: maybe(int),
  },
  client: {
    id: made(int),
    public_id: text,
    business_id: int,
    name: text,
    origins: json<string[]>(),
    url_hosts: json<string[]>(),
    created_at: time,
    revoked_at: maybe(time),
  },
  account: {
    id: made(int),
    business_id: int,
    chain_key: text,
    key: json<AccountKey>(),
    next_index: int,
    birthday: maybe(int),
    /**
     * The checkpoint from which this account's history is still to be read, `[]` until its birthday was looked up; null
     * once it was read. JSON, compared as text.
     */
    rescan: maybe(text),
    /** The index of the next change address. */
    next_change: made(int),
    /** Account chains: the index of the tank. */
    tank: made(int),
    /** Of a used wallet: how many addresses past the last used one are searched. Null: it was not used before. */
    gap: made(maybe(int)),
    /** The highest used index of each branch that is known from the history, -1: none. */
    used_index: made(int),
    used_change: made(int),
    /** The highest index of each branch up to which the current reading of the history finds every use. */
    ready_index: made(maybe(int)),
    ready_change: made(maybe(int)),
    /** Up to this height, spends of its coins were not made by this service. */
    past_until: made(maybe(int)),
  },
  /** Ranges of addresses that are watched and never given out. They are derived up to `reached`. */
  skipped: { account_id: int, branch: int, from_index: int, to_index: int, reached: int },
  target: {
    id: made(int),
    account_id: int,
    chain_key: text,
    branch: int,
    idx: int,
    script: bytes,
    address: text,
    invoice_id: maybe(int),
  },
  invoice: {
    id: made(int),
    uuid: text,
    slug: text,
    business_id: int,
    origin: text,
    amount: units,
    tolerance: units,
    currency: text,
    crypto: text,
    status: only<InvoiceStatus>(),
    due_at: time,
    check_at: maybe(time),
    close_url: maybe(text),
    redirect_url: maybe(text),
    webhook_url: maybe(text),
    automatic_redirect: flag,
    created_at: time,
    updated_at: time,
    deleted_at: maybe(time),
    /** The shop's reference, text for the payer, and own data: a JSON object of texts. */
    order_id: maybe(text),
    description: maybe(text),
    metadata: maybe(json<Record<string, string>>()),
    /** 1 for those of earlier releases: the slug is in an index. 0: it leads to the id (`app/invoices/slugs.ts`). */
    random_slug: made(flag),
  },
  payment: {
    invoice_id: int,
    chain_key: text,
    asset: only<AssetId>(),
    target_id: int,
    address: text,
    status: only<PaymentStatus>(),
    deadline_at: time,
    check_at: maybe(time),
    quote_rate: units,
    quote_amount: units,
    quote_issued_at: time,
    quote_ends_at: time,
    rates: text,
    received: units,
    confirmed: units,
    seen_value: units,
    confirmed_value: units,
    flags: int,
    created_at: time,
    updated_at: time,
    /** How often the payer has changed the asset. */
    changes: int,
  },
  /**
   * The address of an invoice before its payer chose another asset, with the quote of that time: one row per former
   * asset, none for the current one. `open`: 1 while the invoice is unpaid, so that the address is watched closely.
   */
  former_target: {
    invoice_id: int,
    asset: only<AssetId>(),
    chain_key: text,
    target_id: int,
    address: text,
    quote_rate: units,
    quote_amount: units,
    quote_ends_at: time,
    rates: text,
    left_at: time,
    open: flag,
  },
  client_invoice: {
    invoice_id: int,
    client_id: int,
    /** 1 while the invoice is unpaid and has an address. The limit of its client ID counts these. */
    holds: flag,
    /** While it holds: a hash of the network address (IPv6: of its /64) that requested the payment; null if unknown. */
    holder: maybe(text),
    /** The same of its /56 and its /48; null also for an IPv4 address. */
    holder_site: maybe(text),
    holder_provider: maybe(text),
  },
  past_quote: { invoice_id: int, asset: only<AssetId>(), issued_at: time, ends_at: time, rate: units },
  credit: {
    id: made(int),
    chain_key: text,
    outpoint: text,
    txid: text,
    target_id: int,
    account_id: int,
    invoice_id: maybe(int),
    asset: only<AssetId>(),
    units: units,
    block_height: maybe(int),
    block_hash: maybe(text),
    block_time: maybe(int),
    first_seen_at: time,
    value: maybe(units),
    usd_value: maybe(units),
    /** The transaction that paid from inside a contract, as an endpoint named it; null otherwise. For display only. */
    via_txid: maybe(text),
    required: int,
    maturity: int,
    locked: flag,
    replaceable: flag,
    /** 1 while it has the required confirmations. */
    confirmed: flag,
    /** 1 while no further block can change it. */
    settled: flag,
    /** 1 while its units are in the running total of `balance`. */
    counted: flag,
    gone: flag,
    /** When it vanished; null while it is there. */
    gone_at: maybe(time),
    /** The amounts first seen earlier, in what this one replaced: JSON, [[at, units], …]; null: none. */
    inherited: maybe(parts),
    claim: maybe(only<NonNullable<Claim>>()),
    spent_txid: maybe(text),
    spent_block_hash: maybe(text),
    spent_block_height: maybe(int),
    /** 1 for change of a transaction of ours, which counts before it confirms. */
    own_change: flag,
    ...BOOKED,
  },
  /** A transaction that pays us. */
  paying_tx: {
    txid: text,
    chain_key: text,
    /** The known value of its credits in 1e-8 US dollars. */
    usd_value: units,
    /** The number of its credits. */
    outputs: int,
    /** The number of its credits without a value in dollars. */
    unvalued: int,
    /** 1 while only a part of its credits is stored, so that its value is unknown. */
    unread: flag,
    /** 1 while some of its credits may be marked as confirmed by the number of confirmations for its former value. */
    stale: flag,
  },
  /** The inputs of a transaction that pays us, at most INPUTS_KEPT_MAX. */
  paying_input: { outpoint: text, chain_key: text, txid: text },
  balance: { account_id: int, asset: only<AssetId>(), units: units },
  /**
   * The units at one address of an account chain: its counted credits less its debits. No row: 0. Below 0 while a block
   * with its credit left the chain and its debit did not.
   */
  address_balance: { target_id: int, asset: only<AssetId>(), account_id: int, units: units },
  /**
   * The amounts that left an account, in transactions of anybody. Together with `credit`, which has the incoming
   * amounts, these are all ledger entries: the balance of an account is its credits less its debits. The debits of a
   * coin chain are derived from the coins (`app/books/entries.ts`), those of an account chain are reported.
   */
  debit: {
    id: made(int),
    chain_key: text,
    /** Unique on its chain: the transaction's id, a colon, and a text that is unique in that transaction. */
    ref: text,
    txid: text,
    account_id: int,
    /** The address of ours that paid it; null on a coin chain, where the coins of the transaction paid it. */
    target_id: maybe(int),
    asset: only<AssetId>(),
    /**
     * 'paid': to others, and to addresses that were given to payers. 'fee'. 'moved': to an address of the same account
     * (branch 1). 'adopted': the chain has so much less there than the other entries say, or more (below 0).
     */
    kind: text,
    /** Below 0 only for a transaction made by others that brings more than it takes, and for what was adopted. */
    units: units,
    block_height: maybe(int),
    block_hash: maybe(text),
    /** The time of the first block that held it; null before. */
    at: maybe(time),
    /** The value of a whole coin at that time, 1e-8 US dollars; null if unknown. */
    usd_rate: maybe(units),
    ...BOOKED,
  },
  /** A token that this program does not know, at an address of ours. It has no price and never counts. */
  unknown_token: {
    id: made(int),
    chain_key: text,
    target_id: int,
    /** Lower-case hex with 0x. */
    contract: text,
    /** By the contract's own statement, safe to show. */
    symbol: maybe(text),
    decimals: maybe(int),
    /** The sum of its transfers, in smallest units. */
    units: units,
    transfers: int,
    /** The transaction of the last transfer, and its block. */
    txid: text,
    block_height: int,
    first_seen_at: time,
    last_seen_at: time,
  },
  inbox: {
    id: made(int),
    credit_id: int,
    business_id: int,
    invoice_id: maybe(int),
    reason: only<InboxReason>(),
    /** An item is shown as `refunding` while its withdrawal is not paid: that is no stored state. */
    state: only<Exclude<InboxState, 'refunding'>>(),
    created_at: time,
    updated_at: time,
    /** The withdrawal that refunds it. */
    withdrawal_id: maybe(int),
    /** It raises no alert: it is too small, or can never be moved. */
    silent: made(flag),
    /** An alert has counted it. */
    told: made(flag),
    /** The part of the deposit that an invoice got beyond its amount. Null: the whole deposit. */
    units: maybe(units),
  },
  /** A receipt that a payer asked for by e-mail. `email`, `subject`, `body`, `next_at`: null once it was sent or given up. */
  receipt: {
    invoice_id: int,
    /** How often one was asked for. */
    asked: int,
    asked_at: time,
    email: maybe(text),
    subject: maybe(text),
    body: maybe(text),
    tries: int,
    next_at: maybe(time),
  },
  /** A request for a receipt, kept for a day. `address`: a keyed hash of the e-mail address. */
  receipt_request: { id: made(int), at: time, business_id: int, address: text },
  webhook: {
    id: made(int),
    invoice_id: int,
    url: text,
    state: text,
    created_at: time,
    /** `shop`: from a shop's server. `public`: from browsers and the sandbox, processed in a separate queue. */
    lane: text,
    /** With the port, of its URL; empty for those of an earlier release. */
    host: text,
    /** 0 for those of an earlier release. */
    business_id: int,
    live: flag,
  },
  webhook_attempt: {
    id: made(int),
    webhook_id: int,
    by_operator: flag,
    started_at: time,
    finished_at: maybe(time),
    status: maybe(int),
    error: maybe(text),
  },
  chain_state: {
    chain_key: text,
    checkpoint: json<Checkpoint>(),
    synced_at: time,
    /** Hashes of blocks beyond the checkpoint of which facts may be stored: JSON. */
    ahead: json<string[]>(),
  },
  idempotency: {
    business_id: int,
    route: text,
    key: text,
    body_hash: bytes,
    status: int,
    body: text,
    created_at: time,
    expires_at: maybe(time),
  },
  setting: { key: text, value: text, updated_at: time },
  /** SQLite's own table: the last id of each AUTOINCREMENT table. */
  sqlite_sequence: { name: text, seq: int },
  rate_snapshot: { at: time, body: text },
  sandbox_block: { chain: text, height: int, hash: text, time: time },
  sandbox_tx: {
    id: made(int),
    chain: text,
    txid: text,
    raw: maybe(text),
    inputs: json<string[]>(),
    block_height: maybe(int),
    created_at: time,
  },
  sandbox_output: {
    chain: text,
    outpoint: text,
    /** 0 for a premined coin. */
    tx_id: int,
    script: bytes,
    asset: only<AssetId>(),
    units: units,
    /** The transaction that spends it, unconfirmed or not. */
    spent_by: maybe(int),
  },
  sandbox_chain: {
    chain: text,
    down: flag,
    /** Counts everything that was ever made on this chain, so that no two blocks or premined coins are equal. */
    sequence: int,
    /** Up to this height, only blocks with needed transactions are kept. */
    pruned: int,
    /** The number of this chain's rows in `sandbox_tx`: a running total. */
    transactions: int,
  },
};

type Tables = typeof TABLES;

/** The table types in Kysely's form. */
export type Schema = { [T in keyof Tables]: { [C in keyof Tables[T]]: Column<Tables[T][C]> } };

/** A row of a table, as read. */
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;

/** Replaces the stored forms in a row by the values. */
export type RowReader = (row: unknown) => void;

/** The reader of rows with these columns, identified by their tables; null if no column needs conversion. */
export function rowReader(
  columns: readonly { name: string; column: string | null; table: string | null }[],
): RowReader | null {
  const codecs = columns.flatMap(({ name, table, column }) => {
    const { read } = (TABLES as Record<string, Record<string, Codec<unknown>>>)[table ?? '']?.[column ?? ''] ?? {};
    return read ? [{ name, read }] : [];
  });
  if (codecs.length === 0) return null;
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const { name, read } of codecs) if (values[name] !== null) values[name] = read(values[name] as Stored);
  };
}
