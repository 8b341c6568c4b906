/** Builds the shell into dist/main/, beside the built product. Valid on Node 18. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd, usableNodes } from '../daemon/launcher/runtime.mjs';

const root = join(fileURLToPath(import.meta.url), '..', '..');
const VITE = join(root, 'node_modules', 'vite', 'bin', 'vite.js');

/** Resolves to 0 if both bundles were made. */
export async function buildShell() {
  const [node] = usableNodes();
  for (const mode of ['preload', 'main']) {
    const args = [VITE, 'build', '--config', join(root, 'main', 'vite.config.ts'), '--mode', mode];
    const code = await runToEnd(node, args, { cwd: root, stdio: 'inherit' });
    if (code !== 0) return code;
  }
  return 0;
}
