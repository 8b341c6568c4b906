/**
 * A file that reserves room on the disk. It is deleted when the disk is full, so that the operator can still act, and
 * made again when there is room.
 */
import { randomFillSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isFullFile } from '../kit/full-disk.ts';

const NAME = 'reserve';
/** This many times its size must be free before it is made again, because the disk may fill up further. */
const ROOM_FACTOR = 3;
/** Several pages of a database. */
const TRIAL_BYTES = 65_536;

/** Returns why not; null: the file is on the disk, or a part of it. */
function write(path: string, bytes: number): NodeJS.ErrnoException | null {
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      // random bytes, because a compressing file system would reserve no room for others
      const written = writeSync(file, randomFillSync(Buffer.alloc(bytes)));
      fsyncSync(file);
      // a quota takes the part that there is room for
      if (written < bytes) return Object.assign(new Error(`${path} took a part`), { code: 'ENOSPC' });
    } finally {
      closeSync(file);
    }
    return null;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/** A disk that became read-only meanwhile keeps the file. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

export class Reserve {
  readonly #folder: string;
  readonly #file: string;
  readonly #bytes: number;

  constructor(folder: string, bytes: number) {
    this.#folder = folder;
    this.#file = join(folder, NAME);
    this.#bytes = bytes;
  }

  /** Makes the file if it is missing and there is room. Returns whether it exists. */
  keep(): boolean {
    if (this.#isWhole()) return true;
    if (!this.hasRoom()) return false;
    write(this.#file, this.#bytes);
    if (this.#isWhole()) return true;
    // a quota may take a part of it, which would be the last of its room
    this.giveUp();
    return false;
  }

  giveUp(): void {
    remove(this.#file);
  }

  /** Whether the disk has more free room than the file needs. */
  hasRoom(): boolean {
    return this.freeBytes() >= ROOM_FACTOR * this.#bytes;
  }

  /** Whether a quota or a limit of the process is reached, of which the file system need not know: it takes no further file. */
  takesNothing(): boolean {
    const trial = `${this.#file}.trial`;
    try {
      const refusal = write(trial, TRIAL_BYTES);
      return refusal !== null && (isFullFile(refusal) || refusal.code === 'EFBIG');
    } finally {
      remove(trial);
    }
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  #isWhole(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === this.#bytes;
  }
}
