/**
 * The stamp of this instance: a counter in the database and, always behind it, in a file beside it. A database that comes back
 * older has a lower counter than the file. At the start the signer's journal and the backup folder are asked, too, whether they
 * know more than the database; what the whole folder has lost, the chain tells (`older.ts`).
 *
 * Another machine, another disk or a copied folder alone begin no quarantine: they are normal after a move. They are told.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import { takeLock } from '../../store/lock.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import { undecidedSpendsOfKey, versionByTxid } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { readBackupKey } from '../../wallet/backup-key.ts';
import { isMissing, replaceFile, sizeOf } from '../../wallet/files.ts';
import { placeIn, type Recorded, recordedIn } from '../../wallet/signer/recorded.ts';
import { raiseAs } from '../alerts.ts';
import type { App } from '../app.ts';
import { DATABASE } from '../backup/container.ts';
import { timesOfBackups } from '../backup/folder.ts';
import { isCutOff, isMoving, RESTORE_WORK } from '../backup/leftovers.ts';
import { VAULT_FOLDER } from '../backup/make.ts';
import { STAMP_SETTING } from './clock.ts';
import { beginAsOlder } from './older.ts';
import { isIn, OwnTimes, Times } from './own-times.ts';
import { quarantineOf } from './quarantine.ts';

const FILE = 'instance.json';
const MACHINE_FILE = '/etc/machine-id';
/** Everything that is given out within this time is counted together. */
const PAUSE_MS = 1_000;

/**
 * `at`: the latest time at which it was stamped, milliseconds since 1970. `journal`: where the signer's journal was then. `times`: absent
 * in databases of earlier releases, and while no folder of backups is set.
 */
const Stored = z.object({
  id: z.string(),
  count: z.int(),
  at: z.number(),
  journal: z.object({ beginning: z.string(), lines: z.int() }).nullable(),
  times: Times.optional(),
});
type Stored = z.infer<typeof Stored>;

/** `machine`: a hash; null where machines have no id. */
const Beside = z.object({
  id: z.string(),
  count: z.int(),
  machine: z.string().nullable(),
  inode: z.number(),
  folder: z.string(),
});
type Beside = z.infer<typeof Beside>;

export class Instance {
  readonly #app: App;
  readonly #folder: string;
  #stored: Stored;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  readonly #times: OwnTimes;
  #isLooking = false;

  private constructor(app: App, folder: string) {
    this.#app = app;
    this.#folder = folder;
    const now = app.now();
    const stored = storedIn(app.store);
    this.#stored = stored ?? { id: randomUUID(), count: 0, at: 0, journal: null };
    this.#times = new OwnTimes(stored?.times, stored?.at ?? now);
    this.#note(now);
  }

  /** Looks whether the database is an older one, and begins the quarantine then. To be called before anything is given out. */
  static async begin(app: App, folder: string): Promise<Instance> {
    const instance = new Instance(app, folder);
    const beside = await besideIn(folder);
    const isQuarantined = quarantineOf(app.store) !== null;
    if (isQuarantined) instance.#times.forget();
    const reason = isQuarantined ? null : await instance.#whyOlder(beside);
    if (reason) await app.store.write((tx) => beginAsOlder(app, tx, reason));
    else if (beside) await instance.#tellMoved(beside);
    await instance.#write(beside?.count ?? 0);
    return instance;
  }

