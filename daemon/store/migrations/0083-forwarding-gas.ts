/** The token of a forwarding plan that a deposit address got gas for; null: no plan forwards for it. */
export const FORWARDING_GAS: readonly string[] = [
  'ALTER TABLE spend ADD COLUMN forwards TEXT',
  'CREATE INDEX spend_forwards ON spend (account_id, created_at) WHERE forwards IS NOT NULL',
];
