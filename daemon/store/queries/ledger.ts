/** Statements that read all there is, in pages: for proofs and exports. */
import { sqlite, statement } from '../statement.ts';

/** Credits of every chain in the order in which they were stored. */
export const creditsAbove = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('credit').selectAll().where('id', '>', p.id).orderBy('id').limit(p.limit),
);

/** Withdrawals in the order in which they were made. */
export const withdrawalsAbove = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('withdrawal').selectAll().where('id', '>', p.id).orderBy('id').limit(p.limit),
);
