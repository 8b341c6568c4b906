/** Statements about plans that send the takings on. */
import { sql } from 'kysely';
import type { AssetId } from '../../domain/assets.ts';
import type { Row } from '../schema.ts';
import { columnsBut, find, inOrder, insert, NO, remove, sqlite, statement, update, word, YES } from '../statement.ts';

export type ForwardPlanRow = Row<'forward_plan'>;

export const insertForwardPlan = insert('forward_plan', columnsBut('forward_plan', 'id'));

export const forwardPlanById = find('forward_plan', 'id');

export const forwardPlanOf = find('forward_plan', 'business_id', 'asset');

export const dropForwardPlan = remove('forward_plan', 'id');

export const noteForward = update(
  'forward_plan',
  ['next_at', 'withdrawal_id', 'problem', 'run_at', 'left_out', 'key_index', 'cheap_since'],
  'id',
);

export const forwardPlanOfPayment = find('forward_plan', 'chain_key', 'withdrawal_id');

export const forwardPlansOf = statement((p: { business_id: number }) =>
  sqlite.selectFrom('forward_plan').selectAll().where('business_id', '=', p.business_id).orderBy('asset'),
);

export const forwardPlansOn = inOrder('forward_plan', ['chain_key']);

/** The payments of plans in one asset since a time. */
export const forwardedSince = statement((p: { business_id: number; asset: AssetId; since: number }) =>
  sqlite
    .selectFrom('withdrawal')
    .select(['spend_id', 'fee_held', 'state'])
    .where('business_id', '=', p.business_id)
    .where('approved_by', '=', word('forward'))
    .where('approved_at', '>', p.since)
    .where('asset', '=', p.asset),
);

/** The gas that deposit addresses of an account got to send a token on, since a time. */
export const forwardGasSince = statement((p: { account_id: number; asset: AssetId; since: number }) =>
  sqlite
    .selectFrom('spend')
    .select(['id', 'state'])
    .where('account_id', '=', p.account_id)
    .where('created_at', '>', p.since)
    .where('forwards', 'is not', null)
    .where('forwards', '=', p.asset),
);

/** The deposits, or parts of them, that a business has not decided about and whose money the balance has, or had until it was spent. */
export const undecidedIn = statement((p: { business_id: number; asset: AssetId }) =>
  sqlite
    .selectFrom('inbox')
    .innerJoin('credit', 'credit.id', 'inbox.credit_id')
    .select(['inbox.units as part', 'credit.units'])
    .where('inbox.business_id', '=', p.business_id)
    .where('inbox.state', '=', word('open'))
    .where('credit.asset', '=', p.asset)
    .where('credit.gone', '=', NO)
    .where((eb) => eb.or([eb('credit.counted', '=', YES), eb('credit.spent_txid', 'is not', null)])),
);

/** The amounts that refund links promise, and that no withdrawal reserves yet. Null: of a deposit in the inbox. */
export const promisedIn = statement((p: { business_id: number; asset: AssetId; now: number }) =>
  sqlite
    .selectFrom('refund_link')
    .select('units')
    .where('business_id', '=', p.business_id)
    .where('asset', '=', p.asset)
    .where('withdrawal_id', 'is', null)
    .where((eb) =>
      eb.or([
        eb('state', '=', sql.lit('given')),
        eb.and([eb('state', '=', sql.lit('open')), eb('ends_at', '>', p.now)]),
      ]),
    ),
);
