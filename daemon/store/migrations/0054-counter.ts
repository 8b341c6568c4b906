/**
 * The counter's items, and what was sold at it. Prices, tips and values are of the invoice's currency, 1e-8. VAT rates are hundredths of
 * a percent, included in the prices; null: none was given. `request`: the till's own id of a sale, so that one that is sent again is
 * not made again. A sale and a refund belong to one closing at most.
 */
export const COUNTER: readonly string[] = [
  `CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    business_id INTEGER NOT NULL REFERENCES business (id),
    name TEXT NOT NULL,
    category TEXT NOT NULL,
    price TEXT NOT NULL,
    vat INTEGER,
    sold_out INTEGER NOT NULL,
    removed_at INTEGER
  ) STRICT`,
  'CREATE INDEX item_of ON item (business_id, id) WHERE removed_at IS NULL',
  `CREATE TABLE closing (
    id INTEGER PRIMARY KEY,
    business_id INTEGER NOT NULL REFERENCES business (id),
    number INTEGER NOT NULL,
    report TEXT NOT NULL,
    closed_at INTEGER NOT NULL,
    UNIQUE (business_id, number)
  ) STRICT`,
  `CREATE TABLE sale (
    invoice_id INTEGER PRIMARY KEY REFERENCES invoice (id),
    business_id INTEGER NOT NULL REFERENCES business (id),
    request TEXT NOT NULL,
    tip TEXT NOT NULL,
    closing_id INTEGER REFERENCES closing (id),
    UNIQUE (business_id, request)
  ) STRICT`,
  'CREATE INDEX sale_open ON sale (business_id, invoice_id) WHERE closing_id IS NULL',
  `CREATE TABLE sale_line (
    id INTEGER PRIMARY KEY,
    invoice_id INTEGER NOT NULL REFERENCES invoice (id),
    item_id INTEGER REFERENCES item (id),
    name TEXT NOT NULL,
    price TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    vat INTEGER
  ) STRICT`,
  'CREATE INDEX sale_line_of ON sale_line (invoice_id)',
  `CREATE TABLE closed_refund (
    withdrawal_id INTEGER PRIMARY KEY REFERENCES withdrawal (id),
    closing_id INTEGER NOT NULL REFERENCES closing (id)
  ) STRICT`,
];
