/**
 * `npm run desktop`: builds the shell and starts it from a clone. Electron's program is not part of `npm ci`: its package
 * fetches it at the first start, checks it against the checksums in that package, and this says so beforehand.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd, usableNodes } from '../daemon/launcher/runtime.mjs';
import { buildShell } from './build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const electron = dirname(createRequire(import.meta.url).resolve('electron/package.json'));
const [node] = usableNodes();

if ((await buildShell()) !== 0) process.exit(1);
if (!existsSync(join(electron, 'path.txt'))) {
  process.stderr.write('Fetching Electron, about 110 MB, from github.com …\n');
  if ((await runToEnd(node, [join(electron, 'install.js')], { cwd: root, stdio: 'inherit' })) !== 0) {
    process.stderr.write(
      'Electron could not be fetched. The console works without it: npm start, then `countinghouse console`.\n',
    );
    process.exit(1);
  }
}
const program = createRequire(import.meta.url)('electron');
const env = { ...process.env, COUNTINGHOUSE_NODE: node };
delete env.ELECTRON_RUN_AS_NODE;
const child = spawn(program, [root, ...process.argv.slice(2)], { env, stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
