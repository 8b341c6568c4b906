/**
 * The signer's journal: an append-only file whose lines have MACs, and beside it the head with a MAC of its own. The
 * MAC of a line covers the line before it. The head names the newest line for which a signature was given out. Both are
 * on the disk before a signature leaves. So a crash or a restart loses neither the spent coins nor the used limits.
 *
 * Detected, and refused from then on: an altered, missing, added or reordered line; a file that was cut short, with its
 * own head or a forged one; a missing file or head. A file that another process changed since it was read takes no line. Not detected: an old head together with a file cut to fit it, or
 * the removal of both files, by somebody who can write to the folder. The daemon's user cannot do that if the signer is
 * a service of its own user. The daemon's database also knows the coins, and the chain accepts one spend of a coin.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { exists, replaceFile } from '../files.ts';
import { type Epoch, sameMac } from './approval.ts';
import { HEAD_FILE, JOURNAL_BYTES_MAX, JOURNAL_FILE, UNASKED_BYTES_MAX, UNASKED_DAY_BYTES_MAX } from './files.ts';
import { holdFolder } from './holder.ts';
import { Chain } from './journal-chain.ts';
import { altered, type Head, headText, LINE_BYTES_MAX, Line, MAC_CHARS, parseHead } from './journal-line.ts';
import { JournalMemory } from './journal-memory.ts';
import { readLines } from './lines.ts';
import { type Memory, overLimit } from './permission.ts';

/** More than the first line has. */
const START_BYTES_MAX = 4_096;
const EPOCH_BYTES = 16;
const RETRY_SECONDS = 1;

/** Another process wrote to the journal since it was read here. Nothing is lost: opened again, it says what was written. */
export class StaleJournal extends Unavailable {
  constructor() {
    super('Another process wrote to the record of signatures: try again', RETRY_SECONDS);
    this.name = 'StaleJournal';
  }
}

type JournalOptions = {
  /** Of words that were just made. */
  isFresh?: boolean;
  /** Called right before a line is written. If it throws, nothing is written. */
  beforeWrite?: () => Promise<void>;
};

export class Journal {
  /** Whether lines of a second signer were found and joined when it was opened. */
  wasJoined = false;
  readonly #memory = new JournalMemory();
  readonly #folder: string;
  readonly #key: Buffer;
  readonly #file: FileHandle;
  readonly #beforeWrite: () => Promise<void>;
  readonly #chain: Chain;
  #bytes = 0;
  /** The head's text as it was read or written last. */
  #head: string | null;
  /** Whether the head does not name the newest line yet, as when the disk took the line and not the head. */
  #isBehind = false;
  /** Whether heads have a MAC of their own since some line. */
  #sealed = false;
  /** Set while the end of the file is unknown: an incomplete line may be there. */
  #broken = false;

  private constructor(
    { folder, key, head }: { folder: string; key: Buffer; head: string | null },
    file: FileHandle,
    beforeWrite: () => Promise<void>,
  ) {
    this.#folder = folder;
    this.#key = key;
    this.#head = head;
    this.#file = file;
    this.#beforeWrite = beforeWrite;
    this.#chain = new Chain(key);
  }

