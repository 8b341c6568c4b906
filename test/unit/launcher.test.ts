/** The launcher where the system cannot run the Node of the package, and after an upgrade that was killed. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const LAUNCHER = join(import.meta.dirname, '../../daemon/launcher');
/** The package of the Node that runs this test. */
const PACKAGE = basename(join(process.execPath, '..', '..'));

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'countinghouse-launcher-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

it('names the remedy where the system lacks a library of Node', () => {
  cpSync(LAUNCHER, join(root, 'daemon', 'launcher'), { recursive: true });
  write('package.json', '{"type":"module"}');
  write('dist/daemon/cli.js', '');
  write(`node_modules/${PACKAGE}/package.json`, '{}');
  const node = '#!/bin/sh\necho "error while loading shared libraries: libatomic.so.1" >&2\nexit 127\n';
  write(`node_modules/${PACKAGE}/bin/node`, node, 0o755);
  const run = spawnSync(process.execPath, [join(root, 'daemon/launcher/countinghouse.mjs'), 'status'], {
    encoding: 'utf8',
  });
  expect(run.stderr).toBe(
    'error while loading shared libraries: libatomic.so.1\ncountinghouse: Node.js needs a library that this system lacks, ' +
      'named above (Debian, Ubuntu: `apt-get install libatomic1`)\n',
  );
  expect(run.status).toBe(1);
});

/** Wants this version of one library. */
function wants(version: string): void {
  write('package.json', JSON.stringify({ type: 'module', dependencies: { one: version } }));
  write('package-lock.json', lockOf(version));
}

const lockOf = (version: string): string =>
  JSON.stringify({ packages: { '': { dependencies: { one: version } }, 'node_modules/one': { version } } });

it.skipIf(process.platform === 'win32')('installs the libraries anew that a killed upgrade had begun to clear', () => {
  cpSync(LAUNCHER, join(root, 'daemon', 'launcher'), { recursive: true });
  const empty = ['tsconfig.json', 'renderer/main.ts', 'daemon/web/sdk/types.ts', 'node_modules/one/index.js'];
  const compilers = ['node_modules/typescript/bin/tsc', 'node_modules/vite/bin/vite.js'];
  for (const file of [...empty, ...compilers]) write(file, '');
  write('node_modules/.package-lock.json', lockOf('1.0.0'));
  const prepare = (npm: string) => {
    write('bin/npm', `#!/bin/sh\n${npm}\n`, 0o755);
    const env = { PATH: `${join(root, 'bin')}:/usr/bin:/bin` };
    return spawnSync(process.execPath, [join(root, 'daemon/launcher/prepare.mjs')], { env, encoding: 'utf8' });
  };
  wants('2.0.0');
  expect(prepare('rm -r node_modules/one; kill -9 $PPID').signal).toBe('SIGKILL');
  expect(existsSync(join(root, '.prepare-lock'))).toBe(true);
  // the user goes back to the version whose libraries were there
  wants('1.0.0');
  // of a killed `npm pack`: npm would install by it
  write('npm-shrinkwrap.json', lockOf('2.0.0'));
  const install =
    'cp "$(ls npm-shrinkwrap.json package-lock.json 2>/dev/null | head -1)" node_modules/.package-lock.json';
  const again = prepare(`echo "$@" >> asked; ${install}`);
  expect([again.status, again.stderr.match(/^(?:Installing|Building)/gm)]).toEqual([0, ['Installing', 'Building']]);
  expect(existsSync(join(root, '.prepare-lock'))).toBe(false);
  expect(prepare('exit 1')).toMatchObject({ status: 0, stderr: '' });
  const asked = readFileSync(join(root, 'asked'), 'utf8');
  expect(asked).toBe('ci --ignore-scripts --include=dev --min-release-age=0 --loglevel=error\n');
});
