/**
 * The signer's own memory: a file that only grows, each line under a MAC that covers the line before it, and beside it the
 * head, under a MAC of its own, which says how far the file had come when the last signature was given out. Both are on
 * the disk before a signature leaves, so that neither a crash nor a restart forgets which coins were spent for whom, or
 * what was spent of a limit.
 *
 * Seen, and refused for ever after: an altered, missing, added or reordered line; a file cut short, with its head or with
 * one that was made up; a missing file or head. Not seen: a head that was kept from before, with the file cut to fit, or
 * both files removed, by somebody who can write to the folder. Where the signer is a service of its own user, the daemon's
 * user cannot. The daemon's own database knows the coins too, and the chain lets a coin be spent once.
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
import { readLines } from './lines.ts';
import { DAY_MS, type Memory, type PolicySpend, type Signed, subjectOf } from './permission.ts';
import type { PolicyGrant } from './port.ts';
import { EpochShape, GrantShape } from './wire.ts';

const LINE_BYTES_MAX = 4 * 1024 * 1024;
const MAC_CHARS = 64;
const NO_MAC = '0'.repeat(MAC_CHARS);
const EPOCH_BYTES = 16;

const Entry = z.object({
  uuid: z.string(),
  identity: z.string(),
  /** What the operator approved. */
  feeMax: z.string(),
  /** A policy let it go: the line's fee counts for it. */
  byPolicy: z.literal(true).optional(),
});
const Use = z.object({ subject: z.string(), units: z.string() });
const signFields = {
  kind: z.literal('sign'),
  at: z.number(),
  purpose: z.string(),
  txid: z.string(),
  fee: z.string(),
  /** What counts against a grant, if a policy allowed it. */
  spent: Use.optional(),
  /** The fee, against the grant of its own asset; left out where it is in `spent`. */
  spentFee: Use.optional(),
};
/** `inputs`: every conflict key of the transaction, which are the outpoints that it spends where there are coins. */
const SignLine = z.object({ ...signFields, inputs: z.array(z.string()).min(1), entries: z.array(Entry) });
/**
 * How release 0.1.0 wrote it: of the inputs it names one, which every version of a withdrawal had to spend, and where a
 * policy allowed anything it does not tell for whom, nor which highest fee was the operator's word.
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
  /** `sealed`: left out by release 0.1.0, whose heads had no MAC of their own. */
  z.object({
    ...{ kind: z.literal('start'), at: z.number(), fingerprint: z.string(), sealed: z.literal(true).optional() },
    epoch: EpochShape.optional(),
  }),
  /** From here on the head has a MAC, in a journal that release 0.1.0 began. */
  z.object({ kind: z.literal('sealed'), at: z.number() }),
  z.object({ kind: z.literal('grant'), at: z.number(), grant: GrantShape }),
  /**
   * What was signed between a backup and its restore is not known here. No approval or limit of before holds any more, so
   * that none that somebody kept pays a second time.
   */
  z.object({ kind: z.literal('revoked'), at: z.number(), epoch: EpochShape }),
  SignLine,
  AnchoredLine,
]);
export type Line = z.output<typeof Line>;
/** `mac`: of the newest line. `seal`: of the head itself, so that no line's MAC makes an older one. */
const Head = z.object({
  lines: z.int().min(1),
  mac: z.string().length(MAC_CHARS),
  seal: z.string().length(MAC_CHARS).optional(),
  /** For who makes approvals. The signer believes the lines. */
  epoch: EpochShape.nullable().default(null),
});
type Head = z.infer<typeof Head>;

const altered = (): Rejected =>
  new Rejected(
    'signer.journal',
    `What was signed so far cannot be trusted: ${JOURNAL_FILE} or ${HEAD_FILE} was altered or lost. Put both back from ` +
      'a backup of the same time; or, when the chain shows that no withdrawal is under way, remove both',
  );

export class Journal {
  readonly memory: Memory;
  readonly #folder: string;
  readonly #key: Buffer;
  readonly #file: FileHandle;
  readonly #signed = new Map<string, Signed>();
  readonly #grants = new Map<string, PolicyGrant>();
  /** Oldest first. */
  readonly #epochs: Epoch[] = [];
  #spends: PolicySpend[] = [];
  #lines = 0;
  #mac = NO_MAC;
  #bytes = 0;
  /** Whether heads have had a MAC of their own since some line. */
  #sealed = false;
  /** Set while nothing is known about the file's end: a line may be there in part. */
  #broken = false;

  private constructor(folder: string, key: Buffer, file: FileHandle) {
    this.#folder = folder;
    this.#key = key;
    this.#file = file;
    const self = this;
    this.memory = {
      signed: this.#signed,
      grants: this.#grants,
      epochs: this.#epochs,
      get policySpends() {
        return self.#spends;
      },
    };
  }

