/**
 * A backup that a browser sends in pieces, to be drilled: kept in the data folder until the drill has ended.
 *
 * Invariant: there is one at a time. It never takes the last room of the disk, and is removed when nobody has used it for a while.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backupHeader, inspectBackup } from '../../app/backup/restore.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { isFullFile } from '../../kit/full-disk.ts';
import type { OperatorExtra } from '../operator/context.ts';
import { sweepFiles } from './downloads.ts';

const CODE_BYTES = 32;
const FILE = /^upload-[0-9a-f]{32}\.backup$/;
const UPLOAD_BYTES_MAX = 4 * 1_073_741_824;
const FREE_BYTES_MIN = 268_435_456;
const UNUSED_MS_MAX = 600_000;
const LOOK_MS = 60_000;
const RETRY_SECONDS = 10;

type Upload = { code: string; file: string; bytes: number; received: number; usedAt: number; isBusy: boolean };
type Extra = Pick<OperatorExtra, 'dataDir' | 'drills'>;

export class Uploads {
  readonly #extra: Extra;
  readonly #now: () => number;
  #upload: Upload | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(extra: Extra, now: () => number) {
    this.#extra = extra;
    this.#now = now;
  }

  /**
   * Begins an upload in place of the last one, and returns its code. `bytes`: of the whole file. Throws `Rejected('backup.upload')`
   * for a file that is too large for a browser or for the disk, and `Unavailable` while the last one is being drilled.
   */
  async begin(bytes: number): Promise<string> {
    if (bytes > UPLOAD_BYTES_MAX) {
      const text =
        'This file is too large for a browser, which may send 4 GiB: copy it to the computer of Countinghouse';
      throw new Rejected('backup.upload', text);
    }
    if (this.#isDrilled()) throw new Unavailable('Another drill is running', RETRY_SECONDS);
    await this.sweep();
    const { dataDir } = this.#extra;
    const { bavail, bsize } = await statfs(dataDir);
    if (bavail * bsize - bytes < FREE_BYTES_MIN) {
      throw new Rejected('backup.upload', 'The disk of Countinghouse has too little room for this file');
    }
    const file = join(dataDir, `upload-${randomBytes(16).toString('hex')}.backup`);
    await writeFile(file, '', { flag: 'wx', mode: 0o600 });
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#upload = { code, file, bytes, received: 0, usedAt: this.#now(), isBusy: false };
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
    return code;
  }

  /**
   * Appends a piece that begins at `offset`; returns the file's path once it is whole. Throws `Rejected`: `backup.upload`, and for a
   * file that is no whole backup `backup.format`, `backup.damaged`; it is removed then.
   */
  async add(code: string, offset: number, piece: Uint8Array): Promise<string | null> {
    const upload = this.#upload;
    const fits = upload?.code === code && upload.received === offset && offset + piece.length <= upload.bytes;
    if (!upload || !fits || upload.isBusy) {
      throw new Rejected('backup.upload', 'This upload has ended or was disturbed: choose the file again');
    }
    upload.isBusy = true;
    try {
      await appendFile(upload.file, piece);
      upload.received += piece.length;
      upload.usedAt = this.#now();
      if (offset === 0) await backupHeader(upload.file);
      if (upload.received < upload.bytes) return null;
      await inspectBackup(upload.file);
      return upload.file;
    } catch (error) {
      await this.sweep();
      if (isFullFile(error)) {
        throw new Rejected('backup.upload', 'The disk of Countinghouse is full: nothing of this file was kept');
      }
      throw error;
    } finally {
      upload.isBusy = false;
    }
  }

  /** Removes the upload, also one of an earlier run. */
  async sweep(): Promise<void> {
    clearInterval(this.#timer);
    this.#upload = null;
    await sweepFiles(this.#extra.dataDir, FILE);
  }

  #isDrilled(): boolean {
    const { state } = this.#extra.drills;
    return state?.running === true && state.file === this.#upload?.file;
  }

  async #look(): Promise<void> {
    const upload = this.#upload;
    if (!upload || this.#isDrilled()) return;
    const { state } = this.#extra.drills;
    const isDone = state?.file === upload.file && state.endedAt !== null;
    if (isDone || this.#now() - upload.usedAt > UNUSED_MS_MAX) await this.sweep();
  }
}
