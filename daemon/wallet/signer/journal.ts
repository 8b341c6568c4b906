/**
 * The signer's journal: an append-only file whose lines have MACs, and beside it the head with a MAC of its own. The
 * MAC of a line covers the line before it. The head names the newest line for which a signature was given out. Both are
 * on the disk before a signature leaves. So a crash or a restart loses neither the spent coins nor the used limits.
 *
 * Detected, and refused from then on: an altered, missing, added or reordered line; a file that was cut short, with its
 * own head or a forged one; a missing file or head. Not detected: an old head together with a file cut to fit it, or
 * the removal of both files, by somebody who can write to the folder. The daemon's user cannot do that if the signer is
 * a service of its own user. The daemon's database also knows the coins, and the chain accepts one spend of a coin.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { maxOf } from '../../domain/money.ts';
import { exists, replaceFile } from '../files.ts';
import { type Epoch, sameMac } from './approval.ts';
import { HEAD_FILE, JOURNAL_BYTES_MAX, JOURNAL_FILE } from './files.ts';
import { gasSubjectOf } from './gas.ts';
import { readLines } from './lines.ts';
import { DAY_MS, type Memory, type PolicySpend, type Signed, type SignedChange, subjectOf } from './permission.ts';
import type { GasGrant, PolicyGrant } from './port.ts';
import { EpochShape, GasGrantShape, GrantShape } from './wire.ts';

const LINE_BYTES_MAX = 4 * 1024 * 1024;
/** More than the first line has. */
const START_BYTES_MAX = 4_096;
const MAC_CHARS = 64;
const NO_MAC = '0'.repeat(MAC_CHARS);
const EPOCH_BYTES = 16;

const Entry = z.object({
  uuid: z.string(),
  identity: z.string(),
  /** The highest fee that the operator approved, smallest units. */
  feeMax: z.string(),
  /** A policy approved it, so the line's fee counts against the grant. */
  byPolicy: z.literal(true).optional(),
});
const Use = z.object({ subject: z.string(), units: z.string() });
/** Where the change of a transaction went. */
const Change = z.object({ account: z.string(), index: z.int().min(0) });
const signFields = {
  kind: z.literal('sign'),
  at: z.number(),
  purpose: z.string(),
  txid: z.string(),
  fee: z.string(),
  /** The use of a grant, if a policy allowed it. */
  spent: Use.optional(),
  /** The fee, counted against the grant of its own asset; absent if it is part of `spent`. */
  spentFee: Use.optional(),
  /** Absent in release 0.1.0, and without change. */
  change: Change.optional(),
  /** The fee, counted against a grant of gas. */
  spentGas: Use.optional(),
};
/** `inputs`: every conflict key of the transaction. On a coin chain these are the outpoints that it spends. */
const SignLine = z.object({ ...signFields, inputs: z.array(z.string()).min(1), entries: z.array(Entry) });
/**
 * The line format of release 0.1.0. It names only one input, which every version of a withdrawal had to spend. For a
 * payment by a policy it names neither the subject nor the operator's highest fee.
 */
const AnchoredLine = z
  .object({ ...signFields, entries: z.array(Entry.extend({ anchor: z.string() })).min(1) })
  .transform(({ entries, ...line }) => ({
    ...line,
    inputs: [...new Set(entries.map(({ anchor }) => anchor))],
    entries: entries.map(({ uuid, identity, feeMax }) =>
      line.spent ? { uuid, identity, feeMax: '0', byPolicy: true as const } : { uuid, identity, feeMax },
    ),
  }));
const Line = z.union([
  /** `sealed`: absent in release 0.1.0, whose heads had no MAC of their own. */
  z.object({
    ...{ kind: z.literal('start'), at: z.number(), fingerprint: z.string(), sealed: z.literal(true).optional() },
    /** The words were made with it. */
    fresh: z.literal(true).optional(),
    epoch: EpochShape.optional(),
  }),
  /** In a journal that release 0.1.0 began: from this line on the head has a MAC. */
  z.object({ kind: z.literal('sealed'), at: z.number() }),
  z.object({ kind: z.literal('grant'), at: z.number(), grant: GrantShape }),
  z.object({ kind: z.literal('gas'), at: z.number(), grant: GasGrantShape }),
  /**
   * Begins a new epoch. After a restore the signatures made since the backup are unknown. So earlier approvals and
   * limits are no longer valid, and a kept approval cannot pay a second time.
   */
  z.object({ kind: z.literal('revoked'), at: z.number(), epoch: EpochShape }),
  SignLine,
  AnchoredLine,
]);
export type Line = z.output<typeof Line>;
/**
 * `mac`: of the newest line. `seal`: of the head itself, so that a line's MAC cannot be used to forge an older head.
 */
