/** Plans that send the takings of a business on to one address: one for each of its coins. */
export const FORWARDING: readonly string[] = [
  // AUTOINCREMENT: what was begun for a plan that is gone never takes another for it
  `CREATE TABLE forward_plan (
    id INTEGER PRIMARY KEY AUTOINCREMENT, business_id INTEGER NOT NULL, account_id INTEGER NOT NULL, chain_key TEXT NOT NULL,
    asset TEXT NOT NULL, address TEXT NOT NULL, keep TEXT NOT NULL, least TEXT NOT NULL, every TEXT NOT NULL,
    minute INTEGER NOT NULL, weekday INTEGER, fee_share_ppm INTEGER, fee_max TEXT, fee_day TEXT NOT NULL,
    next_at INTEGER NOT NULL, withdrawal_id INTEGER, problem TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, UNIQUE (business_id, asset)) STRICT`,
  'CREATE INDEX forward_plan_chain ON forward_plan (chain_key)',
  `CREATE INDEX withdrawal_forwarded ON withdrawal (business_id, approved_at) WHERE approved_by = 'forward'`,
  `CREATE INDEX inbox_undecided ON inbox (business_id) WHERE state = 'open'`,
  'CREATE INDEX refund_link_promised ON refund_link (business_id, asset) WHERE withdrawal_id IS NULL',
];
