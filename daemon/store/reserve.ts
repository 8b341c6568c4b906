/** A file that reserves room on the disk. Deleted when the disk is full, so that the operator can still act. */
import { randomFillSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'reserve';
/** This many times its size must be free before it is made again, because the disk may fill up further. */
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

  /** Makes the file if it is missing and there is room. Returns whether it exists. */
  keep(): boolean {
    if (this.#isWhole()) return true;
    if (!this.hasRoom()) return false;
    try {
      const file = openSync(this.#file, 'w', 0o600);
      try {
        // random bytes, because a compressing file system would reserve no room for others
        writeSync(file, randomFillSync(Buffer.alloc(this.#bytes)));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // told below
    }
    if (this.#isWhole()) return true;
    // a quota may take a part of it, which would be the last of its room
    this.giveUp();
    return false;
  }

  giveUp(): void {
    rmSync(this.#file, { force: true });
  }

  /** Whether the disk has more free room than the file needs. */
  hasRoom(): boolean {
    return this.freeBytes() >= ROOM_FACTOR * this.#bytes;
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }

  #isWhole(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === this.#bytes;
  }
}