  /** To be called after something was given out or signed, and every minute. */
  touch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#writing = this.stamp();
    }, PAUSE_MS).unref();
  }

  /** Compares with the backups where there is a gap, once their folder can be read. To be called every minute. Never throws. */
  async lookAgain(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const reason = await this.#backupAhead();
      if (reason) await this.#app.store.write((tx) => beginAsOlder(this.#app, tx, reason));
    } catch (error) {
      this.#app.log.warn({ error }, 'the backups were not compared with this database');
    } finally {
      this.#isLooking = false;
    }
  }

  /** Never throws: without it a rollback is noticed by other signs, or by an earlier stamp. */
  async stamp(): Promise<void> {
    try {
      await this.#write(0);
    } catch (error) {
      this.#app.log.warn({ error }, 'the stamp of this service was not stored');
    }
  }

  async stop(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#writing;
    await this.stamp();
  }

  #note(now: number): void {
    if (this.#app.config.backup.folder !== null) this.#times.note(now);
  }

  /** First the database, so that the file is never ahead of it. */
  async #write(atLeast: number): Promise<void> {
    const { id, count, at } = this.#stored;
    const now = this.#app.now();
    this.#note(now);
    const journal = await placeIn(join(this.#folder, VAULT_FOLDER));
    const next: Stored = {
      id,
      count: Math.max(count, atLeast) + 1,
      at: Math.max(at, now),
      journal,
      // without a folder the times are not noted, and the next start begins with the latest one
      times: this.#app.config.backup.folder === null ? undefined : this.#times.known,
    };
    const value = JSON.stringify(next);
    // a backup may be made while the disk is full: without a stamp of then, the next start would take the database for older than it
    await this.#app.store.urgently(() =>
      this.#app.store.write((tx) => tx.run(saveSetting, { key: STAMP_SETTING, value, updated_at: now })),
    );
    this.#stored = next;
    const beside: Beside = { ...(await placeOf(this.#folder, id)), id, count: next.count };
    await replaceFile(join(this.#folder, FILE), `${JSON.stringify(beside)}\n`);
  }

  async #whyOlder(beside: Beside | null): Promise<Message | null> {
    if (!this.#givesOut()) return null;
    const { id, count } = this.#stored;
    if (beside && (beside.id !== id || beside.count > count)) return message('older.database');
    return (await this.#journalAhead()) ?? (await this.#backupAhead());
  }

  /** Without an account nothing was given out. */
  #givesOut(): boolean {
    return this.#app.directory.accounts().some(({ chainKey }) => !chainKey.startsWith('sandbox:'));
  }

  async #journalAhead(): Promise<Message | null> {
    const { at, journal } = this.#stored;
    // a service of an earlier release knows no place
    if (at === 0) return null;
    // there was no journal when it was stamped: the wallet is younger
    const place = { beginning: journal?.beginning ?? null, after: journal?.lines ?? 0 };
    const { signed } = await recordedIn(join(this.#folder, VAULT_FOLDER), place);
    const chains = [...new Set(this.#app.directory.accounts().map(({ chainKey }) => chainKey))];
    const unknown = signed.filter((one) => !isKnown(this.#app.store, chains, one)).length;
    return unknown > 0 ? message('older.journal', { count: unknown }) : null;
  }

  /** Gaps stay while the folder of the backups, or one of a gap, cannot be read: the next look is for them, too. */
  async #backupAhead(): Promise<Message | null> {
    const { gaps } = this.#times;
    if (gaps.length === 0) return null;
    const { folder } = this.#app.config.backup;
    const key = await readBackupKey(join(this.#folder, VAULT_FOLDER)).catch(() => null);
    // a quarantine looks at all that happened since
    if (folder === null || key === null || !this.#givesOut() || quarantineOf(this.#app.store)) {
      this.#times.forget();
      return null;
    }
    const found = await timesOfBackups(folder, key.fingerprint).catch(() => null);
    if (found === null) return null;
    const ahead = found.made.filter((at) => this.#times.isForeign(at));
    if (ahead.length === 0) {
      this.#times.compared(gaps, found.unread);
      return null;
    }
    const made = Math.max(...ahead);
    const end = this.#times.gaps.findLast((gap) => isIn(gap, made))?.from ?? made;
    return message('older.backup', { made: new Date(made).toISOString(), end: new Date(end).toISOString() });
  }

  async #tellMoved(before: Beside): Promise<void> {
    const { machine, inode, folder } = await placeOf(this.#folder, before.id);
    const isOtherMachine = machine !== null && before.machine !== null && machine !== before.machine;
    if (isOtherMachine) this.#app.log.warn('this data was on another machine before');
    // disks that are mounted anew may number their files anew
    if (inode === before.inode || (!isOtherMachine && folder === before.folder)) return;
    this.#app.log.warn({ folder }, 'this data was copied or moved');
    await raiseAs(this.#app, null, 'data.moved', folder, { folder });
  }
}

function storedIn(reader: Reader): Stored | null {
  const row = reader.get(settingOf, { key: STAMP_SETTING });
  return row ? Stored.parse(JSON.parse(row.value)) : null;
}

/**
 * Throws `Rejected('store.damaged')` if a wallet lost its database, or a restore has not moved it yet: an empty one would repeat its
 * addresses, and would keep the restore from being repeated. Throws `Rejected('store.locked')` while that restores.
 */
export async function needDatabase(folder: string): Promise<void> {
  const size = (await sizeOf(join(folder, DATABASE))) ?? null;
  if (size !== null && size > 0) return;
  const names = await readdir(folder);
  const unpacked = names.find((name) => name.startsWith(RESTORE_WORK) && !isMoving(name));
  if (unpacked !== undefined || (await isCutOff(folder, names))) {
    takeLock(folder).close();
    const text = `A restore into ${folder} was broken off: restore again into it, with the same backup, and then start the service`;
    const other = unpacked === undefined ? '' : `. To begin without that, remove ${join(folder, unpacked)}`;
    throw new Rejected('store.damaged', `${text}${other}`);
  }
  if (!(await besideIn(folder)) || !(await hasKey(folder))) return;
  const text = `${DATABASE} in ${folder} is ${size === null ? 'gone' : 'empty'}, and this service has a wallet. Put the database back, or restore the newest backup into another folder: countinghouse restore FILE --data-dir FOLDER. To begin anew with the same wallet, remove ${FILE} and use restore words`;
  throw new Rejected('store.damaged', text);
}

/** Whether there is or was a wallet, here or with a separate signer. */
const hasKey = (folder: string): Promise<boolean> =>
  readBackupKey(join(folder, VAULT_FOLDER)).then(
    () => true,
    (error: unknown) => !(error instanceof Rejected) || error.code !== 'backup.no_wallet',
  );

async function besideIn(folder: string): Promise<Beside | null> {
  try {
    return Beside.parse(JSON.parse(await readFile(join(folder, FILE), 'utf8')));
  } catch {
    return null;
  }
}

async function placeOf(folder: string, salt: string): Promise<Pick<Beside, 'machine' | 'inode' | 'folder'>> {
  const text = await readFile(MACHINE_FILE, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  const id = text.trim();
  const machine = id === '' ? null : createHash('sha256').update(`${salt} ${id}`).digest('hex');
  const { ino } = await stat(join(folder, DATABASE));
  return { machine, inode: ino, folder };
}

/** Whether the database has a signature, or the plan that it was made for: a crash came between the two. */
function isKnown(reader: Reader, chains: readonly string[], { txid, keys }: Recorded): boolean {
  return chains.some(
    (chain_key) =>
      reader.get(versionByTxid, { txid, chain_key }) !== undefined ||
      keys.some((conflict_key) => reader.all(undecidedSpendsOfKey, { conflict_key, chain_key }).length > 0),
  );
}
