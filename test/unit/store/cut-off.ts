/** `node cut-off.ts DATA_DIR N`: opens the store and kills itself after the Nth statement of its migrations. */
import Database from 'better-sqlite3';
import { MIGRATIONS } from '../../../daemon/store/migrations.ts';
import { Store } from '../../../daemon/store/store.ts';

const [dataDir, after] = process.argv.slice(2);
if (dataDir === undefined || after === undefined) throw new Error('usage: cut-off.ts DATA_DIR N');
const statements = new Set(MIGRATIONS.flatMap(([, each]) => each));
let left = Number(after);
const { exec } = Database.prototype;
Database.prototype.exec = function (sql) {
  exec.call(this, sql);
  if (this.name !== ':memory:' && statements.has(sql) && --left === 0) process.kill(process.pid, 'SIGKILL');
  return this;
};
await Store.open(dataDir);
