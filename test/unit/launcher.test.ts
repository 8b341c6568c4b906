/** The launcher on a machine whose system cannot run the Node that comes with the package. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

it('names the remedy where the system lacks a library of Node', () => {
  cpSync(LAUNCHER, join(root, 'daemon', 'launcher'), { recursive: true });
  write('package.json', '{"type":"module"}');
  write('dist/daemon/cli.js', '');
  write(`node_modules/${PACKAGE}/package.json`, '{}');
  write(
    `node_modules/${PACKAGE}/bin/node`,
    '#!/bin/sh\necho "error while loading shared libraries: libatomic.so.1" >&2\nexit 127\n',
  );
  chmodSync(join(root, `node_modules/${PACKAGE}/bin/node`), 0o755);
  const run = spawnSync(process.execPath, [join(root, 'daemon/launcher/countinghouse.mjs'), 'status'], {
    encoding: 'utf8',
  });
  expect(run.stderr).toBe(
    'error while loading shared libraries: libatomic.so.1\ncountinghouse: Node.js needs a library that this system lacks, ' +
      'named above (Debian, Ubuntu: `apt-get install libatomic1`)\n',
  );
  expect(run.status).toBe(1);
});