  /**
   * The journal of this folder, begun when there is none. The key is the caller's to wipe, after `close`. Throws
   * `Rejected('signer.journal')` when the files are not as the signer left them.
   */
  static async open(folder: string, key: Buffer, fingerprint: string, now: number): Promise<Journal> {
    const path = join(folder, JOURNAL_FILE);
    const head = await readHead(folder);
    if (head && !(await exists(path))) throw altered();
    // 'as': what is appended is on the disk when the call returns
    const journal = new Journal(folder, key, await open(path, 'as', 0o600));
    try {
      await journal.#read(path, head);
      if (journal.#lines === 0) {
        await journal.append({ kind: 'start', at: now, fingerprint, sealed: true, epoch: newEpoch() });
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

  /** Returns when the line is on the disk. Throws the disk's error, and then the journal is as before. */
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
    // should this fail, the line stands and its signature was not given out: the next head covers both
    await this.#writeHead();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #read(path: string, head: Head | null): Promise<void> {
    const { size } = await this.#file.stat();
    if (size > JOURNAL_BYTES_MAX) throw altered();
    let seen = head === null;
    // a line without its end, or one that no MAC belongs to, is what a crash left of the newest: see below
    for await (const text of readLines(createReadStream(path), LINE_BYTES_MAX)) {
      const line = this.#parse(text);
      if (!line) break;
      this.#take(line, text.slice(0, MAC_CHARS), Buffer.byteLength(text) + 1);
      if (head?.lines === this.#lines) seen = sameMac(head.mac, this.#mac);
    }
    if (head && !this.#isGenuine(head)) throw altered();
    // without a head only the very first line may be there: the head follows each line before anything is given out
    if (!seen || (!head && this.#lines > 1)) throw altered();
    if (this.#bytes < size) await this.#dropRest(path, size);
  }

  /** Nothing beyond the head was ever given out; what is left there may be one unfinished line and no more. */
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

  /** The line, or null when its MAC is not the one that belongs here. */
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
    if (line.kind === 'start') this.#epochs.push(line.epoch ?? null);
    if (line.kind === 'revoked') {
      this.#epochs.push(line.epoch);
      this.#grants.clear();
    }
    if (line.kind === 'grant') this.#grants.set(subjectOf(line.grant), line.grant);
    if (line.kind !== 'sign') return;
    // shared by all that a batch pays
    const version = { txid: line.txid, keys: line.inputs, epoch: this.#epoch };
    for (const { uuid, identity, feeMax, byPolicy } of line.entries) {
      const before = this.#signed.get(uuid);
      const versions = before?.versions ?? [];
      const known = before?.policyFee ?? null;
      this.#signed.set(uuid, {
        identity,
        // asked for again, the same transaction is the same version
        versions: versions.some(({ txid }) => txid === line.txid) ? versions : [...versions, version],
        feeMax: maxOf(before?.feeMax ?? 0n, BigInt(feeMax)),
        policyFee: byPolicy ? maxOf(known ?? 0n, BigInt(line.fee)) : known,
      });
    }
    for (const { subject, units } of [line.spent, line.spentFee].filter((use) => use !== undefined)) {
      // by the newest line, not by the clock: one that was set back must not make the past forgotten
      this.#spends = this.#spends.filter(({ at }) => at > line.at - 2 * DAY_MS);
      this.#spends.push({ at: line.at, subject, units: BigInt(units) });
    }
  }

  #isGenuine({ lines, mac, seal }: Head): boolean {
    return seal === undefined ? !this.#sealed : sameMac(seal, this.#sealOf(lines, mac));
  }

  /** No line's MAC begins like this. */
  #sealOf(lines: number, mac: string): string {
    return createHmac('sha256', this.#key).update(`head ${lines} ${mac}`).digest('hex');
  }

  async #writeHead(): Promise<void> {
    const [lines, mac] = [this.#lines, this.#mac];
    const head: Head = { lines, mac, seal: this.#sealOf(lines, mac), epoch: this.#epoch };
    await replaceFile(join(this.#folder, HEAD_FILE), `${JSON.stringify(head)}\n`);
  }
}

/** One that nobody could know before. */
export const newEpoch = (): string => randomBytes(EPOCH_BYTES).toString('hex');

/** In which epoch approvals are to be made for the wallet of this folder. A wrong answer makes them worthless, no more. */
export async function epochOf(folder: string): Promise<Epoch> {
  return (await readHead(folder).catch(() => null))?.epoch ?? null;
}

/**
 * After the words, or a backup, brought a wallet into this folder: begins its journal, or another epoch of it. The signer
 * must not have it open. Throws `Rejected('signer.journal')`.
 */
export async function revokeIn(folder: string, key: Buffer, fingerprint: string, now: number): Promise<void> {
  const isThere = await exists(join(folder, JOURNAL_FILE));
  const journal = await Journal.open(folder, key, fingerprint, now);
  try {
    // one that begins here has a new epoch
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
