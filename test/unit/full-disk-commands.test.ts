/** A backup, a restore and `maintenance --compact` on a disk without room: the data stay as they are, and the reason is told. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeBackup } from '../../daemon/app/backup/make.ts';
import { Store } from '../../daemon/store/store.ts';
import { bundled } from '../support/bundles.ts';
import { cheapWallet } from '../support/wallet.ts';

const DATABASE = 'countinghouse.db';
const WORDS = `${'abandon '.repeat(11)}about`;
const ROWS = 4_000;
const ROW_BYTES = 1_000;
/** More than the data have, and less than they have together with a copy of the database. */
const DISK_KB = 7_000;
/** Less than the database has, in the units of `ulimit`. */
const FILE_BLOCKS = 4_000;

let folder: string;
let data: string;
let program: string;
beforeAll(async () => {
  program = await bundled('daemon/cli.ts');
  folder = mkdtempSync(join(tmpdir(), 'full-disk-'));
  data = join(folder, 'data');
  await (await Store.open(data)).close();
  await cheapWallet(join(data, 'vault'), { words: WORDS, passphrase: 'of the test' });
  rmSync(join(data, 'reserve'), { force: true });
  const db = new Database(join(data, DATABASE));
  db.exec('CREATE TABLE filler (bytes BLOB)');
  const insert = db.prepare('INSERT INTO filler VALUES (?)');
  db.transaction(() => {
    for (let n = 0; n < ROWS; n++) insert.run(Buffer.alloc(ROW_BYTES, n));
  })();
  db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A namespace in which this user may mount a file system; null where the system allows none. */
const NAMESPACE = [
  ['unshare', '--mount'],
  ['unshare', '--user', '--map-root-user', '--mount'],
].find(([program, ...args]) => {
  const mounts = [...args, 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()];
  return process.platform === 'linux' && spawnSync(program!, mounts, { stdio: 'ignore' }).status === 0;
});

/** Runs `script` with the command line as `cli`, and a copy of the data in `$DATA`. Returns all that it printed. */
function shell(script: string, namespace: string[] = []): string {
  const copy = mkdtempSync(join(folder, 'copy-'));
  const full = namespace.length > 0 ? `mount -t tmpfs -o size=${DISK_KB}k tmpfs "$DATA"` : `ulimit -f ${FILE_BLOCKS}`;
  const fill = namespace.length > 0 ? `${full}; cp -R "$FROM/." "$DATA"` : `cp -R "$FROM/." "$DATA"; ${full}`;
  const text = `cli() { "$NODE" "$CLI" --data-dir "$DATA" "$@" 2>&1; echo "= $?"; }\n${fill}\n${script}`;
  const [first, ...args] = [...namespace, 'sh', '-c', text];
  const env = { PATH: process.env.PATH, HOME: folder, NODE: process.execPath, CLI: program, FROM: data, DATA: copy };
  return spawnSync(first!, args, { encoding: 'utf8', env }).stdout;
}

const UNTOUCHED = `cmp "$FROM/${DATABASE}" "$DATA/${DATABASE}" && ls -A "$DATA" | tr '\n' ' '`;
const there = (): string => readdirSync(data).sort().join(' ');

if (process.platform !== 'win32') {
  it('is told by a limit of the file size', () => {
    const out = shell(`cli backup "$HOME/a.backup"; cli maintenance --compact --yes; ${UNTOUCHED}`);
    const refused = /in \S+ the disk refuses writes \(SQLITE_IOERR_WRITE/;
    const [backup, compact, rest] = out.split(/^= 1$/m);
    expect(backup).toMatch(/^error: No backup was made: .* it needs room there for the database twice$/m);
    expect([backup, compact]).toEqual([expect.stringMatching(refused), expect.stringMatching(refused)]);
    expect(compact).toContain('The database is as it was');
    expect(rest?.trim()).toBe(there());
    expect(readdirSync(folder)).not.toContain('a.backup');
  });

  it('that cannot take the mark of a restored database gets none without it', async () => {
    const dataDir = join(folder, 'before');
    await (await Store.open(dataDir)).close();
    await cheapWallet(join(dataDir, 'vault'), { words: WORDS, passphrase: 'of the test' });
    const db = new Database(join(dataDir, DATABASE));
    const insert = db.prepare(`INSERT INTO setting (key, value, updated_at) VALUES (?, '', 0)`);
    // full pages on both sides of the mark: it needs another one
    for (let n = 1_000; n < 2_000; n++) for (const side of ['p', 'r']) insert.run(`${side}${n}`);
    db.exec('VACUUM');
    db.close();
    const file = join(folder, 'full.backup');
    await makeBackup({ dataDir, file, release: 'test', now: Date.now() });
    const blocks = statSync(join(dataDir, DATABASE)).size / 512;
    const words = join(folder, 'words');
    writeFileSync(words, WORDS);
    const out = shell(`ulimit -f ${blocks}
      rm -r "$DATA"; cli restore ${file} --words-file ${words} --yes; ls -A "$DATA"`);
    expect(out).toMatch(/^error: Nothing was restored into \S+: the disk refuses writes[^\n]*\n= 1\nlock\n$/);
  });
}

if (NAMESPACE) {
  it('is told by a file system that became read-only', () => {
    const out = shell(`mount -o remount,ro "$DATA"; cli backup "$HOME/ro.backup"`, NAMESPACE);
    expect(out).toMatch(
      /^error: No backup was made: in \S+ the disk is mounted for reading only \(EROFS\)\. Mend that, and try again\n= 1$/m,
    );
  });

  it('is told by a file system of a few megabytes', () => {
    const out = shell(
      `cli backup "$HOME/b.backup"; cli maintenance --compact --yes; ${UNTOUCHED}; echo; echo = 1
       head -c ${DISK_KB}k /dev/zero > "$DATA/filler" 2>&-; SMALL="$DATA"; DATA="$FROM"; cli backup "$SMALL/c.backup"; ls "$SMALL" | grep backup`,
      NAMESPACE,
    );
    const [backup, compact, rest, elsewhere, left] = out.split(/^= 1$/m);
    expect(backup).toMatch(/^error: No backup was made: in \S+ the disk is full\. .* for the database twice$/m);
    expect(compact).toMatch(/this needs [\d.]+ MB of free room for a while/);
    expect(rest?.trim()).toBe(there());
    expect(elsewhere).toMatch(/c\.backup cannot be written: the disk is full \(ENOSPC\)/);
    expect(left?.trim()).toBe('');
  });
}
