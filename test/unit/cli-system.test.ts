/** How the command line meets a machine with a service: users, and a service that does not come up. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { untilServing } from '../../daemon/cli/service/system.ts';
import type { Session } from '../../daemon/cli/session.ts';

const NOBODY = 65_534;
let folder: string;
const { PATH } = process.env;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countinghouse-system-'));
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true, force: true });
});

function program(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
  process.env.PATH = `${folder}:${PATH}`;
}

it('an installed service that ends is a failure, with the end of its log', async () => {
  program('systemctl', 'echo auto-restart');
  program('journalctl', 'echo "error: the disk is full. Nothing was changed"');
  await expect(untilServing({ note: () => {} } as unknown as Session, 'countinghouse.service')).rejects.toThrow(
    'the service was installed, and does not run:\nerror: the disk is full. Nothing was changed',
  );
});

if (process.getuid?.() === 0) {
  describe("root's commands on the data of a service", () => {
    // threads cannot change their user
    const script = (then: string): string => `
      import { writeFileSync } from 'node:fs';
      const { Session } = await import(${JSON.stringify(join(import.meta.dirname, '../../daemon/cli/session.ts'))});
      const session = new Session({ env: {}, platform: 'linux' }, { dataDir: ${JSON.stringify(folder)} });
      const made = session.asOwner(async () => { writeFileSync(${JSON.stringify(join(folder, 'file'))}, 'x'); ${then} });
      console.log(await made.catch((error) => error.message), process.geteuid(), process.getegid());`;
    const run = (text: string): string =>
      execFileSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8' }).trim();

    it('write as its user, and are root again afterwards', () => {
      chownSync(folder, NOBODY, NOBODY);
      expect(run(script('return process.geteuid()'))).toBe(`${NOBODY} 0 0`);
      const { uid, gid } = statSync(join(folder, 'file'));
      expect([uid, gid]).toEqual([NOBODY, NOBODY]);
    });

    it('name the service, and what it may not read, while it does not run', () => {
      chownSync(folder, NOBODY, NOBODY);
      const config = join(folder, 'countinghouse.toml');
      writeFileSync(config, '', { mode: 0o600 });
      const entry = join(import.meta.dirname, '../../daemon/cli.ts');
      const cli = (command: string) =>
        spawnSync(process.execPath, [entry, '--data-dir', folder, command], { encoding: 'utf8', env: {} });
      expect(cli('status').stderr).toContain('`systemctl start countinghouse` starts it');
      expect(cli('doctor').stdout).toMatch(
        new RegExp(`PROBLEM +configuration +.*cannot be read: EACCES: \`chown nobody ${config}\``),
      );
    });

    it('restore what its user can read and start with, from a file that this user may read', () => {
      const entry = join(import.meta.dirname, '../../daemon/cli.ts');
      const words = join(folder, 'words');
      const backup = join(folder, 'shop.backup');
      writeFileSync(words, `${'abandon '.repeat(11)}about\n`);
      copyFileSync(join(import.meta.dirname, '../releases/0.1.0.backup'), backup);
      chmodSync(backup, 0o600);
      chownSync(folder, NOBODY, NOBODY);
      const cli = (...args: string[]) =>
        spawnSync(process.execPath, [entry, '--data-dir', folder, ...args], { encoding: 'utf8', env: {} });
      const restore = ['restore', backup, '--words-file', words, '--yes'];
      expect(cli(...restore)).toMatchObject({ status: 1, stderr: expect.stringContaining('cannot be read (EACCES)') });
      chownSync(backup, NOBODY, NOBODY);
      expect(cli(...restore)).toMatchObject({ status: 0, stderr: '' });
      const restored = readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name !== 'words');
      expect(restored).toContain('countinghouse.db');
      expect(restored.filter((name) => statSync(join(folder, name)).uid !== NOBODY)).toEqual([]);
    });

    it('are root again after a failure, too', () => {
      chownSync(folder, NOBODY, NOBODY);
      expect(run(script("throw new Error('refused')"))).toBe('refused 0 0');
    });
  });
}
