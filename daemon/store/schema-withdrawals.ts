/** The tables of withdrawals, as `schema.ts` has the others. */
import { bytes, flag, int, made, maybe, text, time, units } from './columns.ts';

export const WITHDRAWAL_TABLES = {
  withdrawal: {
    id: made(int),
    /** Names it for ever and on every machine: what the signer knows it by. */
    uuid: text,
    business_id: int,
    account_id: int,
    chain_key: text,
    asset: text,
    /** 'merchant', 'operator', 'inbox' or 'refund'. */
    origin: text,
    /** What the recipient gets. Of a sweep that is not planned yet: all that it takes, fee included. */
    units: units,
    /** 1: everything that there is, less the fee. */
    sweep: flag,
    /** The highest fee, in `fee_asset`: held on top, but of a sweep in the same asset. */
    fee_held: units,
    /** What fees are paid in: the coin of the chain. */
    fee_asset: text,
    address: text,
    /** What people compare of the address: see `domain/policy.ts`. */
    face: text,
    /** A refund spends this one coin and no other. */
    outpoint: maybe(text),
    inbox_id: maybe(int),
    state: text,
    /** 1 while its amount and highest fee are taken off the balance: it is open and spends no coin yet. */
    held: flag,
    /** Why it was rejected, or failed. */
    reason: maybe(text),
    /** 1e-8 US dollars when it was asked for. */
    usd_value: maybe(units),
    /** 'operator' or 'policy'. */
    approved_by: maybe(text),
    approved_at: maybe(time),
    /** What the signer is shown of the approval. */
    approval: maybe(text),
    /** When the wait for a decision, or for the signer, is over. */
    deadline_at: maybe(time),
    spend_id: maybe(int),
    /** 1 once the operator asked for its cancellation: no further version pays it. */
    cancel: flag,
    /** Its share of the fee of the newest version, or of the one in a block. */
    fee: maybe(units),
    txid: maybe(text),
    /** Why it waits, in the operator's words. */
    problem: maybe(text),
    /** 1: it was open in the backup that this service was restored from, so it may have been paid after that was made. */
    may_be_paid: made(flag),
    /** The invoice that it is a refund of. Null: of none, or of a deposit in the inbox. */
    invoice_id: maybe(int),
    created_at: time,
    updated_at: time,
  },
  /** All versions of one payment: each shares a conflict key with each other, so that one at most can be on the chain. */
  spend: {
    id: made(int),
    account_id: int,
    chain_key: text,
    asset: text,
    /** 'pay': withdrawals. 'bump': a deposit to us that is stuck, paid on to ourselves with a higher fee. */
    purpose: text,
    /** The key that all versions share as long as it exists: an outpoint, the nonce of an address, a key image. */
    conflict_key: text,
    /**
     * 'open' until it is decided for good which version is on the chain, or that none can be: so long the conflict keys
     * of all versions are reserved. 'waiting': the same, but none of them can be sent or replaced now, so that nothing is
     * reserved. 'buried': decided. 'given_up': never sent, and its coins are free again.
     */
    state: text,
    created_at: time,
    /** The tip's height when it was decided; null while it is not. */
    closed_height: maybe(int),
  },
  /** Transactions that vanished and can never come back: a block has another one that spends what they spend. */
  dead_tx: { txid: text, chain_key: text, conflict_txid: text, block_height: int, block_hash: text },
  /** A transaction as planned; with `raw` signed, and from then on it can be sent at any time. */
  spend_version: {
    id: made(int),
    spend_id: int,
    chain_key: text,
    /** 'pay' or 'cancel': one that pays nobody but ourselves. */
    kind: text,
    plan: text,
    /** What the signer is shown of an approval that is this version's alone. */
    approval: maybe(text),
    txid: maybe(text),
    raw: maybe(text),
    fee: units,
    /** What the fee is counted by: virtual bytes, gas. */
    size: int,
    created_at: time,
    signed_at: maybe(time),
    sent_at: maybe(time),
    problem: maybe(text),
  },
  /** What each version uses and one transaction at most can: see `chains/spending.ts`. */
  spend_key: { conflict_key: text, chain_key: text, version_id: int },
  /**
   * What used a conflict key that is no coin of ours, whoever made that transaction: what used a coin stands at its credit
   * (`app/withdrawals/keys.ts` reads both). Without a block it is in the mempool.
   */
  used_key: {
    conflict_key: text,
    chain_key: text,
    txid: text,
    block_height: maybe(int),
    block_hash: maybe(text),
  },
  /**
   * Transactions that paid us, without witnesses (`base`): a signer wants them whole, and a pruned node has none of the
   * old ones.
   */
  previous_tx: { txid: text, chain_key: text, base: bytes },
  spend_payout: { version_id: int, withdrawal_id: int, units: units },
  /** Limits are 1e-8 US dollars, null without. */
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
    face: text,
    created_at: time,
  },
};
