/** Statements about runs of receiving addresses without a payment. */
import { sql } from 'kysely';
import { NO, sqlite, statement } from '../statement.ts';
import { invoiceOfTarget, readyTargets } from './ready.ts';

type Range = { account_id: number; from: number; below: number };

const receivingIn = ({ account_id, from, below }: Range) =>
  sqlite
    .selectFrom('target')
    .select('idx')
    .where('account_id', '=', account_id)
    .where('branch', '=', sql.lit(0))
    .where('idx', '>=', sql.lit(0))
    .where('idx', '>=', from)
    .where('idx', '<', below);

/** The paid indices of an account in a range, ascending, without those never given out: a gap is rather too long. */
export const paidIndices = statement((p: Range) =>
  receivingIn(p)
    .where(invoiceOfTarget, 'is not', null)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('credit').select('credit.id').whereRef('target_id', '=', 'target.id').where('gone', '=', NO)),
    )
    .orderBy('idx'),
);

/** Returns a row if an account has addresses in a range of indices. */
export const derivedIn = statement((p: Range) => receivingIn(p).limit(1));

/** The next index that is given out; none: no address is ready. */
export const nextReadyIndex = statement((p: { account_id: number }) =>
  readyTargets(p.account_id).select('idx').orderBy('idx').limit(1),
);
