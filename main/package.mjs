/**
 * `npm run desktop:package`: makes the packages of this platform. electron-builder is a package of its own
 * (main/packaging), because it is larger than everything else together. Arguments go on to it, such as `--dir`.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeMaker } from '../daemon/launcher/release.mjs';
import { runToEnd, usableNodes } from '../daemon/launcher/runtime.mjs';
import { writeSbom } from '../daemon/launcher/sbom.mjs';
import { buildShell } from './build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const builder = join(root, 'main', 'packaging', 'node_modules', 'electron-builder', 'cli.js');
const [node] = usableNodes();

if (!existsSync(builder)) {
  process.stderr.write('First: npm ci --ignore-scripts --prefix main/packaging\n');
  process.exit(1);
}
if ((await buildShell()) !== 0) process.exit(1);
writeSbom(root);
writeMaker(root);
const { version } = await import('electron/package.json', { with: { type: 'json' } }).then((module) => module.default);
const { packageConfig, writeRuntimes } = await import('./packaging/config.mjs');
writeRuntimes(root);
const config = join(root, 'dist', 'electron-builder.json');
writeFileSync(config, JSON.stringify(packageConfig(root)));
const args = [
  builder,
  '--config',
  config,
  '--publish',
  'never',
  `-c.electronVersion=${version}`,
  ...process.argv.slice(2),
];
const code = await runToEnd(node, args, { cwd: root, stdio: 'inherit' });
if (code === 0 && process.env.COUNTINGHOUSE_UPDATE_KEY) {
  const sign = 'import(process.argv[1]).then((all) => all.signReleases(...process.argv.slice(2)))';
  const script = pathToFileURL(join(root, 'main', 'packaging', 'config.mjs')).href;
  const work = ['-e', sign, script, join(root, 'dist', 'packages'), process.env.COUNTINGHOUSE_UPDATE_KEY];
  process.exit(await runToEnd(node, work, { cwd: root, stdio: 'inherit' }));
}
process.exit(code);
