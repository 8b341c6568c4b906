/**
 * The data directories that are measured on: one without an invoice and one with a million, both with full pools of
 * addresses. They take a minute to make and are kept between runs, by what made them.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DATABASE, here, keptFolder, runTool, startDaemon, workFolder } from './servers.mjs';

/** What the open invoices of the seed allow with a wide margin. */
const KEPT_MS_MAX = 7 * 86_400_000;
/** Addresses ready in every account: a burst takes less than half of them. */
export const POOL = 20_000;
const NAMES_MAX = 50_000;
const DECADE_POOL = 1_000;

/** What of the store decides on the rows of a directory: a change of anything else leaves the kept ones usable. */
const STORE_PARTS = ['migrations', 'queries', 'migrations.ts', 'schema.ts', 'statement.ts'];

/** A hash over what the directories depend on: the store's tables and statements, and that which fills them. */
function makersHash(dist) {
  const hash = createHash('sha256');
  const add = (path) => {
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name));
    else if (path.endsWith('.ts')) hash.update(readFileSync(path));
  };
  for (const part of STORE_PARTS) add(join(dist, '..', 'daemon', 'store', part));
  for (const name of ['seed.mjs', 'decade.mjs', 'stores.mjs']) hash.update(readFileSync(join(here, name)));
  return hash.digest('hex').slice(0, 12);
}

/** The folder of that name, made by `make` in a folder beside it unless it is there and fresh. */
async function kept(name, make) {
  const folder = keptFolder(name);
  if (existsSync(folder) && Date.now() - statSync(folder).mtimeMs < KEPT_MS_MAX) return folder;
  rmSync(folder, { recursive: true, force: true });
  const fresh = `${folder}.${process.pid}`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  await make(fresh);
  renameSync(fresh, folder);
  return folder;
}

/** Waits until the daemon has all its addresses ready. */
export function poolFull(dataDir, pool) {
  return runTool('ready.mjs', { file: join(dataDir, DATABASE), pool });
}

async function makeEmpty(dist, folder, pool) {
  const dataDir = workFolder();
  const daemon = await startDaemon(dist, dataDir, pool);
  await poolFull(dataDir, pool);
  await daemon.stop();
  cpSync(dataDir, join(folder, 'data'), { recursive: true });
  writeFileSync(join(folder, 'key'), daemon.api_key);
}

async function makeFull(dist, folder, empty, invoices) {
  const dataDir = join(folder, 'data');
  cpSync(empty, folder, { recursive: true });
  const { names } = await runTool('seed.mjs', { dist, dataDir, invoices, names: NAMES_MAX });
  writeFileSync(join(folder, 'names'), names.join('\n'));
}

/** Makes what is missing. Each has `data` to copy, the API key, and `names`, a file of invoices to read or null. */
export async function prepareStores(dist, invoices, say) {
  const hash = makersHash(dist);
  const empty = await kept(`empty-${hash}`, (folder) => {
    say(`Making a data directory with ${POOL} addresses ready for each chain (kept for later runs) …`);
    return makeEmpty(dist, folder, POOL);
  });
  const full = await kept(`full-${invoices}-${hash}`, (folder) => {
    say(`Making a data directory with ${invoices} invoices (kept for later runs) …`);
    return makeFull(dist, folder, empty, invoices);
  });
  const apiKey = readFileSync(join(empty, 'key'), 'utf8');
  return {
    empty: { data: join(empty, 'data'), apiKey, names: null },
    full: { data: join(full, 'data'), apiKey, names: join(full, 'names') },
  };
}

/** The data directory of a business of ten years, made if it is missing. */
export async function prepareDecade(dist, { invoices, withdrawals, seed }, say) {
  const hash = makersHash(dist);
  const folder = await kept(`decade-${invoices}-${withdrawals}-${seed}-${hash}`, async (fresh) => {
    say(`Making ten years with ${invoices} invoices and ${withdrawals} withdrawals (kept for later runs) …`);
    await makeEmpty(dist, fresh, DECADE_POOL);
    const dataDir = join(fresh, 'data');
    await runTool('seed.mjs', { dist, dataDir, invoices, names: 1 });
    await runTool('decade.mjs', { dataDir, withdrawals, seed });
  });
  return join(folder, 'data');
}
