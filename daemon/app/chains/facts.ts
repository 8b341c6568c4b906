/**
 * Applies single facts of a chain: a deposit, a spend of a coin, and the deposits that they make impossible.
 *
 * Invariants. Of two transactions that spend the same input at most one is present: the one that the source reports now
 * replaces any other that is in no block. A credit that is gone keeps its row for a while, so that its data (above all
 * when it was first seen) is available when it comes back.
 */

import {
  BLOCK_TIME_AHEAD_MAX_MS,
  type Credit,
  INPUTS_KEPT_MAX,
  isWatchOnly,
  OUTPUTS_PER_UNCONFIRMED_MAX,
  type SpendSeen,
} from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { firstSeenAt } from '../../domain/first-seen.ts';
import { type Part, partsOf, seenWhen, takeParts, totalOf } from '../../domain/inheritance.ts';
import { isNonceKey } from '../../domain/spend.ts';
import { assignTarget, type CreditRow, creditsOfTransactionAfter, targetById } from '../../store/queries/credits.ts';
import { type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { saveOutsideFee } from '../../store/queries/outside-fees.ts';
import { deletePayingInputs, insertPayingInput, payingTx, payingTxsWithInput } from '../../store/queries/paying.ts';
import { keepPrevious } from '../../store/queries/previous.ts';
import { saveUsedKey, usedKey } from '../../store/queries/used-keys.ts';
import type { Tx } from '../../store/store.ts';
import { kinTarget } from '../addresses/kin.ts';
import { NOBODY, noteUsed } from '../addresses/skipped.ts';
import type { App } from '../app.ts';
import { quotedAt } from '../invoices/payment-targets.ts';
import { fileInInbox, mayCount, takeFromInbox } from '../invoices/settle.ts';
import { isOwnChange } from '../spends/coins.ts';
import type { ChainRuntime } from './chains.ts';
import type { CreditBook } from './credits.ts';

/** Transactions checked that share one input with another. There is only one, unless the source invents them. */
const RIVALS_PER_INPUT_MAX = 8;
/** Credits of a conflicting transaction that are removed at a time. */
const RIVAL_CREDITS_MAX = 2 * OUTPUTS_PER_UNCONFIRMED_MAX;

type Quote = Pick<PaymentRow, 'created_at' | 'quote_issued_at' | 'quote_ends_at'>;

export type Step = {
  app: App;
  chain: ChainRuntime;
  tx: Tx;
  credits: CreditBook;
  /** When the last complete sync began, milliseconds since 1970: a deposit found since was not in a block before it. */
  syncedAt: number;
  /** The median time of the tip (BIP-113), milliseconds since 1970, if there is one. */
  medianTime?: number | undefined;
};

/** Credits of one transaction in the order of the update: all of them, or one of several parts. */
export type Group = {
  credits: readonly Credit[];
  /** The number of credits in all parts. */
  size: number;
  first: boolean;
  last: boolean;
};

/** Applies a transaction that pays us. */
export function seeTransaction(step: Step, group: Group): void {
  const { chain, tx, credits } = step;
  const [one] = group.credits;
  assert(one, 'a group has credits');
  const left = new Map<number, Part[]>();
  const claimed = new Set<number>();
  if (group.first) {
    const base = group.credits.find((credit) => credit.base)?.base;
    if (base) tx.run(keepPrevious, { txid: one.txid, chain_key: chain.key, base });
    for (const rival of rivalsOf(step, one)) {
      for (const [target, parts] of putAside(step, rival, claimed)) {
        // of several replaced ones, the one that paid this address most, because they replaced each other before
        if (totalOf(parts) > totalOf(left.get(target) ?? [])) left.set(target, parts);
      }
    }
  }
  const known = tx.get(payingTx, { txid: one.txid, chain_key: chain.key })?.outputs ?? 0;
  if (group.last) credits.setUnread(one.txid, false);
  else if (known < group.size) credits.setUnread(one.txid, true);
  let room = one.block ? group.credits.length : OUTPUTS_PER_UNCONFIRMED_MAX - known;
  let returned = false;
  for (const credit of group.credits) {
    const row = credits.find(credit.id);
    if (row) {
      returned ||= row.gone;
      seeAgain(step, row, credit);
    } else if (room > 0) {
      room--;
      addCredit(step, credit, left, claimed);
    }
  }
  if (known === 0 || returned) keepInputs(step, one);
}

function keepInputs({ chain, tx }: Step, { txid, inputs }: Credit): void {
  for (const outpoint of inputs.slice(0, INPUTS_KEPT_MAX)) {
    tx.run(insertPayingInput, { outpoint, chain_key: chain.key, txid });
  }
}

function seeAgain(step: Step, row: CreditRow, credit: Credit): void {
  const { credits, medianTime } = step;
  const block = credit.block && { ...credit.block, time: credit.blockTime ?? null };
  credits.keep(row);
  // a block does not tell whether the transaction was replaceable before
  if (!block) credits.setReplaceable(row, credit.replaceable !== false);
  lock(step, row, credit.locked ?? false);
  if (medianTime !== undefined && typeof block?.time === 'number') dateByBlock(step, row, block.time);
  if (row.block_hash !== (block?.hash ?? null)) credits.place(row, block);
  if (block) retire(step, row.target_id, row.txid);
}

/**
 * Locks a known deposit, or lets it go: of two outputs of Monero with one key only the first in the chain can be spent,
 * and blocks decide which that is. A locked one pays no invoice, and is in the inbox for as long.
 */
function lock({ app, tx }: Step, row: CreditRow, locked: boolean): void {
  if (row.locked === locked) return;
  row.locked = locked;
  // a block of one node alone, or what it names as unconfirmed, may have locked it
  if (!locked) takeFromInbox(app, tx, row);
  if (!locked || (row.claim !== null && row.claim !== 'invoice')) return;
  row.claim = 'locked';
  fileInInbox(app, tx, app.directory.businessOfAccount(row.account_id), row, 'locked');
}

/** Retires an address that was paid in a block before it was given out, because somebody else knows it. */
function retire({ app, tx }: Step, targetId: number, txid: string): void {
  const target = tx.get(targetById, { id: targetId });
  if (!target || target.invoice_id) return;
  if (target.invoice_id === null && target.branch === 0) tx.run(assignTarget, { id: targetId, invoice_id: NOBODY });
  if (!isOwnChange(tx, target, txid)) noteUsed(app, tx, target);
}

function addCredit(step: Step, credit: Credit, left: Map<number, Part[]>, claimed: ReadonlySet<number>): void {
  const { app, chain, tx, credits } = step;
  const block = credit.block && { ...credit.block, time: credit.blockTime ?? null };
  const target = tx.get(targetById, { id: credit.targetId });
  assert(target && target.chain_key === chain.key, `target ${credit.targetId} is on ${chain.key}`);
  const invoiceId = target.invoice_id || null;
  const quoted = quotedFor(tx, target.id, invoiceId);
  const seenAt = firstSeen(step, credit, quoted);
  const units = credit.amount.units;
  const { taken, rest } = takeParts(left.get(target.id) ?? [], units);
  left.set(target.id, rest);
  const seen = seenWhen(taken, units, seenAt);
  const unexpected = quoted && quoted.asset !== credit.amount.asset ? 'unexpected' : null;
  const ownChange = target.branch === 1;
  const meant = invoiceId === null ? kinTarget(tx, target)?.invoice_id || null : null;
  const unassigned = invoiceId === null && !ownChange ? (meant === null ? 'unassigned' : 'wrong-network') : null;
  const moved = credit.moved ? 'moved' : null;
  const fields = {
    outpoint: credit.id,
    txid: credit.txid,
    target_id: target.id,
    account_id: target.account_id,
    invoice_id: invoiceId,
    asset: credit.amount.asset,
    units,
    block_height: block?.height ?? null,
    block_hash: block?.hash ?? null,
    block_time: block?.time ?? null,
    first_seen_at: seen.at,
    inherited: seen.inherited.length === 0 ? null : seen.inherited,
    maturity: credit.maturity ?? 0,
    locked: credit.locked ?? false,
    replaceable: credit.replaceable !== false,
    own_change: isOwnChange(tx, target, credit.txid),
    via_txid: credit.viaTxid ?? null,
  };
  const settled = moved ?? (credit.locked ? 'locked' : (unexpected ?? unassigned));
  const claim = settled ?? (claimed.has(target.id) ? 'invoice' : null);
  const counts =
    claim !== null ||
    invoiceId === null ||
    mayCount(app, tx, chain.adapter.network, { ...fields, invoice_id: invoiceId });
  const added = credits.add({ ...fields, claim: counts ? claim : 'extra' });
  if (block) retire(step, target.id, credit.txid);
  const reason = added.claim;
  if (reason !== null && reason !== 'invoice' && reason !== 'moved') {
    const item = { id: added.id, invoice_id: invoiceId ?? meant, usd_value: added.usd_value };
    fileInInbox(app, tx, app.directory.businessOfAccount(target.account_id), item, reason);
  }
}

/** The payment of an address and its last quote; undefined if it has none. */
function quotedFor(
  tx: Tx,
  targetId: number,
  invoiceId: number | null,
): (Quote & Pick<PaymentRow, 'asset'>) | undefined {
  const payment = invoiceId === null ? undefined : tx.get(paymentOf, { invoice_id: invoiceId });
  return payment && quotedAt(tx, payment, targetId);
}

function firstSeen({ app, syncedAt, medianTime }: Step, { block, blockTime }: Credit, quote?: Quote): number {
  const times = quote && {
    createdAt: quote.created_at,
    issuedAt: quote.quote_issued_at,
    endsAt: quote.quote_ends_at,
  };
  return firstSeenAt({ now: app.now(), syncedAt, medianTime, isInBlock: block !== null, blockTime, quote: times });
}

/** Corrects a deposit first seen long after its block: the clock was wrong, or it waited for a second operator. */
function dateByBlock({ app, tx, credits }: Step, row: CreditRow, blockTime: number): void {
  if (row.first_seen_at - blockTime <= BLOCK_TIME_AHEAD_MAX_MS) return;
  credits.date(row, Math.max(blockTime, quotedFor(tx, row.target_id, row.invoice_id)?.quote_issued_at ?? 0));
  takeFromInbox(app, tx, row);
}

/** The transactions that pay us and spend an input of this one. */
function rivalsOf({ chain, tx }: Step, { txid, inputs }: Credit): Set<string> {
  const rivals = new Set<string>();
  for (const outpoint of inputs.slice(0, INPUTS_KEPT_MAX)) {
    const p = { outpoint, chain_key: chain.key, txid, limit: RIVALS_PER_INPUT_MAX };
    for (const rival of tx.all(payingTxsWithInput, p)) rivals.add(rival.txid);
  }
  return rivals;
}

/**
 * Removes the credits of a transaction that a conflict made impossible. Returns for each target what they paid and when
 * it was first seen; adds to `claimed` the targets whose invoice they counted for. A confirmed transaction is not
 * changed.
 */
function putAside({ chain, tx, credits }: Step, txid: string, claimed: Set<number>): Map<number, Part[]> {
  const p = { after: `${txid}:`, to: `${txid};`, chain_key: chain.key, limit: RIVAL_CREDITS_MAX };
  const rows = tx.all(creditsOfTransactionAfter, p).map((stored) => credits.edit(stored));
  const parts = new Map<number, Part[]>();
  if (rows.some((row) => row.block_hash !== null)) return parts;
  for (const row of rows) {
    if (!row.gone) credits.lose(row);
    if (row.claim === 'invoice') claimed.add(row.target_id);
    const mine = parts.get(row.target_id) ?? [];
    parts.set(
      row.target_id,
      [...mine, ...partsOf(row)].sort(([a], [b]) => a - b),
    );
  }
  // it returns when it is reported again
  if (rows.length < RIVAL_CREDITS_MAX) tx.run(deletePayingInputs, { txid, chain_key: chain.key });
  return parts;
}

/** Applies that a coin of ours was spent, or that another conflict key was used. */
export function seeSpend(
  { app, chain, tx, credits }: Pick<Step, 'app' | 'chain' | 'tx' | 'credits'>,
  spend: SpendSeen,
): void {
  if (isNonceKey(spend.outpoint)) {
    seeUse(chain, tx, spend);
    return;
  }
  const row = credits.find(spend.outpoint);
  if (!row) return;
  // an unconfirmed spend does not replace a confirmed one
  if (row.spent_block_hash !== null && spend.block === null) return;
  const { txid, fee = 0n } = spend;
  if (fee > 0n && isWatchOnly(app.directory.accountOf(row.account_id).key)) {
    tx.run(saveOutsideFee, { txid, chain_key: chain.key, account_id: row.account_id, units: fee });
  }
  row.spent_txid = txid;
  row.spent_block_hash = spend.block?.hash ?? null;
  row.spent_block_height = spend.block?.height ?? null;
}

function seeUse(chain: ChainRuntime, tx: Tx, { outpoint, txid, block, failed = false }: SpendSeen): void {
  const key = { conflict_key: outpoint, chain_key: chain.key };
  const known = tx.get(usedKey, key);
  const use = { ...key, txid, block_height: block?.height ?? null, block_hash: block?.hash ?? null, failed };
  // the mempool does not undo a spend in a block
  if (known && known.block_hash !== null && block === null) return;
  if (known?.txid === txid && known.block_hash === use.block_hash) return;
  tx.run(saveUsedKey, use);
}
