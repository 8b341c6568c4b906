/**
 * The folder of scheduled backups: checks it, and deletes old backups.
 *
 * Invariant: only complete backups of this wallet with at least `keep` newer ones are deleted, and never the one just
 * made. The time of a backup is the one in its header, because names and dates of files may be wrong. During a quarantine none of
 * before it is deleted: it may know more than the data of now.
 */
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Rejected } from '../../domain/errors.ts';
import { unlessAborted } from '../../kit/async.ts';
import { whyRefused } from '../../kit/full-disk.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import { isMissing } from '../../wallet/files.ts';
import { inspectSealed, type SealedHeader } from '../../wallet/sealed-file.ts';
import type { App } from '../app.ts';
import { deadline } from '../deadline.ts';
import { isThere } from './make.ts';

/** Marks the configured folder, to recognise an empty mount point. */
export const MARKER = 'countinghouse-backups.txt';
const MARKER_TEXT = `Countinghouse keeps its scheduled backups in this folder. Without this file it writes none here: the disk might not
be the one that was meant. Make a file of this name on every disk that you use in turn.
`;
const FOLDER_SETTING = 'backup.folder';
const NAME = /^countinghouse-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(?:-\d+)?\.backup$/;
const PARTIAL = /^countinghouse-\d{8}-\d{6}(?:-\d+)?\.backup\.[0-9a-f]{12}\.partial$/;
/** A smaller lead counts as a correction of the clock. */
const AHEAD_MS_MIN = 10 * 60_000;
const NAMES_MAX = 10_000;
const LOOKED_AT_MAX = 100;
const LOOK_MS_MAX = 10_000;

/**
 * Checks the folder at the start, and marks a newly configured one. Throws `Rejected('backup.folder')` if it does not
 * exist or cannot be written.
 */
export async function prepareFolder(app: Pick<App, 'store' | 'now'>, folder: string): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown');
  if (typeof found === 'string' || !found.isDirectory()) {
    const why = typeof found === 'string' ? found : 'it is no folder';
    throw new Rejected(
      'backup.folder',
      `The folder of the scheduled backups, ${folder}, cannot be used (${why}): make it, mount its disk, or change ` +
        '`folder` under [backup] in the configuration',
    );
  }
  if (app.store.get(settingOf, { key: FOLDER_SETTING })?.value === folder) return;
  await writeFile(join(folder, MARKER), MARKER_TEXT).catch((error: NodeJS.ErrnoException) => {
    throw new Rejected(
      'backup.folder',
      `The folder of the scheduled backups, ${folder}, cannot be written: ${whyRefused(error)}`,
    );
  });
  await app.store.write((tx) => tx.run(saveSetting, { key: FOLDER_SETTING, value: folder, updated_at: app.now() }));
}

/** Throws `Rejected('backup.unmounted')` if the folder lacks the marker. */
export async function needMarker(folder: string): Promise<void> {
  if (!(await isThere(join(folder, MARKER)))) throw unmounted(folder);
}

function unmounted(folder: string): Rejected {
  const text = `${folder} lacks the file ${MARKER}: is its disk mounted? If it is the right one, make an empty file of that name there`;
  return new Rejected('backup.unmounted', text);
}

/** An unused name for a backup made now. */
export async function freeName(folder: string, now: number): Promise<string> {
  const stamp = new Date(now).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
  for (let n = 1; n < NAMES_MAX; n++) {
    const file = join(folder, `countinghouse-${stamp}${n === 1 ? '' : `-${n}`}.backup`);
    if (!(await isThere(file))) return file;
  }
  throw new Rejected('backup.exists', `Too many backups of ${stamp} lie in ${folder}`);
}

/** Deletes the remains of interrupted backups. No backup may be running. Throws when `signal` is aborted. */
export async function sweepPartials(folder: string, signal: AbortSignal): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => PARTIAL.test(each))) {
    signal.throwIfAborted();
    await rm(join(folder, name), { force: true });
  }
}

/** Files in the folder with problems: backups from the future, and files called backups that do not open. */
export type Oddities = { future: string[]; broken: string[] };

