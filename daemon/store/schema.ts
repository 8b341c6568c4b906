/**
 * The shape of every table, for Kysely. Units and fiat amounts are decimal text (SQLite's integers overflow at 9.22 ETH
 * in wei), times are milliseconds since 1970, booleans are 0 or 1.
 */
import type { Generated } from 'kysely';
import type { EventTables } from './schema-events.ts';
import type { WithdrawalTables } from './schema-withdrawals.ts';

export type Schema = {
  business: {
    id: Generated<number>;
    uuid: string;
    name: string;
    network: string;
    time_zone: string;
    account_no: number;
    created_at: number;
  };
  business_asset: { business_id: number; asset: string; enabled: number };
  /** `logo_id`: a hash of the picture's bytes, under which it is served. Null: as every business looks. */
  brand: { business_id: number; display_name: string | null; accent: string | null; logo_id: string | null };
  logo: { id: string; type: string; bytes: Uint8Array };
  api_key: {
    id: Generated<number>;
    business_id: number;
    name: string;
    hash: Uint8Array;
    hint: string;
    scopes: string;
    created_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
    /** Requests that the key may make in a minute; null: as many as it likes. */
    per_minute: number | null;
  };
  client: {
    id: Generated<number>;
    public_id: string;
    business_id: number;
    name: string;
    origins: string;
    url_hosts: string;
    created_at: number;
    revoked_at: number | null;
  };
  account: {
    id: Generated<number>;
    business_id: number;
    chain_key: string;
    key: string;
    next_index: number;
    birthday: number | null;
    /** The checkpoint from which this account's past is still to be read, `[]` before its birthday was looked up; null when it was read. */
    rescan: string | null;
    /** The index of the next change address. */
    next_change: Generated<number>;
    /** Of a wallet that was used before: how many addresses past the last one used are looked at. Null: it has no past. */
    gap: Generated<number | null>;
    /** The highest indices that the past is known to have used, -1 for none. */
    used_index: Generated<number>;
    used_change: Generated<number>;
    /** The highest indices that could be found used, without anything being missed, since the past is read this time. */
    ready_index: Generated<number | null>;
    ready_change: Generated<number | null>;
    /** Up to this height it was not this service that spent its coins. */
    past_until: Generated<number | null>;
  };
  /** Indices of addresses that are watched and never given out; up to `reached` they are derived. */
  skipped: { account_id: number; branch: number; from_index: number; to_index: number; reached: number };
  target: {
    id: Generated<number>;
    account_id: number;
    chain_key: string;
    branch: number;
    idx: number;
    script: Uint8Array;
    address: string;
    invoice_id: number | null;
  };
  invoice: {
    id: Generated<number>;
    uuid: string;
    slug: string;
    business_id: number;
    origin: string;
    amount: string;
    tolerance: string;
    currency: string;
    crypto: string;
    status: string;
    due_at: number;
    check_at: number | null;
    close_url: string | null;
    redirect_url: string | null;
    webhook_url: string | null;
    automatic_redirect: number;
    created_at: number;
    updated_at: number;
    deleted_at: number | null;
    /** What the shop calls it, says of it, and keeps with it: a JSON object of texts. */
    order_id: string | null;
    description: string | null;
    metadata: string | null;
  };
  payment: {
    invoice_id: number;
    chain_key: string;
    asset: string;
    target_id: number;
    address: string;
    status: string;
    deadline_at: number;
    check_at: number | null;
    quote_rate: string;
    quote_amount: string;
    quote_issued_at: number;
    quote_ends_at: number;
    rates: string;
    received: string;
    confirmed: string;
    seen_value: string;
    confirmed_value: string;
    flags: number;
    created_at: number;
    updated_at: number;
  };
  client_invoice: {
    invoice_id: number;
    client_id: number;
    /** 1 while the invoice is unpaid and has an address: what the cap of its client ID counts. */
    holds: number;
    /** While it holds: a hash of the address (IPv6: of its /64) that asked for the payment; null where none is known. */
    holder: string | null;
  };
  past_quote: { invoice_id: number; issued_at: number; ends_at: number; rate: string };
  credit: {
    id: Generated<number>;
    chain_key: string;
    outpoint: string;
    txid: string;
    target_id: number;
    account_id: number;
    invoice_id: number | null;
    asset: string;
    units: string;
    block_height: number | null;
    block_hash: string | null;
    block_time: number | null;
    first_seen_at: number;
    value: string | null;
    usd_value: string | null;
    required: number;
    maturity: number;
    locked: number;
    replaceable: number;
    /** 1 while it has the confirmations that it needs to pay. */
    confirmed: number;
    /** 1 while no further block on top can change anything about it. */
    settled: number;
    /** 1 while its units are in the running total of `balance`. */
    counted: number;
    gone: number;
    /** When it was found gone; null while it is there. */
    gone_at: number | null;
    /** What of it was first seen earlier, in a transaction that its own replaced: JSON, [[at, units], …]; null for none. */
    inherited: string | null;
    claim: string | null;
    spent_txid: string | null;
    spent_block_hash: string | null;
    spent_block_height: number | null;
    /** 1 for the change of a transaction of ours: it counts before it confirms. */
    own_change: number;
  };
  /** A transaction that pays us. */
  paying_tx: {
    txid: string;
    chain_key: string;
    /** The worth of its credits in dollars (1e-8), as far as it is known. */
    usd_value: string;
    /** How many credits it has. */
    outputs: number;
    /** How many of them have no worth in dollars yet. */
    unvalued: number;
    /** 1 while only a part of its credits has been taken in: its worth is not known yet. */
    unread: number;
    /** 1 while credits of it may have the confirmations that a former worth asked for. */
    stale: number;
  };
  /** What a transaction that pays us spends: the first INPUTS_KEPT_MAX of its inputs. */
  paying_input: { outpoint: string; chain_key: string; txid: string };
  balance: { account_id: number; asset: string; units: string };
  /**
   * Transactions in blocks that spent coins of ours, whoever made them: when that was (of the first block that held it), and
   * what a whole coin was worth then, 1e-8 US dollars, null where nobody knew.
   */
  booked_spend: { txid: string; chain_key: string; at: number; usd_rate: string | null };
  inbox: {
    id: Generated<number>;
    credit_id: number;
    business_id: number;
    invoice_id: number | null;
    reason: string;
    state: string;
    created_at: number;
    updated_at: number;
    /** The refund that was drafted for it. */
    withdrawal_id: number | null;
  };
  webhook: {
    id: Generated<number>;
    invoice_id: number;
    url: string;
    state: string;
    created_at: number;
    /** `shop`: of a shop's server. `public`: what browsers and the sandbox asked for, which waits in a lane of its own. */
    lane: string;
  };
  webhook_attempt: {
    id: Generated<number>;
    webhook_id: number;
    by_operator: number;
    started_at: number;
    finished_at: number | null;
    status: number | null;
    error: string | null;
  };
  alert: {
    id: Generated<number>;
    kind: string;
    subject: string;
    message: string;
    created_at: number;
    seen_at: number | null;
    /** Null: it is about the appliance itself. */
    network: string | null;
  };
  chain_state: {
    chain_key: string;
    checkpoint: string;
    synced_at: number;
    /** Hashes of blocks that are not in the checkpoint, of which facts may be stored: JSON. */
    ahead: string;
  };
  idempotency: {
    business_id: number;
    route: string;
    key: string;
    body_hash: Uint8Array;
    status: number;
    body: string;
    created_at: number;
    expires_at: number | null;
  };
  setting: { key: string; value: string; updated_at: number };
  /** SQLite's own: the last id of each AUTOINCREMENT table. */
  sqlite_sequence: { name: string; seq: number };
  rate_snapshot: { at: number; body: string };
  sandbox_block: { chain: string; height: number; hash: string; time: number };
  sandbox_tx: {
    id: Generated<number>;
    chain: string;
    txid: string;
    raw: string | null;
    inputs: string;
    block_height: number | null;
    created_at: number;
  };
  sandbox_output: {
    chain: string;
    outpoint: string;
    /** 0 for a premined coin. */
    tx_id: number;
    script: Uint8Array;
    asset: string;
    units: string;
    /** The transaction that spends it, unconfirmed or not. */
    spent_by: number | null;
  };
  sandbox_chain: {
    chain: string;
    down: number;
    /** Counts what was ever made on this chain, so that no two blocks or premined coins are alike. */
    sequence: number;
    /** Up to this height only blocks are kept whose transactions still matter. */
    pruned: number;
    /** How many rows `sandbox_tx` has of this chain: a running total. */
    transactions: number;
  };
} & WithdrawalTables &
  EventTables;
