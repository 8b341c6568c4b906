/**
 * The backup that is made before a new release changes a database.
 *
 * Invariant: the backup from before an upgrade's first migration is kept until the upgrade ends, however often it is
 * interrupted: no later one opens in the older release.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { present, Rejected } from '../../domain/errors.ts';
import { isThere, makeBackup } from './make.ts';

const FOLDER = 'upgrades';
/** The release that upgrades, and when. */
const NAME = /^before-.+-(\d{8}-\d{9})\.backup$/;
const KEPT_MAX = 3;
/** Names the backup of an upgrade that has not ended. */
const UNFINISHED = 'unfinished.json';
const Unfinished = z.object({ name: z.string(), applied: z.int() });

/** `now`: milliseconds since 1970. `applied`: how many migrations the database has. */
type Upgrade = { release: string; now: number; applied: number };

/**
 * Makes it in the data directory and keeps a few earlier ones. Returns its file, which is an earlier one if that
 * upgrade was interrupted; null without a wallet, when nothing of value is stored. Throws `Rejected('upgrade.backup')`.
 */
export async function backUpBeforeUpgrade(dataDir: string, { release, now, applied }: Upgrade): Promise<string | null> {
  const folder = join(dataDir, FOLDER);
  const stamp = new Date(now).toISOString().replace(/[-:.]/g, '').replace('T', '-').slice(0, 18);
  const name = `before-${release}-${stamp}.backup`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const begun = await unfinished(folder);
    // with more migrations than then, no older release has written to the database since
    if (begun && begun.applied < applied) return join(folder, begun.name);
    const { file } = await makeBackup({ dataDir, file: join(folder, name), release, now });
    await writeFile(join(folder, UNFINISHED), JSON.stringify({ name, applied }), { mode: 0o600, flush: true });
    await dropOldest(folder, name);
    return file;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code === 'backup.no_wallet') return null;
    throw new Rejected(
      'upgrade.backup',
      `The database must be brought up to date, and the backup that comes before it could not be made: ${message}. Nothing was changed`,
    );
  }
}

/** To be called at every start once the database is up to date. */
export async function endUpgrade(dataDir: string): Promise<void> {
  await rm(join(dataDir, FOLDER, UNFINISHED), { force: true });
}

async function unfinished(folder: string): Promise<z.infer<typeof Unfinished> | null> {
  try {
    const begun = Unfinished.parse(JSON.parse(await readFile(join(folder, UNFINISHED), 'utf8')));
    return (await isThere(join(folder, begun.name))) ? begun : null;
  } catch {
    return null;
  }
}

/** `made` is kept whatever the clock says. */
async function dropOldest(folder: string, made: string): Promise<void> {
  const madeAt = (name: string): string => present(NAME.exec(name)?.[1], 'time in the name of a backup');
  const older = (await readdir(folder)).filter((name) => NAME.test(name) && name !== made);
  older.sort((a, b) => (madeAt(a) < madeAt(b) ? -1 : 1));
  for (const name of older.slice(0, Math.max(0, older.length + 1 - KEPT_MAX)))
    await rm(join(folder, name), { force: true });
}
