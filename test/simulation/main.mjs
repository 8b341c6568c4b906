/** `npm run simulate`: starts `run.ts` with the Node that the product runs on. Valid on Node 18. */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd, usableNodes } from '../../daemon/launcher/runtime.mjs';

const [node] = usableNodes();
if (!node) throw new Error('The Node.js of the product is missing: `npm test` installs it.');
const run = join(dirname(fileURLToPath(import.meta.url)), 'run.ts');
process.exitCode = await runToEnd(node, [run, ...process.argv.slice(2)], {
  stdio: 'inherit',
  // work on files ends in its order
  env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
});
