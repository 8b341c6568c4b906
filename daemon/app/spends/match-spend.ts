/**
 * Takes over one transaction that was made elsewhere with our keys: finds the withdrawals that it pays, and stores it
 * as a version of their payment. From then on it is settled by the same facts as any other version.
 *
 * Invariants. An output pays one withdrawal at most. A transaction that uses a conflict key of a known payment is a version
 * of that payment, and only such a transaction can pay a signed withdrawal, unless that is displaced (`displaced.ts`). A doubtful
 * withdrawal counts as paid, because the operator can pay again, but cannot take a payment back.
 */

import type { AssetId } from '../../domain/assets.ts';
import { message } from '../../domain/messages.ts';
import { shareOf } from '../../domain/money.ts';
import type { Decoded, SpendPlan } from '../../domain/spend.ts';
import { UNKNOWN, type VersionKind } from '../../domain/spend-state.ts';
import { isOpen, isSigned } from '../../domain/withdrawal.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { debitsOfTransaction } from '../../store/queries/debits.ts';
import { insertMatched } from '../../store/queries/match.ts';
import {
  heldWithdrawals,
  insertKey,
  insertPayout,
  insertSpend,
  type SpendRow,
  undecidedSpendsOfKey,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
  withdrawalsOfSpend,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { coinFrom, ownAddressOf, ownTarget } from '../addresses/watch.ts';
import { raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import { coinAt } from './coins.ts';
import { failedAlike, forgetUnknown, isDisplaced } from './displaced.ts';
import { recipients, setsOf } from './hidden-sets.ts';
import { applyEvent, dropUnsigned, spendOf, withdrawalOf } from './rows.ts';
import { settleStored } from './settle.ts';
import { writePlan } from './stored-plan.ts';

/** `raw`: without witnesses. `knownTo`: the newest withdrawal that it can pay. */
type Sight = { decoded: Decoded; raw: string; knownTo: number };

type Output = Decoded['outputs'][number];
type PaidPart = { row: WithdrawalRow; units: bigint };
type Case = {
  chain: ChainRuntime;
  decoded: Decoded;
  source: Source;
  /** The known payment whose conflict key it uses; the first one of several. */
  spend: SpendRow | null;
  /** All of them. */
  signed: SpendRow[];
  /** Payments that were planned with such a key, and never signed. */
  outrun: SpendRow[];
  paid: PaidPart[];
  /** Outputs to neither a withdrawal nor ourselves. */
  strange: Output[];
  /** Withdrawals to several recipients, of which it paid one or some, and nothing on the chain shows which. */
  unclear: WithdrawalRow[];
};
/** A transaction before its outputs are compared with withdrawals. */
type Known = Omit<Case, 'paid' | 'strange' | 'unclear'>;

/** The accounts that a transaction pays from. */
type AccountAsset = { account_id: number; asset: AssetId };
/** Our part of what a transaction spends. */
type Source = {
  accounts: [AccountAsset, ...AccountAsset[]];
  /** Its conflict keys that are ours. */
  keys: string[];
  /** Whether it spends nothing of others. */
  isWhole: boolean;
  /** Its network fee; 0 if it spends something of others. */
  fee: bigint;
  /** False if its execution failed, so that it paid nobody. */
  pays: boolean;
};

/**
 * `gone`: it no longer spends anything of ours, because the chain moved on. `again`: it is taken, and others that were unknown are to be
 * looked at again.
 */
export type Outcome = 'taken' | 'again' | 'gone';

/** Takes a transaction over. */
export function matchSpend(app: App, tx: Tx, chain: ChainRuntime, { decoded, raw, knownTo }: Sight): Outcome {
  const { txid } = decoded;
  if (tx.get(versionByTxid, { txid, chain_key: chain.key })) return 'taken';
  const found = examine(tx, chain, decoded, knownTo);
  if (!found) return 'gone';
  const kind = kindOf(found);
  // what it does not pay is planned anew
  for (const { id } of found.outrun) dropUnsigned(app, tx, id);
  const spendId = store(app, tx, found, kind, raw);
  const isElsewhere = found.paid.some(({ row }) => isSigned(row.state) && row.spend_id !== spendId);
  for (const { row, units } of found.paid) take(app, tx, row.id, { spendId, units, found });
  dropUnsigned(app, tx, spendId);
  for (const { id } of found.unclear) askAgain(app, tx, id);
  const { isWhole } = found.source;
  if (!movesWithin(tx, found) && (kind === UNKNOWN || found.strange.length > 0 || !isWhole)) alertOf(app, tx, found);
  else if (decoded.hidden !== undefined && found.paid.some(({ row }) => row.spend_id !== spendId))
    alertHidden(app, tx, found);
  else if (isElsewhere) alertElsewhere(app, tx, found);
  settleStored(app, tx, chain, txid, kind !== UNKNOWN && isWhole);
  const ids = found.paid.map(({ row }) => row.id);
  tx.afterCommit(() => {
    app.log.warn({ chain: chain.key, txid, kind, withdrawals: ids }, 'a transaction of the time after the backup');
    app.wake.chain(chain.key);
  });
  const accounts = [...new Set(found.source.accounts.map(({ account_id }) => account_id))];
  return accounts.filter((id) => forgetUnknown(tx, chain, id, txid)).length > 0 ? 'again' : 'taken';
}

/**
 * Whether it pays a withdrawal that is newer than all that it can know: to its recipient, and as much. The machine that was lost knew
 * nothing of that one, so another machine runs with the same wallet.
 */
export function paysNewer(reader: Reader, chain: ChainRuntime, { decoded, knownTo }: Sight): boolean {
  const known = examine(reader, chain, decoded, knownTo);
  const whole = examine(reader, chain, decoded, Number.MAX_SAFE_INTEGER);
  return whole?.paid.some(({ row }) => !known?.paid.some((one) => one.row.id === row.id)) === true;
}

function examine(tx: Reader, chain: ChainRuntime, decoded: Decoded, knownTo: number): Case | null {
  const source = coinsOf(tx, chain, decoded) ?? debitsOf(tx, chain, decoded);
  if (!source) return null;
  const open = spendsOf(tx, chain, source.keys);
  const hasSigned = ({ id }: SpendRow): boolean =>
    tx.all(versionsOf, { spend_id: id }).some(({ txid }) => txid !== null);
  const signed = open.filter(hasSigned);
  const outrun = open.filter((one) => !hasSigned(one));
  const of = { chain, decoded, source, spend: signed[0] ?? null, signed, outrun };
  if (decoded.hidden !== undefined) return examineHidden(tx, of, decoded.hidden, knownTo);
  const left = source.pays ? [...decoded.outputs] : [];
  const paid = candidates(tx, of, knownTo).flatMap((row): PaidPart[] => {
    const at = left.findIndex((output) => pays(chain, decoded, output, row));
    const [output] = at < 0 ? [] : left.splice(at, 1);
    return output ? [{ row, units: output.units }] : [];
  });
  const strange = left.filter((output) => !ownTarget(tx, chain.key, output));
  return { ...of, paid, strange, unclear: [] };
}

/**
 * The same where outputs to others show neither recipient nor amount. As many withdrawals whose amounts add up count as paid if no
 * others could have been: a payment can be made again, but not be taken back.
 */
function examineHidden(tx: Reader, part: Known, count: number, knownTo: number): Case {
  const { chain, decoded, source, signed } = part;
  const hidden = decoded.outputs.at(-1) as Output;
  const rows = candidates(tx, part, knownTo).filter(
    ({ asset, outpoint }) =>
      asset === hidden.asset && (outpoint === null || decoded.conflictKeys.includes(outpoint)) && source.isWhole,
  );
  const { found, isWhole } = setsOf(rows, decoded, count);
  const [first = [], ...others] = found;
  const isClear = isWhole && others.every((other) => recipients(other) === recipients(first));
  const isOwn = first.length > 0 && first.every(({ spend_id }) => signed.some(({ id }) => id === spend_id));
  const taken = isClear || isOwn ? first : [];
  const possible = isWhole ? found.flat() : rows.filter(({ units, sweep }) => !sweep && units <= hidden.units);
  const unclear = taken.length > 0 ? [] : unclearOf(tx, part.outrun, possible);
  const strange = taken.length > 0 ? [] : decoded.outputs.filter((output) => !ownTarget(tx, chain.key, output));
  const paid = taken.map((row): PaidPart => ({ row, units: row.sweep ? hidden.units : row.units }));
  return { ...part, paid, strange, unclear };
}

/** Those that it may have paid, the unsigned ones that it outran among them, by age. */
function unclearOf(tx: Reader, outrun: readonly SpendRow[], rows: readonly WithdrawalRow[]): WithdrawalRow[] {
  const planned = outrun.flatMap(({ id }) => tx.all(withdrawalsOfSpend, { spend_id: id }));
  return [...new Map([...rows, ...planned].map((row) => [row.id, row])).values()].sort((a, b) => a.id - b.id);
}

/** Our coins that it spends; null if none of them was spent by it. */
function coinsOf(tx: Reader, chain: ChainRuntime, { txid, conflictKeys, outputs }: Decoded): Source | null {
  const coins = conflictKeys
    .map((outpoint) => tx.get(creditByOutpoint, { outpoint, chain_key: chain.key }))
    .filter((row) => row !== undefined);
  const [first, ...others] = coins;
  if (!first || !coins.some(({ spent_txid }) => spent_txid === txid)) return null;
  const isWhole = coins.length === conflictKeys.length;
  return {
    accounts: [first, ...others],
    keys: coins.map(({ outpoint }) => outpoint),
    isWhole,
    fee: isWhole ? total(coins) - total(outputs) : 0n,
    pays: true,
  };
}

/** The debits of our addresses by it on an account chain; null if there are none. */
function debitsOf(tx: Reader, chain: ChainRuntime, { txid, conflictKeys }: Decoded): Source | null {
  const range = { from: `${txid}:`, to: `${txid};`, chain_key: chain.key };
  const debits = tx.all(debitsOfTransaction, range).filter(({ target_id }) => target_id !== null);
  const [first, ...others] = debits;
  if (!first) return null;
  const fees = debits.filter(({ kind }) => kind === 'fee');
  return {
    accounts: [first, ...others],
    keys: conflictKeys,
    isWhole: true,
    fee: total(fees),
    pays: debits.length > fees.length,
  };
}

const total = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((sum, { units }) => sum + units, 0n);

/** The open payments with a version that uses one of these keys. */
function spendsOf(tx: Reader, { key: chain_key }: ChainRuntime, keys: readonly string[]): SpendRow[] {
  const ids = keys.flatMap((conflict_key) => tx.all(undecidedSpendsOfKey, { conflict_key, chain_key }));
  return [...new Set(ids.map(({ id }) => id))].map((id) => spendOf(tx, id));
}

/**
 * The withdrawals that it may pay, the most likely first: those of the payments whose conflict keys it uses, then unsigned
 * ones by age, sweeps last, then displaced ones.
 */
function candidates(tx: Reader, { chain, source, signed }: Known, knownTo: number): WithdrawalRow[] {
  const [own = [], ...others] = signed.map(({ id }) => tx.all(withdrawalsOfSpend, { spend_id: id }));
  // it is a version of the first of these payments, and takes what it pays from the others
  own.push(...others.flat().filter(({ state }) => isSigned(state) && isOpen(state)));
  const accounts = new Map(
    source.accounts.map(({ account_id, asset }) => [`${account_id} ${asset}`, { account_id, asset }]),
  );
  const held = [...accounts.values()]
    .flatMap(({ account_id, asset }) => tx.all(heldWithdrawals, { account_id }).filter((row) => row.asset === asset))
    .filter(({ id }) => id <= knownTo && !own.some((row) => row.id === id))
    .sort((a, b) => Number(a.sweep) - Number(b.sweep) || a.id - b.id);
  const waiting = held.filter(({ state }) => state === 'requested' || state === 'approved');
  return [...own, ...waiting, ...held.filter((row) => isDisplaced(tx, chain, row))];
}

/** Whether an output pays a withdrawal: its address, and its units unless it is a sweep. */
function pays(chain: ChainRuntime, decoded: Decoded, output: Output, row: WithdrawalRow): boolean {
  if (row.outpoint !== null && !decoded.conflictKeys.includes(row.outpoint)) return false;
  const units = row.sweep ? decoded.outputs.length === 1 : output.units === row.units;
  return units && output.asset === row.asset && chain.spending.pays(output, row.address);
}

function kindOf({ spend, paid, strange }: Case): VersionKind {
  if (paid.length > 0) return 'pay';
  if (!spend || strange.length > 0) return UNKNOWN;
  return spend.purpose === 'pay' ? 'cancel' : 'pay';
}

/**
 * Whether every output is to the account that it spends from, as in collecting, funding with gas, canceling, and raising the fee
 * of a deposit. So nobody else got anything, executed or not.
 */
function movesWithin(tx: Reader, { chain, decoded, source }: Case): boolean {
  const [{ account_id }, ...others] = source.accounts;
  return (
    source.isWhole &&
    decoded.hidden === undefined &&
    others.every((other) => other.account_id === account_id) &&
    decoded.outputs.every((output) => ownTarget(tx, chain.key, output)?.account_id === account_id)
  );
}

/** Stores it as a version of its payment, or of a new one. Returns the version's id. */
function store(app: App, tx: Tx, found: Case, kind: VersionKind, raw: string): number {
  const { chain, decoded, source, paid } = found;
  const [{ account_id, asset }] = source.accounts;
  // a withdrawal leaves its unsigned plan before it gets another payment
  for (const { row } of paid) {
    const before = withdrawalOf(tx, row.id).spend_id;
    if (before !== null && before !== found.spend?.id) dropUnsigned(app, tx, before);
  }
  const common = { chain_key: chain.key, created_at: app.now() };
  const spending = chain.spending;
  const plan = planOf(app, tx, found, raw);
  const purpose = kind === UNKNOWN ? UNKNOWN : 'pay';
  const conflict_key = spending.preferredKey(plan);
  const known = kind === UNKNOWN ? undefined : found.spend?.id;
  const spendId =
    known ??
    tx.run(insertSpend, { ...common, account_id, asset, purpose, subject: null, conflict_key, forwards: null }).id;
  const { id } = tx.run(insertMatched, {
    ...common,
    spend_id: spendId,
    kind,
    plan: writePlan(plan),
    txid: decoded.txid,
    raw: kind !== UNKNOWN && spending.isWhole ? raw : null,
    fee: source.fee,
    size: spending.sizeOf(plan),
  });
  for (const conflict_key of source.keys) tx.run(insertKey, { conflict_key, chain_key: chain.key, version_id: id });
  for (const { row, units } of paid) {
    tx.run(insertPayout, { version_id: id, withdrawal_id: row.id, units });
  }
  return spendId;
}

/** The plan with which this program would have made it. */
function planOf(app: App, tx: Tx, { chain, source }: Case, raw: string): SpendPlan {
  const tip = tipHeightOf(tx, chain);
  const [{ account_id }] = source.accounts;
  const { accountNo } = app.directory.business(app.directory.businessOfAccount(account_id));
  return chain.spending.recover(raw, {
    accountNo,
    fee: source.fee,
    coin(outpoint) {
      const row = coinAt(tx, chain, outpoint);
      return row ? coinFrom(row, tip) : null;
    },
    positionOf(own) {
      const target = ownTarget(tx, chain.key, own);
      return target ? ownAddressOf(target) : null;
    },
    changeIndex(output) {
      const target = ownTarget(tx, chain.key, output);
      return target?.branch === 1 ? target.idx : null;
    },
  });
}

/** Marks a withdrawal paid by it as approved and signed. */
function take(
  app: App,
  tx: Tx,
  id: number,
  { spendId, units, found }: { spendId: number; units: bigint; found: Case },
): void {
  let row = withdrawalOf(tx, id);
  if (row.state === 'requested') {
    row = applyEvent(app, tx, row, 'approve', {
      approved_by: 'restore',
      approved_at: app.now(),
      problem: null,
    });
  }
  const isElsewhere = isSigned(row.state) && row.spend_id !== spendId;
  if (row.state !== 'approved' && !isElsewhere) return;
  const fee = shareOf(found.source.fee, found.paid.length);
  const signed = { spend_id: spendId, fee, units, cancel: false, deadline_at: null, problem: null };
  applyEvent(app, tx, row, 'sign', signed);
}

/** Has the operator decide once more about an approved withdrawal that it may have paid. */
function askAgain(app: App, tx: Tx, id: number): void {
  const { state, spend_id } = withdrawalOf(tx, id);
  if (state !== 'approved') return;
  if (spend_id !== null) dropUnsigned(app, tx, spend_id);
  const asked = { approved_by: null, approved_at: null, approval: null, deadline_at: null };
  applyEvent(app, tx, withdrawalOf(tx, id), 'return', { ...asked, problem: message('wait.may_be_paid') });
}

/** The operator can ask the recipient, which the chain does not show. */
function alertHidden(app: App, tx: Tx, { chain, decoded, paid }: Case): void {
  const text = message('restore.hidden_recipient', { tx: decoded.txid, ids: idsOf(paid) });
  raiseIn(app, tx, chain.adapter.network, 'restore.hidden_recipient', `${chain.key} ${decoded.txid}`, text);
}

/** The payment that was signed here can never confirm. */
function alertElsewhere(app: App, tx: Tx, { chain, decoded, paid }: Case): void {
  const text = message('restore.paid_elsewhere', { tx: decoded.txid, ids: idsOf(paid) });
  raiseIn(app, tx, chain.adapter.network, 'restore.unknown_spend', `${chain.key} ${decoded.txid}`, text);
}

function alertOf(app: App, tx: Tx, { chain, decoded, source, paid, strange, unclear }: Case): void {
  const failed = failedAlike(tx, chain, app.directory.businessOfAccount(source.accounts[0].account_id), strange);
  const also =
    unclear.length > 0
      ? message('restore.also_unclear', { ids: unclear.map(({ id }) => id).join(', ') })
      : paid.length > 0
        ? message('restore.also_others', { ids: idsOf(paid) })
        : failed.length > 0
          ? message('restore.also_failed', { ids: failed.join(', ') })
          : null;
  const named = { tx: decoded.txid };
  const text =
    also === null ? message('restore.unknown_spend', named) : message('restore.unknown_spend_and', { ...named, also });
  raiseIn(app, tx, chain.adapter.network, 'restore.unknown_spend', `${chain.key} ${decoded.txid}`, text);
}

const idsOf = (paid: Case['paid']): string => paid.map(({ row }) => row.id).join(', ');
