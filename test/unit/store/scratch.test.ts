/** A scratch database leaves nothing that anybody could read, however its process ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepTemporary } from '../../../daemon/app/backup/leftovers.ts';
import { Scratch } from '../../../daemon/store/scratch.ts';

let folder: string;
let temporary: string | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-scratch-'));
  temporary = process.env.TMPDIR;
  process.env.TMPDIR = folder;
});
afterEach(() => {
  if (temporary === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = temporary;
  rmSync(folder, { recursive: true, force: true });
});

/** The bytes of a database with one row. */
function database(): Buffer {
  const file = join(folder, 'made.db');
  const db = new Database(file);
  db.exec("CREATE TABLE secret (text TEXT); INSERT INTO secret VALUES ('a customer')");
  db.close();
  const bytes = readFileSync(file);
  rmSync(file);
  return bytes;
}

describe.skipIf(process.platform === 'win32')('a scratch', () => {
  it('is read like any database, and has no name while it is', async () => {
    const bytes = database();
    const scratch = await Scratch.open();
    await scratch.write(bytes.subarray(0, 5_000));
    await scratch.write(bytes.subarray(5_000));
    expect(scratch.db.prepare('SELECT text FROM secret').pluck().all()).toEqual(['a customer']);
    expect(scratch.db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(readdirSync(folder)).toEqual([]);
    await scratch.close();
  });

  it('of a process that is interrupted or killed leaves nothing', async () => {
    const program = `
      import { Scratch } from ${JSON.stringify(join(import.meta.dirname, '../../../daemon/store/scratch.ts'))};
      import { readFileSync } from 'node:fs';
      const scratch = await Scratch.open();
      await scratch.write(readFileSync(process.argv[1]));
      console.log(scratch.db.prepare('SELECT text FROM secret').pluck().get());
      setInterval(() => {}, 1000);`;
    const file = join(folder, 'bytes');
    writeFileSync(file, database());
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, file], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: process.env.PATH, TMPDIR: folder, NODE_NO_WARNINGS: '1' },
      });
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      expect(line.toString().trim()).toBe('a customer');
      child.kill(signal);
      await once(child, 'exit');
      expect(readdirSync(folder)).toEqual(['bytes']);
    }
  });

  it.runIf(process.getuid?.() === 0)(
    'is deleted by root only if it is root’s: links could take its place meanwhile',
    async () => {
      const others = join(folder, 'countinghouse-drill-AbC123');
      mkdirSync(others);
      chownSync(others, 65_534, 65_534);
      await sweepTemporary();
      expect(readdirSync(folder)).toEqual(['countinghouse-drill-AbC123']);
    },
  );

  it('that an earlier release left is swept, and nothing else', async () => {
    mkdirSync(join(folder, 'countinghouse-drill-AbC123'));
    writeFileSync(join(folder, 'countinghouse-drill-AbC123', 'countinghouse.db'), 'decrypted');
    mkdirSync(join(folder, 'countinghouse-drill-of-mine'));
    await sweepTemporary();
    expect(readdirSync(folder)).toEqual(['countinghouse-drill-of-mine']);
  });
});
