/**
 * A file that keeps room on the disk. It is given up when the disk is full, so that the operator can still act, and is
 * made again when there is room.
 */
import { randomFillSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'reserve';
/** So many times its size must be free before it is made again: what made the disk full goes on growing. */
const ROOM_FACTOR = 3;

export class Reserve {
  readonly #folder: string;
  readonly #file: string;
  readonly #bytes: number;

  constructor(folder: string, bytes: number) {
    this.#folder = folder;
    this.#file = join(folder, NAME);
    this.#bytes = bytes;
  }

  /** Makes the file if it is missing and there is room for it. Returns whether it is there. */
  keep(): boolean {
    if (this.#isWhole()) return true;
    if (!this.hasRoom()) return false;
    try {
      const file = openSync(this.#file, 'w', 0o600);
      try {
        // random bytes: a file system that compresses would store others in no room at all
        writeSync(file, randomFillSync(Buffer.alloc(this.#bytes)));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      this.giveUp();
    }
    return this.#isWhole();
  }

  /** Removes the file. */
  giveUp(): void {
    rmSync(this.#file, { force: true });
  }

  /** Whether the disk has more room than the file needs. */
  hasRoom(): boolean {
    return this.freeBytes() >= ROOM_FACTOR * this.#bytes;
  }

  /** What the disk has left for this user, in bytes. */
  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  #isWhole(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === this.#bytes;
  }
}
