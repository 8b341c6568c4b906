/**
 * `npm run desktop`: builds the shell and starts it from a clone. Electron's program is not part of `npm ci`: its package
 * fetches it at the first start, checks it against the checksums in that package, and this says so beforehand.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { usableNodes } from '../daemon/launcher/runtime.mjs';
import { buildShell } from './build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const electron = dirname(createRequire(import.meta.url).resolve('electron/package.json'));
const [node] = usableNodes();

/** Resolves to why it failed; empty if it did not. */
function fetchElectron() {
  const child = spawn(node, [join(electron, 'install.js')], { cwd: root, stdio: ['ignore', 'inherit', 'pipe'] });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    told += text;
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    // of its stack the first line says what happened
    child.once('close', (code) => resolve(code === 0 ? '' : told.trim().split('\n')[0] || `it ended with ${code}`));
  });
}

if (!existsSync(join(electron, 'path.txt'))) {
  process.stderr.write('Fetching Electron, about 110 MB, from github.com …\n');
  const failed = await fetchElectron();
  if (failed !== '') {
    process.stderr.write(`Electron could not be fetched (${failed}).
Try again where github.com is reached, or name another source: ELECTRON_MIRROR=https://… npm run desktop
The console works in a browser without it: run npm start and open the link that it prints.
`);
    process.exit(1);
  }
}
if ((await buildShell()) !== 0) process.exit(1);
const program = createRequire(import.meta.url)('electron');
const env = { ...process.env, COUNTINGHOUSE_NODE: node };
delete env.ELECTRON_RUN_AS_NODE;
const child = spawn(program, [root, ...process.argv.slice(2)], { env, stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