/**
 * When the newest whole backup of a wallet in the folder was made, in milliseconds since 1970; null: there is none. One of a
 * time after `now` was made while a clock was wrong, and does not count. `fingerprint`: null for any wallet. Throws as `readdir`, and
 * `Unavailable` while the disk does not answer.
 */
export async function newestBackup(folder: string, fingerprint: string | null, now: number): Promise<number | null> {
  const { found } = await look(folder);
  const times = found
    .filter(({ header, at }) => header !== null && at <= now + AHEAD_MS_MIN)
    .filter(({ header }) => fingerprint === null || header?.fingerprint === fingerprint);
  return times.length === 0 ? null : Math.max(...times.map(({ at }) => at));
}

/**
 * When the newest backups of a wallet in the folder were made, and those that could not be read, by their names; milliseconds since 1970.
 * Throws as `newestBackup`, and `Rejected('backup.unmounted')` where the marker is missing.
 */
export async function timesOfBackups(
  folder: string,
  fingerprint: string,
): Promise<{ made: number[]; unread: number[] }> {
  const { found, hasMarker } = await look(folder);
  if (!hasMarker) throw unmounted(folder);
  const made = found.filter(({ header }) => header?.fingerprint === fingerprint);
  return { made: made.map(({ at }) => at), unread: found.filter(({ isUnread }) => isUnread).map(({ at }) => at) };
}

function look(folder: string): Promise<Look> {
  const looking = looks.get(folder) ?? lookInto(folder).finally(() => looks.delete(folder));
  looks.set(folder, looking);
  return unlessAborted(looking, deadline(LOOK_MS_MAX, folder));
}

/** By folder. A network disk that is away may never answer, and each look at it holds one of the process's few threads. */
const looks = new Map<string, Promise<Look>>();

type Found = { header: SealedHeader | null; at: number; isUnread: boolean };
type Look = { found: Found[]; hasMarker: boolean };

/** The names of later ones are larger, unless a clock was wrong. */
async function lookInto(folder: string): Promise<Look> {
  const all = await readdir(folder);
  const names = all.filter((each) => NAME.test(each)).sort();
  const found: Found[] = [];
  for (const name of names.slice(-LOOKED_AT_MAX)) found.push(await headerOf(join(folder, name)));
  return { found, hasMarker: all.includes(MARKER) };
}

/** `header`: null if the file is no whole backup, or its disk did not give it: then it is unread, and its time is the one in its name. */
async function headerOf(file: string): Promise<Found> {
  try {
    const header = await inspectSealed(file);
    const at = Date.parse(header.made_at);
    return { header: Number.isNaN(at) ? null : header, at, isUnread: false };
  } catch (error) {
    const at = Date.parse(basename(file).replace(NAME, '$1-$2-$3T$4:$5:$6Z'));
    return { header: null, at, isUnread: !(error instanceof Rejected || isMissing(error)) };
  }
}

/**
 * The backups of a wallet that are kept: the newest `keep`, which include `made`, and those that were made up to `until`, milliseconds
 * since 1970. Null: no others. `now`: milliseconds since 1970.
 */
type Kept = { keep: number; until: number | null; made: string; fingerprint: string; now: number };

/** Deletes the other backups of a wallet. */
export async function rotate(folder: string, { keep, until, made, fingerprint, now }: Kept): Promise<Oddities> {
  const past: { file: string; at: number }[] = [];
  const odd: Oddities = { future: [], broken: [] };
  for (const name of (await readdir(folder)).filter((each) => NAME.test(each)).sort()) {
    const file = join(folder, name);
    if (file === made) continue;
    const { header, at } = await headerOf(file);
    if (header === null) odd.broken.push(name);
    else if (header.fingerprint !== fingerprint) continue;
    else if (at > now + AHEAD_MS_MIN) odd.future.push(name);
    else if (until === null || at > until) past.push({ file, at });
  }
  past.sort((a, b) => b.at - a.at);
  for (const { file } of past.slice(keep - 1)) await rm(file, { force: true });
  return odd;
}
