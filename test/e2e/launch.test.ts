/**
 * The first of the two commands, as a newcomer types it: `npm start` in a fresh clone on a machine without a compiler.
 * Then what a service manager, a terminal or a crash do to it: nothing may stay behind.
 */
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ABSENT, bareMachine, copyProject, processesOf, Run, registryAnswers, until } from './launch-kit.ts';

const INSTALL_LIMIT_MS = 600_000;
const START_LIMIT_MS = 240_000;
const STOP_LIMIT_MS = 120_000;
/** No rate source is asked: nothing but npm's installation leaves the machine. */
const QUIET = '[rates]\nsources = []\n';

/** The launcher's command line. */
const LAUNCHER = /^\S*node \S*countinghouse\.mjs/;

/** The process of a command's session whose command line matches. */
function pidOf({ pid: session }: Run, line: RegExp): number {
  const [pid] = [...processesOf(session)].find(([, text]) => line.test(text)) ?? [];
  if (pid === undefined) throw new Error(`no process ${line}`);
  return pid;
}

/** What the files of a folder take on the disk, in bytes. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesIn(path) : lstatSync(path).blocks * 512);
  }, 0);

const possible = process.platform === 'linux' && (await registryAnswers());

describe.skipIf(!possible)('npm start in a fresh clone (needs a networked machine)', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'countinghouse-launch-'));
  const clone = join(scratch, 'clone');
  const path = join(scratch, 'bin');
  /** A source that is changed in the clone. */
  const source = join(clone, 'daemon', 'cli', 'version.ts');
  const runs: Run[] = [];
  let firstStart: { ready: Record<string, string>; run: Run };
  /** Begun beside the first start, while nothing is installed. */
  let beside: Run;

  const dataDir = (name: string): string => join(scratch, name);
  const run = (...command: [string, ...string[]]): Run => {
    const started = new Run(clone, path, command);
    runs.push(started);
    return started;
  };
  const command = (name: string, ...args: string[]): Run =>
    run('node', join(clone, 'daemon', 'launcher', `${name}.mjs`), ...args);
  const options = (data: string): string[] => ['--json', '--port', '0', '--data-dir', dataDir(data)];
  const npmStart = (data: string): Run => {
    mkdirSync(dataDir(data), { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir(data), 'countinghouse.toml'), QUIET);
    return run('npm', 'start', '--', ...options(data));
  };

  beforeAll(async () => {
    copyProject(clone);
    bareMachine(path);
    await killInstallation();
    beside = command('countinghouse', 'status');
    const started = npmStart('data');
    firstStart = { run: started, ready: await started.ready(INSTALL_LIMIT_MS) };
    await beside.gone(START_LIMIT_MS);
  }, 2 * INSTALL_LIMIT_MS);

  /** Ends an installation, as a power cut would, once the first library is there. */
  async function killInstallation(): Promise<void> {
    const cut = command('prepare');
    const hasBegun = (): true | undefined => (existsSync(join(clone, 'node_modules', 'express')) ? true : undefined);
    await until(() => `the first library\n${cut.stderr}`, INSTALL_LIMIT_MS, hasBegun);
    expect([...processesOf(cut.pid).values()].filter((line) => /^npm ci/.test(line))).toHaveLength(1);
    cut.kill();
    expect(existsSync(join(clone, '.prepare-lock'))).toBe(true);
  }

  afterEach(() => {
    for (const left of runs) if (left !== firstStart?.run) left.kill();
  });
  afterAll(() => {
    for (const left of runs) left.kill();
    rmSync(scratch, { recursive: true, force: true });
  });

  it('needs no compiler', () => {
    expect(readdirSync(path).filter((name) => ABSENT.includes(name))).toEqual([]);
    expect(readdirSync(path)).toEqual(expect.arrayContaining(['node', 'npm', 'sh']));
  });

  it('installs and builds once, after an installation that was killed, and prints one line of JSON with the keys', () => {
    const { run: started, ready } = firstStart;
    expect([beside.ended, beside.stdout]).toEqual([1, '']);
    expect(beside.stderr).toContain('no Countinghouse is running on');
    const both = `${started.stderr}${beside.stderr}`;
    expect(both.match(/^Installing libraries|^Building/gm)).toEqual(['Installing libraries', 'Building']);
    expect(readdirSync(clone).filter((name) => name.startsWith('.prepare-'))).toEqual([]);
    expect(started.jsonLines()).toHaveLength(1);
    expect(ready).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      data_dir: dataDir('data'),
      api_key: expect.stringMatching(/^ch_test_.{20,}$/),
      client_id: expect.stringMatching(/.{8,}/),
    });
    expect(existsSync(join(clone, 'dist', 'daemon', 'cli.js'))).toBe(true);
  });

  it('serves the API with that key, and not without', async () => {
    const { url, api_key } = firstStart.ready;
    const answer = await fetch(`${url}/api/v1/merchant/cryptos`, { headers: { 'MB-API-KEY': api_key! } });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(await answer.json())).toContain('BTC');
    expect((await fetch(`${url}/api/v1/merchant/cryptos`)).status).toBe(401);
  });

  it('runs the product on the pinned Node', () => {
    const daemon = [...processesOf(firstStart.run.pid).values()].filter((line) => line.includes('dist/daemon/cli.js'));
    expect(daemon).toHaveLength(1);
    expect(daemon[0]).toMatch(new RegExp(`^${clone}/node_modules/node-[a-z0-9-]+/bin/node `));
  });

  it('refuses a second daemon on the same data', async () => {
    const second = npmStart('data');
    await second.gone(START_LIMIT_MS);
    expect(second.ended).not.toBe(0);
    expect(second.jsonLines()).toEqual([]);
    expect(second.stderr).toMatch(/another Countinghouse is running/i);
    expect(second.stderr).not.toMatch(/^\s+at /m);
  });

  it('ends wholly when npm is told to end', async () => {
    process.kill(firstStart.run.pid, 'SIGTERM');
    await firstStart.run.gone(STOP_LIMIT_MS);
    // npm passes the signal on to its shell, and ends as that does
    expect(['SIGTERM', 0]).toContain(firstStart.run.ended);
    await expect(fetch(`${firstStart.ready.url}/api/v1/merchant/cryptos`)).rejects.toThrow();
  });

  it('starts again without installing or building, shows no key, and ends with its launcher', async () => {
    const again = npmStart('data');
    const ready = await again.ready(START_LIMIT_MS);
    expect(ready).toEqual({ url: expect.stringMatching(/^http:/), data_dir: dataDir('data') });
    expect(`${again.stdout}${again.stderr}`).not.toMatch(/Installing|Building|ch_test_/);
    const { api_key } = firstStart.ready;
    const answer = await fetch(`${ready.url}/api/v1/merchant/cryptos`, { headers: { 'MB-API-KEY': api_key! } });
    expect(answer.status).toBe(200);
    process.kill(pidOf(again, LAUNCHER), 'SIGTERM');
    await again.gone(STOP_LIMIT_MS);
  });

  it('has nothing to prepare when everything is fresh', async () => {
    const built = statSync(join(clone, 'dist', '.stamp')).mtimeMs;
    const prepare = command('prepare');
    await prepare.gone(START_LIMIT_MS);
    expect([prepare.ended, prepare.stdout, prepare.stderr]).toEqual([0, '', '']);
    expect(statSync(join(clone, 'dist', '.stamp')).mtimeMs).toBe(built);
  });

  it.each([
    ['npm is killed', 'SIGKILL', /^npm start/],
    ['the launcher is killed', 'SIGKILL', LAUNCHER],
    ['the daemon is killed', 'SIGKILL', /cli\.js/],
  ] as const)('leaves nothing behind when %s', async (_what, signal, who) => {
    const started = npmStart('data');
    await started.ready(START_LIMIT_MS);
    process.kill(pidOf(started, who), signal);
    await started.gone(STOP_LIMIT_MS);
  });

  it('leaves nothing behind after Ctrl-C, which everyone in the terminal hears', async () => {
    const started = npmStart('data');
    await started.ready(START_LIMIT_MS);
    process.kill(-started.pid, 'SIGINT');
    await started.gone(STOP_LIMIT_MS);
  });

  it('passes the exit code on', async () => {
    const wrong = run('npx', 'countinghouse', 'no-such-command');
    await wrong.gone(START_LIMIT_MS);
    expect(wrong.ended).toBeGreaterThan(0);
    expect(wrong.stderr).toContain('no-such-command');
    const version = run('npx', 'countinghouse', '--version');
    await version.gone(START_LIMIT_MS);
    expect([version.ended, version.stdout.trim()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
  });

  it('is packed into a file that installs, without a compiler and in less than 200 MB, and runs', async () => {
    const pack = run('npm', 'pack', '--silent', '--pack-destination', scratch);
    await pack.gone(START_LIMIT_MS);
    expect(pack.ended, pack.stderr).toBe(0);
    expect(existsSync(join(clone, 'npm-shrinkwrap.json'))).toBe(false);
    const prefix = join(scratch, 'prefix');
    const install = run('npm', 'install', '--global', '--prefix', prefix, join(scratch, pack.stdout.trim()));
    await install.gone(INSTALL_LIMIT_MS);
    expect(install.ended, install.stderr).toBe(0);
    const home = join(prefix, 'lib', 'node_modules', 'countinghouse');
    const { packages } = JSON.parse(readFileSync(join(clone, 'package-lock.json'), 'utf8'));
    for (const name of ['express', 'better-sqlite3', 'pino', 'on-finished']) {
      const { version } = JSON.parse(readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8'));
      expect([name, version]).toEqual([name, packages[`node_modules/${name}`].version]);
    }
    expect(bytesIn(join(home, 'node_modules'))).toBeLessThan(200_000_000);
    for (const absent of ['typescript', 'vitest', '@biomejs']) {
      expect(existsSync(join(home, 'node_modules', absent))).toBe(false);
    }
    const monero = join(home, 'node_modules', 'monero-ts');
    expect(readdirSync(monero).sort()).toEqual(['LICENSE.txt', 'dist', 'package.json']);
    expect(readdirSync(join(monero, 'dist'))).toEqual(['monero.js']);
    // the one file runs without the packages that it names
    const library = createRequire(join(home, 'dist', 'daemon', 'signer.js'))('monero-ts/dist/monero.js');
    expect(typeof (await library()).create_full_wallet).toBe('function');
    mkdirSync(dataDir('packed'), { mode: 0o700 });
    writeFileSync(join(dataDir('packed'), 'countinghouse.toml'), QUIET);
    const started = run('node', join(prefix, 'bin', 'countinghouse'), 'start', ...options('packed'));
    const { url, api_key } = await started.ready(START_LIMIT_MS);
    const headers = { 'MB-API-KEY': api_key!, 'Content-Type': 'application/json' };
    const made = await fetch(`${url}/api/v1/merchant/invoice`, { method: 'POST', headers, body: '{"amount":25}' });
    const { invoice_url } = (await made.json()) as { invoice_url: string };
    expect(made.status).toBe(201);
    for (const page of [invoice_url, `${url}/js/sdk.js`, `${url}/demo`]) expect((await fetch(page)).status).toBe(200);
    process.kill(started.pid, 'SIGTERM');
    await started.gone(STOP_LIMIT_MS);
  });

  it('builds anew when a source has changed, and stops with the reason when that fails', async () => {
    appendFileSync(source, "export { nothing } from './absent.ts';\n");
    const broken = npmStart('data');
    await broken.gone(START_LIMIT_MS);
    expect(broken.ended).not.toBe(0);
    expect(broken.stderr).toMatch(/'\.\/absent\.ts'[\s\S]*the program could not be built/);
    expect(broken.jsonLines()).toEqual([]);
  });

  it('installs nothing and builds once before commands that begin together', async () => {
    const sound = readFileSync(source, 'utf8').replace(/export \{ nothing .*\n/, '');
    writeFileSync(source, sound.replace('.version;', ".version + '-changed';"));
    rmSync(join(clone, 'dist'), { recursive: true });
    const [prepare, changed] = [command('prepare'), command('countinghouse', '--version')];
    await Promise.all([prepare, changed].map((one) => one.gone(START_LIMIT_MS)));
    expect([prepare.ended, changed.ended]).toEqual([0, 0]);
    const both = `${prepare.stderr}${changed.stderr}`;
    expect(both.match(/^Installing libraries|^Building/gm)).toEqual(['Building']);
    expect([prepare.stdout, changed.stdout]).toEqual(['', expect.stringMatching(/-changed\n$/)]);
    expect(readdirSync(clone).filter((name) => name.startsWith('.prepare-'))).toEqual([]);
  });
});