const Head = z.object({
  lines: z.int().min(1),
  mac: z.string().length(MAC_CHARS),
  seal: z.string().length(MAC_CHARS).optional(),
  /** For the programs that make approvals. The signer itself reads the epoch from the lines. */
  epoch: EpochShape.nullable().default(null),
});
type Head = z.infer<typeof Head>;

const altered = (): Rejected =>
  new Rejected(
    'signer.journal',
    `The record of signatures cannot be trusted: ${JOURNAL_FILE} or ${HEAD_FILE} was altered or lost. Put both back from ` +
      'a backup of the same time; or, when the chain shows that no withdrawal is under way, remove both',
  );

export class Journal {
  readonly memory: Memory;
  readonly #folder: string;
  readonly #key: Buffer;
  readonly #file: FileHandle;
  readonly #signed = new Map<string, Signed>();
  readonly #changes = new Map<string, SignedChange>();
  readonly #grants = new Map<string, PolicyGrant>();
  readonly #gasGrants = new Map<string, GasGrant>();
  readonly #gasUsed = new Map<string, bigint>();
  /** Oldest first. */
  readonly #epochs: Epoch[] = [];
  #spends: PolicySpend[] = [];
  #lines = 0;
  #mac = NO_MAC;
  #bytes = 0;
  /** Whether heads have a MAC of their own since some line. */
  #sealed = false;
  #isFresh = false;
  /** Set while the end of the file is unknown: an incomplete line may be there. */
  #broken = false;

  private constructor(folder: string, key: Buffer, file: FileHandle) {
    this.#folder = folder;
    this.#key = key;
    this.#file = file;
    const self = this;
    this.memory = {
      signed: this.#signed,
      changes: this.#changes,
      get isFresh() {
        return self.#isFresh;
      },
      grants: this.#grants,
      gasGrants: this.#gasGrants,
      gasUsed: this.#gasUsed,
      epochs: this.#epochs,
      get policySpends() {
        return self.#spends;
      },
    };
  }

