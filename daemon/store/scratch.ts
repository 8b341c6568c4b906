/**
 * A temporary database that leaves nothing behind. Its file is unlinked before a byte is written, so that the system
 * frees it however the process ends. Windows cannot unlink an open file; there it is deleted when the scratch is
 * closed, or by the next clean-up.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

export const SCRATCH_PREFIX = 'countinghouse-drill-';

export class Scratch {
  readonly #folder: string;
  readonly #handle: FileHandle;
  /** To be read once everything was written. */
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
    // opened by name while it is empty, later read through that descriptor
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
