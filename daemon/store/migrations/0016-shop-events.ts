/** Signed events for shops, kept until they are delivered. See `../schema.ts` for the columns. */
export const SHOP_EVENTS: readonly string[] = [
  `CREATE TABLE event_endpoint (
    id INTEGER PRIMARY KEY, business_id INTEGER NOT NULL, url TEXT NOT NULL, types TEXT NOT NULL, secret TEXT NOT NULL,
    former_secret TEXT, former_until INTEGER, failing_since INTEGER, disabled_at INTEGER, disabled_why TEXT,
    created_at INTEGER NOT NULL, removed_at INTEGER) STRICT`,
  `CREATE TABLE shop_event (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL, type TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT`,
  'CREATE INDEX shop_event_created ON shop_event (created_at)',
  `CREATE TABLE event_delivery (
    id INTEGER PRIMARY KEY, event_id INTEGER NOT NULL, endpoint_id INTEGER NOT NULL, subject TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL, due_at INTEGER NOT NULL, status INTEGER, error TEXT,
    attempted_at INTEGER) STRICT`,
  `CREATE INDEX event_delivery_due ON event_delivery (endpoint_id, due_at) WHERE state = 'waiting'`,
  `CREATE INDEX event_delivery_order ON event_delivery (endpoint_id, subject, id) WHERE state = 'waiting'`,
  'CREATE INDEX event_delivery_event ON event_delivery (event_id)',
];