  /**
   * Opens the journal of this folder, or begins one; `isFresh`: of words that were just made. The caller wipes the key after `close`. Throws
   * `Rejected('signer.journal')` if the files are not as the signer left them.
   */
  static async open(folder: string, key: Buffer, fingerprint: string, now: number, isFresh = false): Promise<Journal> {
    const path = join(folder, JOURNAL_FILE);
    const head = await readHead(folder);
    if (head && !(await exists(path))) throw altered();
    // 'as': an appended line is on the disk when the call returns
    const journal = new Journal(folder, key, await open(path, 'as', 0o600));
    try {
      await journal.#read(path, head);
      if (journal.#lines === 0) {
        const start = { kind: 'start' as const, at: now, fingerprint, sealed: true as const, epoch: newEpoch() };
        await journal.append(isFresh ? { ...start, fresh: true } : start);
      } else if (!journal.#sealed) await journal.append({ kind: 'sealed', at: now });
      else if (head?.lines !== journal.#lines || head.epoch !== journal.#epoch) await journal.#writeHead();
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  get #epoch(): Epoch {
    return this.#epochs.at(-1) ?? null;
  }

  /** Returns when the line is on the disk. Throws the disk's error; then the journal is unchanged. */
  async append(line: Line): Promise<void> {
    if (this.#broken) throw new Error('the journal could not be written: restart the signer');
    const json = JSON.stringify(line);
    const mac = this.#macOf(json);
    const text = Buffer.from(`${mac} ${json}\n`);
    if (text.length > LINE_BYTES_MAX || this.#bytes + text.length > JOURNAL_BYTES_MAX)
      throw new Rejected('signer.journal', 'The journal is full');
    try {
      await this.#file.writeFile(text);
    } catch (error) {
      this.#broken = true;
      await truncate(join(this.#folder, JOURNAL_FILE), this.#bytes);
      this.#broken = false;
      throw error;
    }
    this.#take(line, mac, text.length);
    // if this fails, the line stays but its signature was not given out; the next head covers both lines
    await this.#writeHead();
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
      const line = this.#parse(text);
      if (!line) break;
      this.#take(line, text.slice(0, MAC_CHARS), Buffer.byteLength(text) + 1);
      if (head?.lines === this.#lines) seen = sameMac(head.mac, this.#mac);
    }
    if (head && !this.#isGenuine(head)) throw altered();
    // without a head only the first line is accepted, because the head is written after each line before a signature
    // leaves
    if (!seen || (!head && this.#lines > 1)) throw altered();
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

  /** The line, or null if its MAC is wrong. */
  #parse(text: string): Line | null {
    const json = text.slice(MAC_CHARS + 1);
    if (text[MAC_CHARS] !== ' ' || !sameMac(text.slice(0, MAC_CHARS), this.#macOf(json))) return null;
    return Line.parse(JSON.parse(json));
  }

  #macOf(json: string): string {
    return createHmac('sha256', this.#key).update(`${this.#mac}${this.#lines} ${json}`).digest('hex');
  }

  #take(line: Line, mac: string, bytes: number): void {
    this.#mac = mac;
    this.#lines += 1;
    this.#bytes += bytes;
    if (line.kind === 'sealed' || (line.kind === 'start' && line.sealed)) this.#sealed = true;
    if (line.kind === 'start') {
      this.#epochs.push(line.epoch ?? null);
      this.#isFresh = line.fresh ?? false;
    }
    if (line.kind === 'revoked') {
      this.#epochs.push(line.epoch);
      this.#grants.clear();
      this.#gasGrants.clear();
    }
    if (line.kind === 'grant') this.#grants.set(subjectOf(line.grant), line.grant);
    if (line.kind === 'gas') {
      this.#gasGrants.set(gasSubjectOf(line.grant), line.grant);
      this.#gasUsed.delete(gasSubjectOf(line.grant));
    }
    if (line.kind !== 'sign') return;
    if (line.spentGas) {
      const { subject, units } = line.spentGas;
      this.#gasUsed.set(subject, (this.#gasUsed.get(subject) ?? 0n) + BigInt(units));
    }
    if (line.change) {
      const { account, index } = line.change;
      const highest = Math.max(index, this.#changes.get(account)?.index ?? 0);
      this.#changes.set(account, { index: highest, epochs: this.#epochs.length });
    }
    // all withdrawals of a batch share it
    const version = { txid: line.txid, keys: line.inputs, epoch: this.#epoch };
    for (const { uuid, identity, feeMax, byPolicy } of line.entries) {
      const before = this.#signed.get(uuid);
      const versions = before?.versions ?? [];
      const known = before?.policyFee ?? null;
      this.#signed.set(uuid, {
        identity,
        // the same transaction requested again is not a new version
        versions: versions.some(({ txid }) => txid === line.txid) ? versions : [...versions, version],
        feeMax: maxOf(before?.feeMax ?? 0n, BigInt(feeMax)),
        policyFee: byPolicy ? maxOf(known ?? 0n, BigInt(line.fee)) : known,
      });
    }
    for (const { subject, units } of [line.spent, line.spentFee].filter((use) => use !== undefined)) {
      // relative to the newest line, so that a clock that was set back does not drop recent spends
      this.#spends = this.#spends.filter(({ at }) => at > line.at - 2 * DAY_MS);
      this.#spends.push({ at: line.at, subject, units: BigInt(units) });
    }
  }

  #isGenuine({ lines, mac, seal }: Head): boolean {
    return seal === undefined ? !this.#sealed : sameMac(seal, this.#sealOf(lines, mac));
  }

  /** Begins with text that no line's MAC begins with. */
  #sealOf(lines: number, mac: string): string {
    return createHmac('sha256', this.#key).update(`head ${lines} ${mac}`).digest('hex');
  }

  async #writeHead(): Promise<void> {
    const [lines, mac] = [this.#lines, this.#mac];
    const head: Head = { lines, mac, seal: this.#sealOf(lines, mac), epoch: this.#epoch };
    await replaceFile(join(this.#folder, HEAD_FILE), `${JSON.stringify(head)}\n`);
  }
}

/** A random epoch that cannot be guessed. */
export const newEpoch = (): string => randomBytes(EPOCH_BYTES).toString('hex');

/**
 * The epoch in which approvals for the wallet of this folder must be made. A wrong result only makes approvals invalid.
 */
export async function epochOf(folder: string): Promise<Epoch> {
  return (await readHead(folder).catch(() => null))?.epoch ?? null;
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
 * backup. The signer must not have it open. `isFresh`: the words were just made. Throws `Rejected('signer.journal')`.
 */
export async function revokeIn(
  folder: string,
  key: Buffer,
  fingerprint: string,
  now: number,
  isFresh = false,
): Promise<void> {
  const isThere = await exists(join(folder, JOURNAL_FILE));
  const journal = await Journal.open(folder, key, fingerprint, now, isFresh);
  try {
    // a new journal already begins with a new epoch
    if (isThere) await journal.append({ kind: 'revoked', at: now, epoch: newEpoch() });
  } finally {
    await journal.close();
  }
}

async function readHead(folder: string): Promise<Head | null> {
  const path = join(folder, HEAD_FILE);
  if (!(await exists(path))) return null;
  try {
    return Head.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    throw altered();
  }
}
