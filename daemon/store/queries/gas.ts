/** Statements about plans to collect deposit addresses. */
import { sql } from 'kysely';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, sqlite, statement, update } from '../statement.ts';

export type GasPlanRow = Row<'gas_plan'>;

export const gasPlanOf = find('gas_plan', 'account_id');

export const saveGasPlan = insert('gas_plan', columnsBut('gas_plan'), ['account_id']);

export const updateGasPlan = update('gas_plan', ['used', 'state', 'problem'], 'account_id');

export const haltGasPlan = update('gas_plan', ['halted', 'halted_by'], 'account_id');

/** Changes nothing unless the tank before it is the present one. */
export const setTank = statement((p: { id: number; tank: number }) =>
  sqlite
    .updateTable('account')
    .set({ tank: p.tank, next_change: sql<number>`max(next_change, ${p.tank} + 1)` })
    .where('id', '=', p.id)
    .where('tank', '=', sql<number>`${p.tank} - 1`),
);

export const openGasPlans = statement((p: { chain_key: string }) =>
  sqlite
    .selectFrom('gas_plan')
    .selectAll()
    .where('chain_key', '=', p.chain_key)
    .where('state', '=', sql.lit('open'))
    .orderBy('account_id'),
);
