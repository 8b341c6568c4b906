/**
 * How long it takes to back a data directory up and to bring it back, and how large the file is. The work of the daemon's
 * own method and of the command line, each once: the disk decides. Prints seconds and MB.
 */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';

const { dist, dataDir, folder } = JSON.parse(process.argv[2] ?? '{}');
const PASSPHRASE = 'a passphrase of the benchmark';
const BYTES_PER_MB = 1_000_000;

const load = (path) => import(pathToFileURL(join(dist, '..', 'daemon', path)).href);
const { makeBackup } = await load('app/backup/make.ts');
const { restoreBackup } = await load('app/backup/restore.ts');
const { openByVault } = await load('wallet/backup-key.ts');
const { createWallet } = await load('wallet/wallet.ts');

async function timed(work) {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

/** The seeded addresses have no keys and any number; a backup wants them without a gap. */
function renumber() {
  const db = new Database(join(dataDir, 'countinghouse.db'));
  const accounts = db.prepare('SELECT account_id AS id, COUNT(*) AS n FROM target GROUP BY account_id');
  for (const { id, n } of accounts.all()) {
    const kept = db.prepare('SELECT next_index FROM account WHERE id = ?').pluck().get(id);
    if (kept === n) continue;
    db.prepare(
      `UPDATE target SET idx = seeded.idx FROM (
         SELECT id, ? + ROW_NUMBER() OVER (ORDER BY idx) - 1 AS idx FROM target WHERE account_id = ? AND idx >= ?
       ) AS seeded WHERE seeded.id = target.id`,
    ).run(kept, id, kept);
    db.prepare('UPDATE account SET next_index = ? WHERE id = ?').run(n, id);
  }
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

const vault = join(dataDir, 'vault');
const file = join(folder, 'bench.backup');
const restored = join(folder, 'restored');
await createWallet(vault, { passphrase: PASSPHRASE });
renumber();
const now = Date.now();
const makeSeconds = await timed(() => makeBackup({ dataDir, file, release: 'bench', now }));
const megabytes = statSync(file).size / BYTES_PER_MB;
const databaseMegabytes = statSync(join(dataDir, 'countinghouse.db')).size / BYTES_PER_MB;
const opened = await openByVault(vault, PASSPHRASE);
const restoreSeconds = await timed(() => restoreBackup(file, opened.secret, restored, now));
opened.close();
for (const path of [file, restored]) rmSync(path, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify({ makeSeconds, restoreSeconds, megabytes, databaseMegabytes })}\n`);
