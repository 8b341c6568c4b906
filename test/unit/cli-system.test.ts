/** How the command line meets a machine with a service: users, and a service that does not come up. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { endUnits } from '../../daemon/cli/service/install.ts';
import { untilServing } from '../../daemon/cli/service/system.ts';
import type { Session } from '../../daemon/cli/session.ts';
import { bundled } from '../support/bundles.ts';

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

it('an uninstallation ends the units that there are: systemd 255 refuses a list with one that is not', () => {
  const files = ['/etc/systemd/system/countinghouse.service', '/etc/sysusers.d/countinghouse.conf'];
  program('systemctl', 'echo "$@" > "$0.asked"');
  endUnits(files);
  expect(readFileSync(join(folder, 'systemctl.asked'), 'utf8')).toBe('disable --now countinghouse.service\n');
  program('systemctl', 'echo "it does not end" >&2; exit 1');
  expect(() => endUnits(files)).toThrow('`systemctl disable --now countinghouse.service` failed: it does not end');
});

if (process.getuid?.() === 0) {
  describe("root's commands on the data of a service", () => {
    let entry: string;
    /** A folder as a restore leaves it: each takes seconds. */
    let kept: string;
    beforeAll(async () => {
      entry = await bundled('daemon/cli.ts');
      kept = mkdtempSync(join(tmpdir(), 'countinghouse-restored-'));
    });
    afterAll(() => rmSync(kept, { recursive: true }));
    const copyAll = (from: string, to: string) => execFileSync('cp', ['-a', `${from}/.`, to]);
    const cli = (...args: string[]) => {
      return spawnSync(process.execPath, [entry, '--data-dir', folder, ...args], { encoding: 'utf8', env: {} });
    };
    /** What of the folder is not of the service's user, but for the words. */
    const foreign = (): string[] =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name !== 'words' && statSync(join(folder, name)).uid !== NOBODY);
    /** A backup of root, and the command that restores it into the folder. */
    function backedUp(): { backup: string; restore: string[] } {
      const [words, backup] = [join(folder, 'words'), join(folder, 'shop.backup')];
      writeFileSync(words, `${'abandon '.repeat(11)}about\n`);
      copyFileSync(join(import.meta.dirname, '../releases/0.1.0.backup'), backup);
      chmodSync(backup, 0o600);
      chownSync(folder, NOBODY, NOBODY);
      return { backup, restore: ['restore', backup, '--words-file', words, '--yes'] };
    }
    /** The same, restored. */
    function restored(): string {
      const { backup, restore } = backedUp();
      chownSync(backup, NOBODY, NOBODY);
      if (readdirSync(kept).length > 0) {
        copyAll(kept, folder);
        return backup;
      }
      expect(cli(...restore)).toMatchObject({ status: 0, stderr: '' });
      copyAll(folder, kept);
      return backup;
    }

    it('write as its user without the groups of root, and are root again afterwards, after a failure too', () => {
      chownSync(folder, NOBODY, NOBODY);
      // threads cannot change their user
      const script = `
        import { writeFileSync } from 'node:fs';
        const { Session } = await import(${JSON.stringify(join(import.meta.dirname, '../../daemon/cli/session.ts'))});
        const rights = () => [process.geteuid(), process.getegid(), ...process.getgroups()].join(' ');
        process.setgroups([0, 4]);
        for (const then of [rights, () => { throw new Error('refused') }]) {
          const session = new Session({ env: {}, platform: 'linux' }, { dataDir: ${JSON.stringify(folder)} });
          const made = session.asOwner(async () => { writeFileSync(${JSON.stringify(join(folder, 'file'))}, 'x'); return then(); });
          console.log(await made.catch((error) => error.message));
          console.log(rights());
        }`;
      const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
      expect(told.trim().split('\n')).toEqual([`${NOBODY} ${NOBODY} ${NOBODY}`, '0 0 0 4', 'refused', '0 0 0 4']);
      const { uid, gid } = statSync(join(folder, 'file'));
      expect([uid, gid]).toEqual([NOBODY, NOBODY]);
    });

    it.each([
      ['its folder', ''],
      ['a link of root to its folder', '-link'],
    ])('name the service, and what it may not read, while it does not run: by %s', (_, end) => {
      const place = `${folder}${end}`;
      if (end !== '') symlinkSync(folder, place);
      chownSync(folder, NOBODY, NOBODY);
      const config = join(place, 'countinghouse.toml');
      writeFileSync(config, '', { mode: 0o600 });
      const told = ['status', 'doctor'].map((command) => cli('--data-dir', place, command));
      if (end !== '') rmSync(place);
      expect(told[0]?.stderr).toContain('`systemctl start countinghouse` starts it');
      expect(told[1]?.stdout).toMatch(
        new RegExp(`PROBLEM +configuration +.*cannot be read: EACCES: \`chown nobody ${config}\``),
      );
    });

    it('name a user by the number whom the system does not know', () => {
      writeFileSync(join(folder, 'countinghouse.toml'), '', { mode: 0o600 });
      chmodSync(folder, 0o755);
      const script = `
        const { loadConfig } = await import(${JSON.stringify(join(import.meta.dirname, '../../daemon/config/config.ts'))});
        process.seteuid(54_321);
        try {
          loadConfig({ dataDir: ${JSON.stringify(folder)}, env: {}, flags: {} });
        } catch (error) {
          console.log(error.message);
        }`;
      const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
      expect(told).toContain(
        `countinghouse.toml: ${join(folder, 'countinghouse.toml')} cannot be read: EACCES: \`chown 54321 `,
      );
    });

    it('restore what its user can read and start with, from a file that this user may read', () => {
      const { backup, restore } = backedUp();
      expect(cli(...restore)).toMatchObject({ status: 1, stderr: expect.stringContaining('cannot be read (EACCES)') });
      chownSync(backup, NOBODY, NOBODY);
      expect(cli(...restore)).toMatchObject({ status: 0, stderr: '' });
      expect(readdirSync(folder)).toContain('countinghouse.db');
      expect(foreign()).toEqual([]);
    });

    it('back it up and write it anew while the service does not answer, and follow none of its links', () => {
      restored();
      const again = join(folder, 'again.backup');
      const [config, database] = ['toml', 'db'].map((end) => join(folder, `countinghouse.${end}`)) as [string, string];
      const hidden = join(folder, '..', `${basename(folder)}-hidden`);
      rmSync(config, { force: true });
      writeFileSync(hidden, 'of root', { mode: 0o600 });
      symlinkSync(hidden, config);
      expect(cli('backup', again)).toMatchObject({ status: 1, stderr: expect.stringContaining('EACCES') });
      rmSync(config);
      expect(cli('backup', again)).toMatchObject({ status: 0, stderr: '' });
      expect(cli('maintenance', '--compact', '--yes')).toMatchObject({ status: 0, stderr: '' });
      expect(foreign()).toEqual([]);
      renameSync(database, hidden);
      chownSync(hidden, 0, 0);
      symlinkSync(hidden, database);
      for (const options of [[], ['--compact', '--yes']]) {
        const { status, stderr } = cli('maintenance', ...options);
        expect([status, stderr]).toEqual([1, expect.stringContaining('unable to open database file')]);
      }
      rmSync(hidden);
    });

    it('compare a backup with it, and leave nothing of root in it', () => {
      const backup = restored();
      const verify = ['backup', 'verify', backup, '--words-file', join(folder, 'words')];
      const [database, hidden] = [join(folder, 'countinghouse.db'), join(folder, '..', `${basename(folder)}-hidden`)];
      expect(cli(...verify).stdout).toContain('addresses since');
      expect(foreign()).toEqual([]);
      renameSync(database, hidden);
      chownSync(hidden, 0, 0);
      chmodSync(hidden, 0o600);
      symlinkSync(hidden, database);
      expect(cli(...verify)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('unable to open database file'),
      });
      rmSync(hidden);
    });
  });
}
