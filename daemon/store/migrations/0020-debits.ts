/**
 * Stores each debit of an account as a row (paid, fee, moved), and the transactions that used a conflict key that is no
 * coin. See `../schema.ts` for the columns. The debits of earlier spends are derived from the coins and the signed
 * transactions, with the times and rates that were kept.
 *
 * `sum_units` and `difference` calculate with decimal texts (`../migrations.ts`), because amounts in wei exceed
 * SQLite's integers.
 */
export const DEBITS: readonly string[] = [
  `CREATE TABLE debit (
    id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, ref TEXT NOT NULL, txid TEXT NOT NULL, account_id INTEGER NOT NULL,
    target_id INTEGER, asset TEXT NOT NULL, kind TEXT NOT NULL, units TEXT NOT NULL, block_height INTEGER,
    block_hash TEXT, at INTEGER, usd_rate TEXT, UNIQUE (ref, chain_key)) STRICT`,
  `WITH
    spender AS MATERIALIZED (
      SELECT spent_txid AS txid, chain_key, account_id, asset, sum_units(units) AS taken,
        max(spent_block_height) AS block_height, max(spent_block_hash) AS block_hash,
        iif(max(spent_block_hash) IS NULL, NULL, max(first_seen_at)) AS seen_at
      FROM credit WHERE spent_txid IS NOT NULL AND gone = 0 GROUP BY spent_txid, chain_key, account_id, asset),
    leaving AS MATERIALIZED (
      SELECT spender.*,
        coalesce((SELECT sum_units(credit.units) FROM credit JOIN target ON target.id = credit.target_id
          WHERE credit.outpoint > spender.txid || ':' AND credit.outpoint < spender.txid || ';'
            AND credit.chain_key = spender.chain_key AND credit.account_id = spender.account_id
            AND credit.asset = spender.asset AND credit.gone = 0 AND target.branch = 1), '0') AS moved,
        coalesce((SELECT spend_version.fee FROM spend_version JOIN spend ON spend.id = spend_version.spend_id
          WHERE spend_version.txid = spender.txid AND spend_version.chain_key = spender.chain_key
            AND spend.account_id = spender.account_id), '0') AS fee,
        coalesce(booked_spend.at, seen_at) AS at, booked_spend.usd_rate
      FROM spender LEFT JOIN booked_spend
        ON booked_spend.txid = spender.txid AND booked_spend.chain_key = spender.chain_key),
    entry AS (
      SELECT *, 'paid' AS kind, difference(taken, moved, fee) AS units FROM leaving
      UNION ALL SELECT *, 'fee', fee FROM leaving
      UNION ALL SELECT *, 'moved', moved FROM leaving)
  INSERT INTO debit (chain_key, ref, txid, account_id, asset, kind, units, block_height, block_hash, at, usd_rate)
    SELECT chain_key, txid || ':' || kind || ':' || account_id || ':' || asset, txid, account_id, asset, kind, units,
      block_height, block_hash, at, usd_rate
    FROM entry WHERE units <> '0' ORDER BY at, txid`,
  `CREATE INDEX debit_block ON debit (block_hash, id) WHERE target_id IS NOT NULL AND block_hash IS NOT NULL`,
  `CREATE INDEX debit_pool ON debit (chain_key, id) WHERE target_id IS NOT NULL AND block_hash IS NULL`,
  'DROP TABLE booked_spend',
  `CREATE TABLE used_key (
    conflict_key TEXT NOT NULL, chain_key TEXT NOT NULL, txid TEXT NOT NULL, block_height INTEGER, block_hash TEXT,
    PRIMARY KEY (conflict_key, chain_key)) STRICT, WITHOUT ROWID`,
  'CREATE INDEX used_key_block ON used_key (block_hash, conflict_key) WHERE block_hash IS NOT NULL',
  'CREATE INDEX used_key_pool ON used_key (chain_key, conflict_key) WHERE block_hash IS NULL',
];
