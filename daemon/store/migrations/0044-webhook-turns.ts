/** Whose turn a notification is: by business and host, live ones before those of the sandbox. */
export const WEBHOOK_TURNS: readonly string[] = [
  "ALTER TABLE webhook ADD COLUMN host TEXT NOT NULL DEFAULT ''",
  'ALTER TABLE webhook ADD COLUMN business_id INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE webhook ADD COLUMN live INTEGER NOT NULL DEFAULT 1',
  `CREATE INDEX webhook_turn ON webhook (lane, live, business_id, host, id) WHERE state = 'waiting'`,
  'DROP INDEX webhook_waiting',
];
