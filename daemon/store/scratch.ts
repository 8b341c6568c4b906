/**
 * A database that is read once and leaves nothing behind. Its file has no name any more before a byte of it is written, so
 * whatever ends the process, the system frees it: nobody finds it. Windows does not take the name from an open file; there
 * it goes when the scratch is closed, or with the next sweep.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

export const SCRATCH_PREFIX = 'countinghouse-drill-';

export class Scratch {
  readonly #folder: string;
  readonly #handle: FileHandle;
  /** Read from it once everything was written. */
  readonly db: Database.Database;

  private constructor(folder: string, handle: FileHandle, db: Database.Database) {
    this.#folder = folder;
    this.#handle = handle;
    this.db = db;
  }

  static async open(): Promise<Scratch> {
    const folder = await mkdtemp(join(tmpdir(), SCRATCH_PREFIX));
    const file = join(folder, 'scratch.db');
    const handle = await open(file, 'wx', 0o600);
    // opened by its name while it is empty, and read by that descriptor later
    const db = new Database(file, { readonly: true, fileMustExist: true });
    if (process.platform !== 'win32') await rm(folder, { recursive: true });
    return new Scratch(folder, handle, db);
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#handle.writeFile(bytes);
  }

  async close(): Promise<void> {
    this.db.close();
    await this.#handle.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
