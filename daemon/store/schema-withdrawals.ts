/** The tables of withdrawals, as `schema.ts` has the others. */
import type { Generated } from 'kysely';

export type WithdrawalTables = {
  withdrawal: {
    id: Generated<number>;
    /** Names it for ever and on every machine: what the signer knows it by. */
    uuid: string;
    business_id: number;
    account_id: number;
    chain_key: string;
    asset: string;
    /** 'merchant', 'operator', 'inbox' or 'refund'. */
    origin: string;
    /** What the recipient gets. Of a sweep that is not planned yet: all that it takes, fee included. */
    units: string;
    /** 1: everything that there is, less the fee. */
    sweep: number;
    /** The highest fee: held on top, but for a sweep. */
    fee_held: string;
    address: string;
    /** What people compare of the address: see `domain/policy.ts`. */
    face: string;
    /** A refund spends this one coin and no other. */
    outpoint: string | null;
    inbox_id: number | null;
    state: string;
    /** 1 while its amount and highest fee are taken off the balance: it is open and spends no coin yet. */
    held: number;
    /** Why it was rejected, or failed. */
    reason: string | null;
    /** 1e-8 US dollars when it was asked for. */
    usd_value: string | null;
    /** 'operator' or 'policy'. */
    approved_by: string | null;
    approved_at: number | null;
    /** What the signer is shown of the approval. */
    approval: string | null;
    /** When the wait for a decision, or for the signer, is over. */
    deadline_at: number | null;
    spend_id: number | null;
    /** 1 once the operator asked for its cancellation: no further version pays it. */
    cancel: number;
    /** Its share of the fee of the newest version, or of the one in a block. */
    fee: string | null;
    txid: string | null;
    /** Why it waits, in the operator's words. */
    problem: string | null;
    /** 1: it was open in the backup that this service was restored from, so it may have been paid after that was made. */
    may_be_paid: Generated<number>;
    /** The invoice that it is a refund of. Null: of none, or of a deposit in the inbox. */
    invoice_id: number | null;
    created_at: number;
    updated_at: number;
  };
  /** All versions of one payment: they share an anchor, so that one at most can be on the chain. */
  spend: {
    id: Generated<number>;
    account_id: number;
    chain_key: string;
    asset: string;
    /** 'pay': withdrawals. 'bump': a deposit to us that is stuck, paid on to ourselves with a higher fee. */
    purpose: string;
    anchor: string;
    /**
     * 'open' until it is decided for good which version is on the chain, or that none can be: so long the inputs of all
     * versions are reserved. 'waiting': the same, but none of them can be sent or replaced now, so that nothing is
     * reserved. 'buried': decided. 'given_up': never sent, and its coins are free again.
     */
    state: string;
    created_at: number;
    /** The tip's height when it was decided; null while it is not. */
    closed_height: number | null;
  };
  /** Transactions that vanished and can never come back: a block has another one that spends what they spend. */
  dead_tx: { txid: string; chain_key: string; conflict_txid: string; block_height: number; block_hash: string };
  /** A transaction as planned; with `raw` signed, and from then on it can be sent at any time. */
  spend_version: {
    id: Generated<number>;
    spend_id: number;
    chain_key: string;
    /** 'pay' or 'cancel': one that pays nobody but ourselves. */
    kind: string;
    plan: string;
    /** What the signer is shown of an approval that is this version's alone. */
    approval: string | null;
    txid: string | null;
    raw: string | null;
    fee: string;
    vsize: number;
    created_at: number;
    signed_at: number | null;
    sent_at: number | null;
    problem: string | null;
  };
  spend_input: { outpoint: string; chain_key: string; version_id: number };
  /**
   * Transactions that paid us, without witnesses (`base`): a signer wants them whole, and a pruned node has none of the
   * old ones.
   */
  previous_tx: { txid: string; chain_key: string; base: Uint8Array };
  spend_payout: { version_id: number; withdrawal_id: number; units: string };
  /** Limits are 1e-8 US dollars, null without. */
  policy: {
    business_id: number;
    mode: string;
    per_withdrawal_usd: string | null;
    per_day_usd: string | null;
    address_book_only: number;
    updated_at: number;
  };
  address_book: {
    id: Generated<number>;
    business_id: number;
    chain: string;
    address: string;
    label: string;
    face: string;
    created_at: number;
  };
};
