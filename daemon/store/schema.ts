/** Every table and its columns, once: their types, and how their values are stored (`columns.ts`). */
import type { Selectable } from 'kysely';
import type { AssetId } from '../domain/assets.ts';
import type { AccountKey, Checkpoint } from '../domain/chain.ts';
import type { InvoiceStatus, PaymentStatus } from '../domain/payment.ts';
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
import { EVENT_TABLES } from './schema-events.ts';
import { WITHDRAWAL_TABLES } from './schema-withdrawals.ts';

export const TABLES = {
  ...WITHDRAWAL_TABLES,
  ...ALERT_TABLES,
  ...EVENT_TABLES,
  business: {
    id: made(int),
    uuid: text,
    name: text,
    network: text,
    time_zone: text,
    account_no: int,
    created_at: time,
  },
  business_asset: { business_id: int, asset: text, enabled: flag },
  /**
   * `logo_id`: a hash of the picture's bytes, under which it is served. `contact`: whom payers ask. `favourites`: symbols of
   * the assets that they see first. Null: as every business looks.
   */
  brand: {
    business_id: int,
    display_name: maybe(text),
    accent: maybe(text),
    logo_id: maybe(text),
    contact: maybe(text),
    favourites: maybe(json<string[]>()),
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
    /** Requests that the key may make in a minute; null: as many as it likes. */
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
    /** The checkpoint from which this account's past is still to be read, `[]` before its birthday was looked up; null when it was read. JSON, compared as text. */
    rescan: maybe(text),
    /** The index of the next change address. */
    next_change: made(int),
    /** Of a wallet that was used before: how many addresses past the last one used are looked at. Null: it has no past. */
    gap: made(maybe(int)),
    /** The highest indices that the past is known to have used, -1 for none. */
    used_index: made(int),
    used_change: made(int),
    /** The highest indices that could be found used, without anything being missed, since the past is read this time. */
    ready_index: made(maybe(int)),
    ready_change: made(maybe(int)),
    /** Up to this height it was not this service that spent its coins. */
    past_until: made(maybe(int)),
  },
  /** Indices of addresses that are watched and never given out; up to `reached` they are derived. */
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
    /** What the shop calls it, says of it, and keeps with it: a JSON object of texts. */
    order_id: maybe(text),
    description: maybe(text),
    metadata: maybe(json<Record<string, string>>()),
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
    /** How often the payer has chosen another coin. */
    changes: int,
  },
  /**
   * Where an invoice was to be paid before its payer chose another coin, with the quote that was left: one for each asset,
   * and none for the one that the payment is in. `open`: 1 while its invoice is unpaid, so that the address is watched closely.
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
    /** 1 while the invoice is unpaid and has an address: what the cap of its client ID counts. */
    holds: flag,
    /** While it holds: a hash of the address (IPv6: of its /64) that asked for the payment; null where none is known. */
    holder: maybe(text),
  },
  past_quote: { invoice_id: int, asset: text, issued_at: time, ends_at: time, rate: units },
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
    required: int,
    maturity: int,
    locked: flag,
    replaceable: flag,
    /** 1 while it has the confirmations that it needs to pay. */
    confirmed: flag,
    /** 1 while no further block on top can change anything about it. */
    settled: flag,
    /** 1 while its units are in the running total of `balance`. */
    counted: flag,
    gone: flag,
    /** When it was found gone; null while it is there. */
    gone_at: maybe(time),
    /** What of it was first seen earlier, in a transaction that its own replaced: JSON, [[at, units], …]; null for none. */
    inherited: maybe(parts),
    claim: maybe(text),
    spent_txid: maybe(text),
    spent_block_hash: maybe(text),
    spent_block_height: maybe(int),
    /** 1 for the change of a transaction of ours: it counts before it confirms. */
    own_change: flag,
  },
  /** A transaction that pays us. */
  paying_tx: {
    txid: text,
    chain_key: text,
    /** The worth of its credits in dollars (1e-8), as far as it is known. */
    usd_value: units,
    /** How many credits it has. */
    outputs: int,
    /** How many of them have no worth in dollars yet. */
    unvalued: int,
    /** 1 while only a part of its credits has been taken in: its worth is not known yet. */
    unread: flag,
    /** 1 while credits of it may have the confirmations that a former worth asked for. */
    stale: flag,
  },
  /** What a transaction that pays us spends: the first INPUTS_KEPT_MAX of its inputs. */
  paying_input: { outpoint: text, chain_key: text, txid: text },
  balance: { account_id: int, asset: text, units: units },
  /**
   * What left an account, whoever made the transaction. With `credit`, which is what came, these are all its ledger entries:
   * an account holds its credits less its debits. Those of a coin chain follow from its coins (`app/books/entries.ts`), those
   * of an account chain are reported.
   */
  debit: {
    id: made(int),
    chain_key: text,
    /** Unique on its chain: the transaction's id, a colon, and what tells it from the other debits of that transaction. */
    ref: text,
    txid: text,
    account_id: int,
    /** The address of ours that it left; null on a coin chain, where it left the coins that the transaction spends. */
    target_id: maybe(int),
    asset: only<AssetId>(),
    /** 'paid': to others, and to addresses that payers were given. 'fee'. 'moved': to an address of the account itself (branch 1). */
    kind: text,
    /** Below 0 only where somebody else made a transaction that brings more than it takes. */
    units: units,
    block_height: maybe(int),
    block_hash: maybe(text),
    /** When the first block held it; null before. */
    at: maybe(time),
    /** A whole coin's worth then, 1e-8 US dollars; null where nobody knew. */
    usd_rate: maybe(units),
  },
  inbox: {
    id: made(int),
    credit_id: int,
    business_id: int,
    invoice_id: maybe(int),
    reason: text,
    state: text,
    created_at: time,
    updated_at: time,
    /** The refund that was drafted for it. */
    withdrawal_id: maybe(int),
  },
  webhook: {
    id: made(int),
    invoice_id: int,
    url: text,
    state: text,
    created_at: time,
    /** `shop`: of a shop's server. `public`: what browsers and the sandbox asked for, which waits in a lane of its own. */
    lane: text,
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
    /** Hashes of blocks that are not in the checkpoint, of which facts may be stored: JSON. */
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
  /** SQLite's own: the last id of each AUTOINCREMENT table. */
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
    asset: text,
    units: units,
    /** The transaction that spends it, unconfirmed or not. */
    spent_by: maybe(int),
  },
  sandbox_chain: {
    chain: text,
    down: flag,
    /** Counts what was ever made on this chain, so that no two blocks or premined coins are alike. */
    sequence: int,
    /** Up to this height only blocks are kept whose transactions still matter. */
    pruned: int,
    /** How many rows `sandbox_tx` has of this chain: a running total. */
    transactions: int,
  },
};

type Tables = typeof TABLES;

/** The types of the tables as Kysely wants them. */
export type Schema = { [T in keyof Tables]: { [C in keyof Tables[T]]: Column<Tables[T][C]> } };

/** A row of a table as it is read. */
export type Row<T extends keyof Schema> = Selectable<Schema[T]>;

/** Puts the values of a row's columns in the place of how they are stored. */
export type RowReader = (row: unknown) => void;

/** The reader of the rows with these columns, told apart by the tables that they come from; null where there is nothing to do. */
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
