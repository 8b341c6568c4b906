/**
 * `countinghouse service`, with systemd's own programs as the judges: they work on files without a running systemd.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../daemon/cli/program.ts';
import { checkPassphraseFile, checkProgram } from '../../daemon/cli/service/trusted.ts';
import { daemonUnit, homeUnit, signerUnit } from '../../daemon/cli/service/units.ts';
import { cli, fakeIo } from './cli-kit.ts';

const EXPOSURE_MAX = 2.0;
const DAEMON = 'etc/systemd/system/countinghouse.service';
const SIGNER = 'etc/systemd/system/countinghouse-signer.service';
const HOME = 'etc/systemd/system/countinghouse-home.service';
const program = { node: '/usr/bin/true', script: '/opt/a b/100%/$HOME/cli.js', version: '1.2.3' };

const has = (name: string): boolean => ['/usr/bin', '/bin'].some((folder) => existsSync(join(folder, name)));

let root: string;
beforeEach(() => {
  process.umask(0o022);
  root = mkdtempSync(join(tmpdir(), 'service-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const service = (...args: string[]) => cli(root, ['service', ...args, '--root', root]);
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

it.each<[program: string, argv: string[]]>([
  ['countinghouse start', ['service', 'install']],
  ['countinghouse start', ['service', 'status']],
  ['countinghouse --server shop signer run', ['--server', 'shop', 'service', 'install', '--signer-only']],
  ['countinghouse --server NAME signer run', ['service', 'install', '--signer-only']],
])('service of macOS is none: `%s` runs at login', async (program, argv) => {
  const { io, ran } = fakeIo({ COUNTINGHOUSE_DATA_DIR: root });
  expect(await runCli([...argv, '--root', root], { ...io, platform: 'darwin' })).toBe(1);
  expect(ran.err).toContain(`on Linux only: elsewhere have \`${program}\` run at login`);
});

describe('service install', () => {
  it('writes users, units and where commands find the service, and uninstall takes them away', async () => {
    const installed = await service('install', '--separate-signer');
    expect(installed).toMatchObject({ code: 0, err: '' });
    expect(read(DAEMON)).toContain(`ExecStart="${process.execPath}" "`);
    expect(read(DAEMON)).toContain('Environment=COUNTINGHOUSE_WALLET_SIGNER=/run/countinghouse-signer/signer.sock');
    expect(read(SIGNER)).toMatch(/^User=countinghouse-signer$/m);
    expect(read('etc/countinghouse/environment')).toMatch(
      /^COUNTINGHOUSE_DATA_DIR=\/var\/lib\/countinghouse\nCOUNTINGHOUSE_SIGNER_DIR=.+\nCOUNTINGHOUSE_SIGNER_SOCKET=.+\n$/m,
    );
    expect(statSync(join(root, DAEMON)).mode & 0o777).toBe(0o644);
    // systemd waits for no readiness, so that no limit ends the upgrade of a large database
    expect(read(DAEMON)).toMatch(/^Type=exec$/m);
    expect(read(DAEMON)).not.toMatch(/^(?:TimeoutSec|TimeoutStartSec|RuntimeMaxSec|WatchdogSec)=/m);
    const gone = await service('uninstall');
    expect(gone.out).toContain('The data stay in /var/lib/countinghouse.');
    expect(existsSync(join(root, DAEMON)) || existsSync(join(root, SIGNER))).toBe(false);
  });

  it('writes what the service can read, whatever rights the files of the shell get', async () => {
    process.umask(0o077);
    await service('install');
    const made = ['etc', 'etc/systemd', DAEMON].map((path) => (statSync(join(root, path)).mode & 0o777).toString(8));
    expect(made).toEqual(['755', '755', '644']);
  });

  it('deletes all that it made when told to', async () => {
    const made = ['lib', 'cache'].flatMap((kind) =>
      ['countinghouse', 'countinghouse-signer'].map((name) => join(root, 'var', kind, name)),
    );
    await service('install');
    for (const path of made) mkdirSync(path, { recursive: true });
    const [folder = '', other = ''] = made;
    const [disk, ofThisSystem] = [join(root, 'disk'), mkdtempSync(join(tmpdir(), 'service-own-'))];
    renameSync(folder, disk);
    symlinkSync(disk, folder);
    rmSync(other, { recursive: true });
    symlinkSync(ofThisSystem, other);
    const [wallet, own] = [join(disk, 'wallet.json'), join(ofThisSystem, 'wallet.json')];
    for (const file of [wallet, own]) writeFileSync(file, '');
    expect((await service('uninstall', '--delete-data', '--yes')).out).toContain('The data were deleted.');
    expect([...made, wallet].filter((path) => lstatSync(path, { throwIfNoEntry: false }))).toEqual([]);
    expect(existsSync(own)).toBe(true);
    rmSync(ofThisSystem, { recursive: true });
  });

  it('hands the passphrase on as a credential, to whoever has the wallet', async () => {
    await service('install', '--passphrase-file', '/etc/countinghouse/passphrase');
    expect(read(DAEMON)).toContain('LoadCredential=countinghouse-passphrase:/etc/countinghouse/passphrase\n');
    expect(read(DAEMON)).toContain('Environment=COUNTINGHOUSE_WALLET_UNLOCK=systemd\n');
    await service('install', '--separate-signer', '--passphrase-file', '/etc/countinghouse/passphrase');
    expect(read(DAEMON)).not.toContain('LoadCredential');
    expect(read(SIGNER)).toMatch(/^ExecStart=.* --passphrase-file %d\/countinghouse-passphrase$/m);
  });

  it('keeps the options of before in an upgrade that names none, and gives them up when told', async () => {
    await service('install', '--separate-signer', '--passphrase-file', '/etc/countinghouse/passphrase');
    const [units, environment] = [[read(DAEMON), read(SIGNER)], read('etc/countinghouse/environment')];
    writeFileSync(join(root, SIGNER), read(SIGNER).replace(/release \S+\./, 'release 0.0.9.'));
    expect(await service('install')).toMatchObject({ code: 0, err: '' });
    expect([[read(DAEMON), read(SIGNER)], read('etc/countinghouse/environment')]).toEqual([units, environment]);
    await service('install', '--no-passphrase-file');
    expect(read(SIGNER)).not.toContain('LoadCredential');
    expect(read(SIGNER)).toMatch(/^User=countinghouse-signer$/m);
  });

  it('makes of a machine that is always on one that signs for a server, and nothing else', async () => {
    expect(await service('install', '--signer-only')).toMatchObject({
      code: 2,
      err: expect.stringContaining('name the server'),
    });
    const only = ['install', '--signer-only', '--server', 'pay.shop.example', '--passphrase-file', '/etc/pass'];
    const { code, out } = await service(...only);
    expect([code, out]).toEqual([0, expect.stringContaining('signer join ADDRESS --as pay.shop.example')]);
    expect(existsSync(join(root, DAEMON)) || existsSync(join(root, SIGNER))).toBe(false);
    expect(read(HOME)).toMatch(
      /^ExecStart=.* --server "pay.shop.example" signer run .*--passphrase-file %d\/countinghouse-passphrase$/m,
    );
    expect(read(HOME)).toMatch(/^SocketBindDeny=any$/m);
    const unit = read(HOME);
    // an upgrade keeps what it is
    expect(await service('install')).toMatchObject({ code: 0 });
    expect(read(HOME)).toBe(unit);
    expect((await service('status')).out).toMatch(/countinghouse-home.service[\s\S]*as this release writes it/);
    expect((await service('install', '--signer-only', '--server', '../x')).code).not.toBe(0);
    await service('uninstall');
    expect(existsSync(join(root, HOME))).toBe(false);
    await service('install');
    const both = await service(...only);
    expect(both).toMatchObject({ code: 1, err: expect.stringContaining('this machine runs the service itself') });
  });

  it.each([
    ['a separate signer', '--separate-signer', 'var/lib/countinghouse/vault'],
    ['no separate signer', '--no-separate-signer', 'var/lib/countinghouse-signer'],
  ])('is refused with %s while the wallet lies elsewhere', async (kind, option, place) => {
    mkdirSync(join(root, place), { recursive: true });
    writeFileSync(join(root, place, 'wallet.json'), '{}');
    const told = await service('install', option);
    expect(told).toMatchObject({ code: 1, out: '' });
    expect(told.err).toContain(`the wallet lies in /${place}, where a service with ${kind} does not look`);
    expect(existsSync(join(root, DAEMON))).toBe(false);
  });

  it('says when a unit is of another release or changed by hand, and keeps what somebody else wrote', async () => {
    await service('install');
    expect((await service('status')).out).toContain('as this release writes it');
    writeFileSync(join(root, DAEMON), read(DAEMON).replace('TimeoutStopSec=30', 'TimeoutStopSec=1'));
    expect((await service('status')).out).toContain('changed by hand');
    writeFileSync(join(root, DAEMON), read(DAEMON).replace(/release \S+\./, 'release 0.0.9.'));
    expect((await service('status')).out).toContain('of another release: run `service install` again');
    await service('install');
    expect((await service('status')).out).toContain('as this release writes it');
    writeFileSync(join(root, DAEMON), '[Service]\nExecStart=/usr/bin/mine\n');
    const again = await service('install');
    expect(again.err).toContain('was not made by this command');
    expect(read(`${DAEMON}.before`)).toContain('/usr/bin/mine');
  });

  it.runIf(has('systemd-analyze')).each([
    ['the daemon', daemonUnit, false],
    ['the signer', signerUnit, true],
    ['the machine at home', homeUnit, true],
  ] as const)('%s is hardened, by systemd’s own count', (_name, unit, separateSigner) => {
    const file = join(root, `${separateSigner ? 'signer' : 'daemon'}.service`);
    writeFileSync(
      file,
      unit({ program, separateSigner, signerOnly: 'pay.shop.example', passphraseFile: '/etc/secret', systemd: 252 }),
    );

    const told = execFileSync('systemd-analyze', ['security', '--offline=yes', '--no-pager', file], {
      encoding: 'utf8',
    });
    const exposure = Number(/Overall exposure level for .*: ([\d.]+)/.exec(told)?.[1]);
    expect(exposure).toBeGreaterThan(0);
    expect(exposure).toBeLessThan(EXPOSURE_MAX);
    // nothing in it is unknown to this release of systemd
    const verified = execFileSync('sh', ['-c', `systemd-analyze verify ${file} 2>&1 || true`], { encoding: 'utf8' });
    expect(verified.split('\n').filter((line) => line.includes(`${file}:`))).toEqual([]);
  });

  it('lengthens the pause between restarts where systemd can', () => {
    const options = { program, separateSigner: false, passphraseFile: null, signerOnly: null };
    expect(daemonUnit({ ...options, systemd: 254 })).toMatch(/RestartSec=1\nRestartSteps=8\nRestartMaxDelaySec=300/);
    expect(daemonUnit({ ...options, systemd: 252 })).toMatch(/RestartSec=10\n(?!RestartSteps)/);
    expect(daemonUnit({ ...options, systemd: 252 })).toContain('"/opt/a b/100%%/$$HOME/cli.js"');
  });

  it.runIf(has('systemd-sysusers'))('makes the two users in one group', async () => {
    await service('install', '--separate-signer');
    execFileSync('systemd-sysusers', [`--root=${root}`]);
    const users = new Map(
      read('etc/passwd')
        .split('\n')
        .map((line) => [line.split(':')[0], line.split(':')] as const),
    );
    expect(users.get('countinghouse-signer')?.[2]).not.toBe(users.get('countinghouse')?.[2]);
    expect(users.get('countinghouse-signer')?.[3]).toBe(users.get('countinghouse')?.[3]);
    expect(users.get('countinghouse')?.slice(5)).toEqual(['/var/lib/countinghouse', '/usr/sbin/nologin']);
  });

  it('refuses what cannot work', async () => {
    const data = mkdtempSync(join(tmpdir(), 'service-data-'));
    const told = await cli(data, ['service', 'install']);
    rmSync(data, { recursive: true });
    expect(told.code).toBe(1);
    expect(told.err).toMatch(/systemd does not run here|this needs root/);
  });
});

describe.runIf(process.getuid?.() === 0)('what root installs', () => {
  const SERVICE_USER = 8480;
  beforeEach(() => chmodSync(root, 0o755));
  /** A file of root. */
  function put(path: string, mode = 0o644): string {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '');
    chmodSync(file, mode);
    return file;
  }

  it('takes no passphrase from a folder in which another user could put another file', () => {
    const file = put('etc/pass/phrase', 0o600);
    checkPassphraseFile(file);
    for (const folder of ['etc/pass', 'etc']) {
      chownSync(join(root, folder), SERVICE_USER, SERVICE_USER);
      expect(() => checkPassphraseFile(file)).toThrow(`${join(root, folder)} can be changed by others than root`);
      chownSync(join(root, folder), 0, 0);
    }
    chmodSync(file, 0o640);
    expect(() => checkPassphraseFile(file)).toThrow('can be read by others than root');
    const link = join(root, 'link');
    symlinkSync(join(root, 'etc'), link);
    expect(() => checkPassphraseFile(join(link, 'pass/phrase'))).toThrow('leads over a link');
  });

  it.each(['dist/daemon/cli.js', 'dist/daemon/chunk.js', 'node_modules/lib/index.js', 'node_modules/lib', 'dist'])(
    'is no program of which another user could change %s',
    (name) => {
      const node = put('package/node_modules/node/bin/node', 0o755);
      const script = put('package/dist/daemon/cli.js');
      for (const other of ['dist/daemon/chunk.js', 'node_modules/lib/index.js']) put(`package/${other}`);
      symlinkSync('../lib/index.js', join(root, 'package/node_modules/link'));
      const check = () => checkProgram({ node, script, version: '1.2.3' }, join(root, 'package'));
      check();
      const path = join(root, 'package', name);
      chownSync(path, SERVICE_USER, SERVICE_USER);
      expect(check).toThrow(`${path} can be changed by others than root`);
      chownSync(path, 0, 0);
      chmodSync(path, 0o777);
      expect(check).toThrow(`${path} can be changed by others than root`);
    },
  );
});
