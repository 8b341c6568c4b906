/**
 * Withdrawals that were signed here and that another transaction displaced: it used their coin or nonce, and does not pay them. Where
 * another machine with this wallet made it, that machine may have paid them by a further transaction, with another coin or nonce.
 *
 * Invariant: what is displaced counts as paid only by a transaction of exactly its amount that pays nothing else that is known, and is
 * never sent again from then on. So there are as many transactions to a recipient as withdrawals that count as paid. Once a block has
 * what was signed here after all, and not that transaction, it counts instead.
 */

import { message } from '../../domain/messages.ts';
import { lookalikeKeyOf } from '../../domain/policy.ts';
import type { DecodedOutput } from '../../domain/spend.ts';
import { seenOf, UNKNOWN } from '../../domain/spend-state.ts';
import { isSigned } from '../../domain/withdrawal.ts';
import { dropMatched } from '../../store/queries/match.ts';
import {
  dropSpend,
  failedWithdrawalsTo,
  heldWithdrawals,
  openSpends,
  payoutsOf,
  versionByTxid,
  versionsOf,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { type PaymentFacts, versionFacts } from './facts.ts';
import { dropRows, saveWithdrawal, withdrawalOf } from './rows.ts';

/** A sweep has no exact amount, by which its payment could be known. */
export function isDisplaced(
  reader: Reader,
  chain: ChainRuntime,
  { id, state, sweep, spend_id }: WithdrawalRow,
): boolean {
  if (spend_id === null || sweep || !isSigned(state)) return false;
  const pays = (version_id: number): boolean =>
    reader.all(payoutsOf, { version_id }).some(({ withdrawal_id }) => withdrawal_id === id);
  const isOther = (txid: string): boolean => {
    const user = reader.get(versionByTxid, { txid, chain_key: chain.key });
    return user !== undefined && !pays(user.id);
  };
  const paying = versionFacts(reader, chain, spend_id).filter(({ version }) => pays(version.id));
  return paying.length > 0 && paying.every(({ users }) => users.some(isOther));
}

/**
 * Gives withdrawals that another payment counted for back to the one that a block shows, unless that other one completed them: then the
 * operator is told that both paid. Returns whether there was one.
 */
export function takeBack(app: App, tx: Tx, chain: ChainRuntime, { spend, signed, withdrawals }: PaymentFacts): boolean {
  const payer = seenOf(signed);
  if (!payer?.depth) return false;
  const { txid } = payer.version;
  const own = new Set(withdrawals.map(({ id }) => id));
  const away = payer.pays.flatMap(({ withdrawal_id: id }) => (own.has(id) ? [] : [withdrawalOf(tx, id)]));
  for (const row of away.filter(({ state }) => state === 'completed')) {
    const text = message('restore.paid_twice', { tx: `${txid}`, other: `${row.txid}`, id: row.id });
    raiseIn(app, tx, chain.adapter.network, 'restore.unknown_spend', `${chain.key} ${txid}`, text);
  }
  const back = away.filter(({ state }) => isSigned(state) && state !== 'completed');
  for (const row of back) saveWithdrawal(app, tx, { ...row, spend_id: spend.id }, row.state);
  return back.length > 0;
}

/** The failed withdrawals of a business that outputs may pay, where they show their recipients. */
export function failedAlike(
  reader: Reader,
  chain: ChainRuntime,
  business_id: number,
  outputs: readonly DecodedOutput[],
): number[] {
  const alike = outputs.flatMap((output) => {
    if (output.address === null) return [];
    const rows = reader.all(failedWithdrawalsTo, { business_id, lookalike_key: lookalikeKeyOf(output.address) });
    return rows.filter(
      ({ asset, units, address }) =>
        asset === output.asset && units === output.units && chain.spending.pays(output, address),
    );
  });
  return [...new Set(alike.map(({ id }) => id))];
}

/** By chain: unknown transactions that were compared again after another one, as "one other". */
const compared = new WeakMap<ChainRuntime, Set<string>>();

/**
 * Forgets the unknown transactions of an account that were checked before `txid` displaced something they may have paid, so that they
 * are checked again, each once after each. Returns whether there was one.
 */
export function forgetUnknown(tx: Tx, chain: ChainRuntime, account_id: number, txid: string): boolean {
  const rows = tx.all(heldWithdrawals, { account_id }).filter((row) => isDisplaced(tx, chain, row));
  if (rows.length === 0) return false;
  const since = Math.min(...rows.map(({ created_at }) => created_at));
  const done = compared.get(chain) ?? new Set();
  compared.set(chain, done);
  let isAny = false;
  for (const spend of tx.all(openSpends, { chain_key: chain.key })) {
    if (spend.purpose !== UNKNOWN || spend.account_id !== account_id || spend.created_at < since) continue;
    const versions = tx.all(versionsOf, { spend_id: spend.id });
    const pairs = versions.map((version) => `${version.txid} ${txid}`);
    if (versions.some((version) => version.txid === txid) || pairs.every((pair) => done.has(pair))) continue;
    for (const version of versions) dropRows(tx, version, dropMatched);
    tx.run(dropSpend, { id: spend.id });
    for (const pair of pairs) done.add(pair);
    isAny = true;
  }
  return isAny;
}
