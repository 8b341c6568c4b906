/**
 * The e-mail about each closed day. `state` is that of the sending; it is stored before the first byte goes out, so that a message whose
 * end is not known is not sent again. The texts are there only while it may still be sent.
 */
export const CLOSING_MAIL: readonly string[] = [
  `CREATE TABLE closing_mail (
    closing_id INTEGER PRIMARY KEY REFERENCES closing (id),
    recipients TEXT NOT NULL,
    subject TEXT,
    body TEXT,
    file TEXT,
    state TEXT NOT NULL,
    problem TEXT,
    tries INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    next_at INTEGER) STRICT`,
  'CREATE INDEX closing_mail_next ON closing_mail (next_at) WHERE next_at IS NOT NULL',
];
