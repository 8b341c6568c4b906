/** Statements that list scripts for a source that must be told which to watch. Each reads a bounded page. */
import { sql } from 'kysely';
import { TANKS_MAX } from '../../domain/evm.ts';
import { NO, page, SOME, sqlite, statement, upTo, YES } from '../statement.ts';
import { invoiceOfTarget, readyTargets } from './ready.ts';

const zero = sql.lit(0);

/** Scripts of payments with a future deadline, in its order. The cursor is the last row of the page before. */
export const scriptsOfOpenPayments = statement(
  (p: { chain_key: string; check_at: number; invoice_id: number; limit: number }) =>
    sqlite
      .selectFrom('payment')
      .innerJoin('target', 'target.id', 'payment.target_id')
      .select(['target.id', 'target.script', 'payment.check_at', 'payment.invoice_id'])
      .where('payment.chain_key', '=', p.chain_key)
      .where('payment.check_at', 'is not', null)
      .where(sql<boolean>`(payment.check_at, payment.invoice_id) > (${p.check_at}, ${p.invoice_id})`)
      .orderBy('payment.check_at')
      .orderBy('payment.invoice_id')
      .limit(p.limit),
);

/** Scripts of former payment addresses of unpaid invoices, in pages by the script's id. */
export const scriptsOfFormerTargets = statement((p: { chain_key: string; id: number; limit: number }) =>
  sqlite
    .selectFrom('former_target')
    .innerJoin('target', 'target.id', 'former_target.target_id')
    .select(['target.id', 'target.script', 'former_target.target_id as cursor'])
    .where('former_target.chain_key', '=', p.chain_key)
    .where('former_target.open', '=', YES)
    .where('former_target.target_id', '>', p.id)
    .orderBy('former_target.target_id')
    .limit(p.limit),
);

/** Scripts of credits that blocks can still change, in pages by the credit's id. */
export const scriptsOfUnsettledCredits = statement((p: { chain_key: string; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .select(['target.id', 'target.script', 'credit.id as cursor'])
    .where('credit.chain_key', '=', p.chain_key)
    .where('credit.settled', '=', NO)
    .where('credit.gone', '=', NO)
    .where('credit.id', '>', p.id)
    .orderBy('credit.id')
    .limit(p.limit),
);

/** Scripts of coins whose spend is unconfirmed, in pages by the credit's id. */
export const scriptsOfPendingSpends = statement((p: { chain_key: string; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .select(['target.id', 'target.script', 'credit.id as cursor'])
    .where('credit.chain_key', '=', p.chain_key)
    .where('credit.spent_txid', 'is not', null)
    .where('credit.spent_block_hash', 'is', null)
    .where('credit.id', '>', p.id)
    .orderBy('credit.id')
    .limit(p.limit),
);

/** The scripts of an account's tanks, the former ones and those that were skipped included. */
export const scriptsOfTanks = statement((p: { account_id: number }) =>
  sqlite
    .selectFrom('target')
    .select(['id', 'script'])
    .where('account_id', '=', p.account_id)
    .where('branch', '=', sql.lit(1))
    .where('idx', '<', sql.lit(TANKS_MAX)),
);

/** The addresses that open payments of ours send gas to. */
export const fundedAddresses = upTo('spend', ['chain_key'], { state: 'open', subject: SOME, purpose: 'fund' }, [
  'subject',
]);

/** Scripts of the addresses of an account that are given out next. */
export const scriptsGivenNext = statement((p: { account_id: number; limit: number }) =>
  readyTargets(p.account_id).select(['id', 'script']).orderBy('idx').limit(p.limit),
);

/** The newest scripts of a chain without the unused ones. */
export const scriptsUsedLately = statement((p: { chain_key: string; limit: number }) =>
  sqlite
    .selectFrom('target')
    .select(['id', 'script'])
    .where('chain_key', '=', p.chain_key)
    .where((eb) => eb.or([eb(invoiceOfTarget, 'is not', null), eb('branch', '=', 1)]))
    .where('id', '>', zero)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/** All scripts of a chain, in pages by id. */
export const scriptsAbove = page('target', ['chain_key'], {}, ['id', 'script']);
