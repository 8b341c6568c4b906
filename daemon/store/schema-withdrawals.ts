/** The tables of withdrawals. See `schema.ts` for the other tables. */
import type { AssetId } from '../domain/assets.ts';
import type { ForwardTime } from '../domain/forwarding.ts';
import type { Message } from '../domain/messages.ts';
import type { Purpose, VersionKind } from '../domain/spend-state.ts';
import type { Speed, WithdrawalState } from '../domain/withdrawal.ts';
import { bytes, flag, int, json, made, maybe, only, text, time, units } from './columns.ts';

export const WITHDRAWAL_TABLES = {
  withdrawal: {
    id: made(int),
    /** The withdrawal's permanent id on every machine, which the signer uses. */
    uuid: text,
    business_id: int,
    account_id: int,
    chain_key: text,
    asset: only<AssetId>(),
    /** 'merchant', 'operator', 'inbox', 'refund' or 'forward'. */
    origin: text,
    /** The recipient's amount. For a sweep that is not planned yet: everything that it takes, fee included. */
    units: units,
    /** 1: takes the whole balance, less the fee. */
    sweep: flag,
    /** The highest fee, in `fee_asset`. It is reserved on top of the amount, except for a sweep in the same asset. */
    fee_held: units,
    /** The asset that fees are paid in: the coin of the chain. */
    fee_asset: only<AssetId>(),
    address: text,
    /** The part of the address that people compare: see `domain/policy.ts`. */
    lookalike_key: text,
    /** The only coin that a refund spends. */
    outpoint: maybe(text),
    inbox_id: maybe(int),
    state: only<WithdrawalState>(),
    /** 1 while its amount and highest fee are reserved: it is open and has no transaction yet. */
    held: flag,
    /** Why it was rejected, or failed. */
    reason: maybe(json<Message>()),
    /** Its value in 1e-8 US dollars when it was requested. */
    usd_value: maybe(units),
    /** The fee rate is asked for accordingly when it is planned. */
    speed: made(only<Speed>()),
    approved_by: maybe(only<'operator' | 'policy' | 'forward' | 'sandbox' | 'restore'>()),
    approved_at: maybe(time),
    /** The approval as the signer gets it. */
    approval: maybe(text),
    /** When its wait for a decision, or for the signer, ends. */
    deadline_at: maybe(time),
    spend_id: maybe(int),
    /** 1 after the operator requested its cancellation: no further version pays it. */
    cancel: flag,
    /** Its share of the fee of the newest version, or of the one in a block. */
    fee: maybe(units),
    txid: maybe(text),
    /** Why it waits. */
    problem: maybe(json<Message>()),
    /** 1: it was open in the backup that was restored, so it may have been paid after that backup. */
    may_be_paid: made(flag),
    /** 1: shops were told of this refund. A confirmation after a reorganisation does not tell again. */
    refund_told: made(flag),
    /** The invoice that it refunds; null: none, or it refunds a deposit in the inbox. */
    invoice_id: maybe(int),
    created_at: time,
    updated_at: time,
  },
  /** All versions of one payment. Any two of them share a conflict key, so that at most one can confirm. */
  spend: {
    id: made(int),
    account_id: int,
    chain_key: text,
    asset: only<AssetId>(),
    purpose: only<Purpose>(),
    /** Of a payment to ourselves: the deposit's outpoint, or the address that is collected or funded. */
    subject: maybe(text),
    /** The key that all versions share while it exists: an outpoint, the nonce of an address, a key image. */
    conflict_key: text,
    /**
     * 'open': undecided; the conflict keys of all versions are reserved. 'waiting': undecided, but no version can be
     * sent or replaced now, so no key is reserved. 'buried': decided, because a version is buried or all are
     * impossible. 'given_up': never sent; its coins are free.
     */
    state: only<'open' | 'waiting' | 'buried' | 'given_up'>(),
    created_at: time,
    /** The tip's height at the decision; null while undecided. */
    closed_height: maybe(int),
    /** Of gas for an address: the token that a forwarding plan sends on from there; null: it is for no plan of that kind. */
    forwards: maybe(only<AssetId>()),
  },
  /**
   * Transactions that can never confirm: others that vanished, because a block has a transaction that spends one of their inputs; ours,
   * because the chain up to a block has another output where they name a coin. `conflict_txid` is then their own id.
   */
  dead_tx: { txid: text, chain_key: text, conflict_txid: text, block_height: int, block_hash: text },
  /** A planned transaction. If `raw` is set it is signed, and can be sent at any time. */
  spend_version: {
    id: made(int),
    spend_id: int,
    chain_key: text,
    kind: only<VersionKind>(),
    plan: text,
    /** The approval of this version alone, as the signer gets it. */
    approval: maybe(text),
    txid: maybe(text),
    raw: maybe(text),
    fee: units,
    /** The size in the unit of the fee rate: virtual bytes, gas. */
    size: int,
    created_at: time,
    signed_at: maybe(time),
    sent_at: maybe(time),
    /** Why it is not signed, or not sent. */
    problem: maybe(json<Message>()),
    /** Monero: the transaction's private keys in hex, which prove to whom it paid, and spend nothing. */
    proof: maybe(text),
  },
  /**
   * Monero: the key image by which a spend of a coin is seen. `from_height`: the coin's block. `learned_at`: when the signer computed
   * it. `searched`: 1 after the blocks that were read before then were searched for it.
   */
  key_image: {
    key_image: text,
    chain_key: text,
    outpoint: text,
    from_height: int,
    learned_at: time,
    searched: flag,
  },
  /** Monero: the fee of a transaction that the other wallet of a view-only account made, which says it in the open. */
  outside_fee: { txid: text, chain_key: text, account_id: int, units: units },
  /** The conflict keys of each version: see `chains/spending.ts`. */
  spend_key: { conflict_key: text, chain_key: text, version_id: int },
  /**
   * The transactions, ours or others', that used a conflict key that is no coin of ours. The user of a coin is stored
   * at its credit (`app/spends/facts.ts` reads both). Without a block the transaction is in the mempool.
   */
  used_key: {
    conflict_key: text,
    chain_key: text,
    txid: text,
    block_height: maybe(int),
    block_hash: maybe(text),
    /** 1 if the transaction used the key and had no other effect than its fee: its execution failed. */
    failed: flag,
  },
  /** The newest plan of an account to collect its deposit addresses into the tank. */
  gas_plan: {
    account_id: int,
    chain_key: text,
    /** Addresses that hold less are left alone, 1e-8 US dollars. */
    min_usd: units,
    /** The highest price of gas, smallest units per 1,000 gas; null: any. */
    price_max: maybe(units),
    /** The highest sum of the highest fees of all its transactions, smallest units; and what is used of it. */
    fee_max: units,
    used: units,
    begins_at: time,
    ends_at: time,
    state: only<'open' | 'done' | 'stopped'>(),
    /** Why something waits, for the operator. */
    problem: maybe(json<Message>()),
    created_at: time,
    /** 1: it collects only what approved withdrawals wait for. Every plan collects that, whatever the hour and the price. */
    only_needed: flag,
    /** The hours of each day at which it collects, minutes since midnight in the business's time zone; null: at any time. */
    day_from: maybe(int),
    day_to: maybe(int),
    /** 1: one of its transactions failed on the chain, so it begins nothing until an operator lets it go on. */
    halted: flag,
    /** The newest spend that halted it; 0: none. It halts no plan again. */
    halted_by: int,
  },
  /** A plan that sends the takings of a business in one coin on to an address. Amounts are smallest units. */
  forward_plan: {
    id: made(int),
    business_id: int,
    account_id: int,
    chain_key: text,
    asset: only<AssetId>(),
    address: text,
    /** It leaves so much, and sends from so much on. */
    keep: units,
    least: units,
    every: only<ForwardTime>(),
    /** Since midnight in the business's time zone. */
    minute: int,
    /** 0 is Sunday; null unless it is each week. */
    weekday: maybe(int),
    /** The limits of its grant: of one payment, in millionths and in the fee's asset, and of 24 hours. */
    fee_share_ppm: maybe(int),
    fee_max: maybe(units),
    fee_day: units,
    /** It begins no payment before. */
    next_at: time,
    /** The payment that is under way, or whose end it has not seen yet. */
    withdrawal_id: maybe(int),
    /** Why it waits, for the operator. */
    problem: maybe(json<Message>()),
    created_at: time,
    updated_at: time,
    /** When a run of several payments began that goes on; null: none does. */
    run_at: maybe(time),
    /** How many times, one after the other, the operator left out. */
    left_out: int,
    /** Its address is another wallet's account (`wallet/forward-key.ts`): the index that it pays next; null: it is an address. */
    key_index: maybe(int),
    /** It begins a run only in a cheap hour of gas; and since when it waits for one; null: it does not. */
    cheap: flag,
    cheap_since: maybe(time),
  },
  /** Transactions that paid us, without witnesses (`base`): a signer needs them, a pruned node keeps none. */
  previous_tx: { txid: text, chain_key: text, base: bytes },
  spend_payout: { version_id: int, withdrawal_id: int, units: units },
  /** Limits are 1e-8 US dollars; null: no limit. */
  policy: {
    business_id: int,
    mode: text,
    per_withdrawal_usd: maybe(units),
    per_day_usd: maybe(units),
    address_book_only: flag,
    updated_at: time,
  },
  address_book: {
    id: made(int),
    business_id: int,
    chain: text,
    address: text,
    label: text,
    lookalike_key: text,
    created_at: time,
  },
};