  /**
   * Opens the journal of this folder, or begins one. The caller wipes the key after `close`. Throws
   * `Rejected`: `signer.journal` if the files are not as the signer left them, `store.newer` if a newer release did.
   */
  static async open(
    folder: string,
    key: Buffer,
    fingerprint: string,
    now: number,
    { isFresh = false, beforeWrite = async () => {} }: JournalOptions = {},
  ): Promise<Journal> {
    const path = join(folder, JOURNAL_FILE);
    const text = await headText(folder);
    const head = parseHead(text);
    if (head && !(await exists(path))) throw altered();
    // 'as': an appended line is on the disk when the call returns; '+': it is read back
    const journal = new Journal({ folder, key, head: text }, await open(path, 'as+', 0o600), beforeWrite);
    try {
      await journal.#read(path, head);
      await journal.#begin(head, fingerprint, now, isFresh);
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** Writes what is missing after a beginning, an upgrade, a crash, or two signers at once. */
  async #begin(head: Head | null, fingerprint: string, now: number, isFresh: boolean): Promise<void> {
    const { lines } = this.#chain.end;
    const macs = this.#chain.otherEnds;
    if (lines === 0) {
      const start = { kind: 'start' as const, at: now, fingerprint, sealed: true as const, epoch: newEpoch() };
      await this.append(isFresh ? { ...start, fresh: true } : start);
    } else if (!this.#sealed) await this.append({ kind: 'sealed', at: now });
    if (macs.length > 0) {
      await this.append({ kind: 'joined', at: now, macs });
      this.wasJoined = true;
    } else if (lines > 0 && this.#sealed && (head?.lines !== lines || head.epoch !== this.#memory.epoch)) {
      await this.#writeHead();
    }
  }

  get memory(): Memory & Pick<JournalMemory, 'knows' | 'isAnew'> {
    return this.#memory;
  }

  /**
   * Returns when the line is on the disk. Throws the disk's error; then the journal is unchanged. Throws `StaleJournal` if
   * another process wrote to it; then it must be opened again. Throws `Rejected`: `signer.journal` if it is full, `signer.limit` if it
   * takes no more of what the operator did not approve.
   */
  async append(line: Line): Promise<void> {
    // opened again, it drops the incomplete line
    if (this.#broken) throw new StaleJournal();
    const json = JSON.stringify(line);
    const mac = this.#chain.macOf(line, json);
    const text = Buffer.from(`${mac} ${json}\n`);
    if (text.length > LINE_BYTES_MAX || this.#bytes + text.length > JOURNAL_BYTES_MAX)
      throw new Rejected('signer.journal', 'The journal is full');
    if (line.kind === 'sign' && this.#memory.isUnasked(line)) this.#needRoom(line.at, text.length);
    await this.needOurs();
    try {
      await this.#file.writeFile(text);
    } catch (error) {
      this.#broken = true;
      await truncate(join(this.#folder, JOURNAL_FILE), this.#bytes);
      this.#broken = false;
      throw error;
    }
    await this.#needWritten(text);
    this.#take(line, this.#chain.add(line, mac), text.length);
    // if this fails, the line stays and its signature is not given out before a head covers it
    this.#isBehind = true;
    await this.#writeHead();
  }

  #needRoom(at: number, bytes: number): void {
    const isToday = this.#memory.unaskedInDay(at) + bytes > UNASKED_DAY_BYTES_MAX;
    if (isToday || this.#bytes + bytes > UNASKED_BYTES_MAX)
      throw overLimit(`the record of signatures takes no more${isToday ? ' today' : ''} of what needs no approval`);
  }

  /** Throws as `append`, whose place it takes where nothing is to be written. */
  async needOurs(): Promise<void> {
    await this.#needCurrent();
    await this.#beforeWrite();
    if (this.#isBehind) await this.#writeHead();
  }

  /** Writes the head that the disk did not take with the newest line. Throws as `append`. */
  async needHead(): Promise<void> {
    if (this.#isBehind) await this.needOurs();
  }

  /** Throws `StaleJournal` unless both files are as they were read or written last. */
  async #needCurrent(): Promise<void> {
    const { size } = await this.#file.stat();
    if (size !== this.#bytes || (await headText(this.#folder)) !== this.#head) throw new StaleJournal();
  }

  /** Throws `StaleJournal` if another line came between. Both are in the file then, and are joined when it is opened. */
  async #needWritten(text: Buffer): Promise<void> {
    const found = Buffer.alloc(text.length);
    await this.#file.read(found, 0, found.length, this.#bytes);
    if (!found.equals(text)) throw new StaleJournal();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #read(path: string, head: Head | null): Promise<void> {
    const { size } = await this.#file.stat();
    if (size > JOURNAL_BYTES_MAX) throw altered();
    let seen = head === null;
    // an incomplete line or a line without a valid MAC is the newest one, left by a crash: see below
    for await (const text of readLines(createReadStream(path), LINE_BYTES_MAX)) {
      const read = this.#chain.parse(text);
      if (!read) break;
      this.#take(read.line, read.epoch, Buffer.byteLength(text) + 1, read.isBeside);
      const { lines, mac } = this.#chain.end;
      if (head?.lines === lines) seen ||= sameMac(head.mac, mac);
    }
    if (head && !this.#isGenuine(head)) throw altered();
    // without a head only the first line is accepted, because the head is written after each line before a signature
    // leaves
    if (!seen || (!head && this.#chain.end.lines > 1)) throw altered();
    if (this.#bytes < size) await this.#dropRest(path, size);
  }

  /** Removes one incomplete line after the head. No signature beyond the head was ever given out. */
  async #dropRest(path: string, size: number): Promise<void> {
    const rest = Buffer.alloc(size - this.#bytes);
    const file = await open(path, 'r');
    try {
      await file.read(rest, 0, rest.length, this.#bytes);
    } finally {
      await file.close();
    }
    const end = rest.indexOf('\n');
    const isOneLine = end < 0 || end === rest.length - 1;
    if (!isOneLine) throw altered();
    await truncate(path, this.#bytes);
  }

  #take(line: Line, epoch: Epoch, bytes: number, isBeside = false): void {
    this.#bytes += bytes;
    if (line.kind === 'sealed' || (line.kind === 'start' && line.sealed)) this.#sealed = true;
    this.#memory.take(line, { isBeside, epoch, bytes });
  }

  #isGenuine({ lines, mac, seal }: Head): boolean {
    return seal === undefined ? !this.#sealed : sameMac(seal, this.#sealOf(lines, mac));
  }

  /** Begins with text that no line's MAC begins with. */
  #sealOf(lines: number, mac: string): string {
    return createHmac('sha256', this.#key).update(`head ${lines} ${mac}`).digest('hex');
  }

  async #writeHead(): Promise<void> {
    const { lines, mac } = this.#chain.end;
    const head: Head = { lines, mac, seal: this.#sealOf(lines, mac), epoch: this.#memory.epoch };
    const text = `${JSON.stringify(head)}\n`;
    await replaceFile(join(this.#folder, HEAD_FILE), text);
    this.#head = text;
    this.#isBehind = false;
  }
}

/** A random epoch that cannot be guessed. */
export const newEpoch = (): string => randomBytes(EPOCH_BYTES).toString('hex');

/** The epoch in which approvals for a folder's wallet must be made. A wrong one only makes them invalid. */
export async function epochOf(folder: string): Promise<Epoch> {
  try {
    return parseHead(await headText(folder))?.epoch ?? null;
  } catch {
    return null;
  }
}

/**
 * Whether the wallet of this folder was made with its words and never restored, so that no other machine gave out addresses
 * of it. Read without the key: a wrong result only skips addresses, or does not.
 */
export async function isFreshIn(folder: string): Promise<boolean> {
  const file = await open(join(folder, JOURNAL_FILE), 'r').catch(() => null);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(START_BYTES_MAX), 0);
    const [first = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1);
    const line = Line.safeParse(JSON.parse(first.slice(MAC_CHARS)));
    return line.data?.kind === 'start' && line.data.fresh === true && line.data.epoch === (await epochOf(folder));
  } catch {
    return false;
  } finally {
    await file.close();
  }
}

/**
 * Begins a journal in this folder, or a new epoch of the existing one, after a wallet was restored from its words or a
 * backup. The signer must not have it open. `isFresh`: the words were just made. Throws `Rejected('signer.journal')`, and
 * `Unavailable` while a signer holds the folder.
 */
export async function revokeIn(
  folder: string,
  key: Buffer,
  fingerprint: string,
  now: number,
  isFresh = false,
): Promise<void> {
  const hold = await holdFolder(folder);
  try {
    const isThere = await exists(join(folder, JOURNAL_FILE));
    const journal = await Journal.open(folder, key, fingerprint, now, { isFresh });
    try {
      // a new journal already begins with a new epoch
      if (isThere) await journal.append({ kind: 'revoked', at: now, epoch: newEpoch() });
    } finally {
      await journal.close();
    }
  } finally {
    await hold.release();
  }
}
