/**
 * The signer: the only process that reads the words. The daemon starts it with an empty environment under Node's
 * permission model (see spawn.ts), writes requests to its stdin and reads answers from its stdout. Each is one line of
 * JSON.
 *
 * Invariant: no answer and no error carries a secret. Locking ends the process, which frees its memory. The end of
 * stdin, which means the end of the daemon, ends it too. While it is unlocked it alone writes to the wallet's folder, and
 * it writes nothing once the daemon has ended.
 */
import { hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected } from '../../domain/errors.ts';
import { exists, sizeOf } from '../files.ts';
import { changeVaultLock, vaultFingerprint } from '../vault.ts';
import { answerLine } from './answering.ts';
import { attempt, retryAfterSeconds } from './attempts.ts';
import { CustodyTaskShape } from './custody-wire.ts';
import { ATTEMPTS_FILE, ENDED_FILE, JOURNAL_FILE, OPERATOR_ATTEMPTS_FILE, UNPROVED_FILE, VAULT_FILE } from './files.ts';
import { type Hold, holdFolder } from './holder.ts';
import { needTimely } from './limits.ts';
import { readLines } from './lines.ts';
import {
  type CustodyResult,
  type Macs,
  SEAL_AUTHORIZE,
  SEAL_CHANGE,
  SEAL_CUSTODY,
  SEAL_UNLOCK,
  type Sealed,
  type SignerStatus,
  walletLocked,
} from './port.ts';
import { Session } from './session.ts';
import { sealPair, unseal } from './unseal.ts';
import { AuthorizationShape, decodeImages, decodeOrder, encodeSigned, LINE_BYTES_MAX, type Request } from './wire.ts';

/** `autoLockMs`: the time without a use after which it locks itself; 0: never. */
const Settings = z.strictObject({ folder: z.string(), autoLockMs: z.int().min(0) });
/** A process that was not unlocked ends after this time. */
const UNUSED_MS = 10 * 60_000;
const BEAT_MS = 1_000;

/**
 * The calls that may be a use of the wallet, during which it does not lock itself. A refused one is no use, and neither
 * is one that was carried out before, or another version of a payment: whoever has the service could keep it open by them for ever.
 */
const USES: ReadonlySet<Request['call']> = new Set(['unlock', 'authorize', 'custody', 'sign', 'grant', 'revoke']);

const { folder, autoLockMs } = Settings.parse(JSON.parse(process.argv[2] ?? ''));
const vault = join(folder, VAULT_FILE);
const ended = join(folder, ENDED_FILE);
let pair = sealPair();
const parent = process.ppid;
let session: Session | null = null;
let hold: Hold | null = null;
let lockAt: number | null = null;
/** The same by the clock of this process, milliseconds. */
let endsAt = 0;
let timer: NodeJS.Timeout | undefined;
/** Set by a request to lock, and when its time is over: the process answers the request that is under way, no further one, and ends. */
let isOver = false;
let isBusy = false;
let ending: Promise<void> | undefined;
/** Set while every approval is ended: this alone is written then. */
let isEnding = false;

/** Restarts the timer that ends the process when it is not used. */
function used(): void {
  clearTimeout(timer);
  const afterMs = session ? autoLockMs : UNUSED_MS;
  lockAt = session && afterMs > 0 ? Date.now() + afterMs : null;
  endsAt = performance.now() + afterMs;
  if (afterMs > 0) timer = setTimeout(timeIsOver, afterMs);
}

/** The boxes that were opened with the right passphrase, by their digests. */
const openedBoxes = new Set<string>();
const digestOf = ({ box }: Sealed): string => hash('sha256', Buffer.from(box, 'base64'));

/** Carries out a call that may be a use. The timer stands still meanwhile. */
async function using(request: Request): Promise<object | string | null> {
  clearTimeout(timer);
  const before = session?.uses;
  try {
    const answer = await carryOut(request);
    const box = 'sealed' in request ? digestOf(request.sealed) : null;
    if (box === null ? session?.uses !== before : !openedBoxes.has(box)) used();
    if (box !== null) openedBoxes.add(box);
    return answer;
  } finally {
    clearTimeout(timer);
    if (session === null || autoLockMs > 0) timer = setTimeout(timeIsOver, Math.max(0, endsAt - performance.now()));
  }
}

/** A request under way would go on with wiped keys, so it is answered first. */
function timeIsOver(): void {
  isOver = true;
  if (!isBusy) void end();
}

/** Wipes the secrets and ends the process, once: its time may be over while it reads the last request. */
function end(): Promise<void> {
  ending ??= wipe();
  return ending;
}

async function wipe(): Promise<void> {
  await session?.close();
  await hold?.release();
  process.exit(0);
}

/** A process whose parent ended belongs to another one. Nobody waits for its signatures, and another signer may have begun. */
const isOrphan = (): boolean => process.ppid !== parent;

setInterval(() => {
  if (isOrphan()) process.exit(1);
  // a full disk takes no sign of life; the folder is then another's after a while, which the next signature notices
  hold?.beat().catch(() => {});
}, BEAT_MS).unref();

const beforeWriteOf = (taken: Hold) => async (): Promise<void> => {
  const isEnded = !isEnding && (await exists(ended));
  if (isEnded || !(await taken.isOurs()) || isOrphan()) process.exit(1);
};

/** Carries out a word of the operator that needed no passphrase. */
async function endIfAsked(opened: Session): Promise<void> {
  if (!(await exists(ended))) return;
  isEnding = true;
  try {
    await endApprovals(opened);
    await rm(ended, { force: true });
  } finally {
    isEnding = false;
  }
}

/**
 * Does what begins a new epoch. A box that somebody kept would be approved in it, so none opens any more, also where the disk took the
 * line alone.
 */
async function inNewEpoch(work: () => Promise<void>): Promise<null> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Rejected)) pair = sealPair();
    throw error;
  }
  pair = sealPair();
  return null;
}

const endApprovals = (opened: Session): Promise<null> => inNewEpoch(() => opened.endApprovals());

async function openSession(passphrase: string): Promise<Session> {
  const taken = await holdFolder(folder);
  let opened: Session | null = null;
  try {
    opened = await Session.open(folder, passphrase, Date.now, beforeWriteOf(taken));
    await endIfAsked(opened);
    await hold?.release();
    hold = taken;
    return opened;
  } catch (error) {
    await opened?.close();
    await taken.release();
    throw error;
  }
}

async function status(): Promise<SignerStatus> {
  if (!(await exists(vault))) {
    return { state: 'none', fingerprint: null, lockAt: null, retryAfterSeconds: 0, wordsUnproved: false };
  }
  return {
    state: session ? 'unlocked' : 'locked',
    fingerprint: await vaultFingerprint(vault),
    lockAt,
    retryAfterSeconds: await retryAfterSeconds(folder, Date.now()),
    wordsUnproved: await exists(join(folder, UNPROVED_FILE)),
    ...(session?.wasJoined ? { wasJoined: true } : {}),
    journalBytes: await sizeOf(join(folder, JOURNAL_FILE)),
  };
}

const isWrong = (error: unknown): boolean => error instanceof Rejected && error.code === 'vault.passphrase';

/** Whose passphrase it is, and where the wrong ones are counted. */
type By = 'operator' | undefined;
const attemptsOf = (by: By): string => (by === 'operator' ? OPERATOR_ATTEMPTS_FILE : ATTEMPTS_FILE);

async function unlock(sealed: Sealed, by: By): Promise<SignerStatus> {
  const passphrase = unseal(pair, SEAL_UNLOCK, sealed);
  const opened = await attempt(folder, Date.now, () => openSession(passphrase), isWrong, attemptsOf(by));
  await session?.close();
  session = opened;
  if (!openedBoxes.has(digestOf(sealed))) used();
  // collects strings that held the passphrase and the words
  globalThis.gc?.();
  return status();
}

const Passphrases = z.strictObject({ old: z.string(), new: z.string() });

async function change(sealed: Sealed, by: By): Promise<SignerStatus> {
  const given = Passphrases.safeParse(JSON.parse(unseal(pair, SEAL_CHANGE, sealed)));
  if (!given.success) throw new Rejected('seal', 'Two passphrases are needed, the old and the new');
  await attempt(
    folder,
    Date.now,
    () => changeVaultLock(vault, given.data.old, given.data.new),
    isWrong,
    attemptsOf(by),
  );
  globalThis.gc?.();
  return status();
}

const Authorizing = AuthorizationShape.extend({ passphrase: z.string() });

/** Makes the operator's MACs for a client that cannot open the vault. The wallet stays as it is, locked or not. */
async function authorize(sealed: Sealed, by: By): Promise<Macs> {
  const given = Authorizing.safeParse(JSON.parse(unseal(pair, SEAL_AUTHORIZE, sealed)));
  if (!given.success) throw new Rejected('seal', 'A passphrase is needed, and payments or limits that can be approved');
  const { passphrase, ...wanted } = given.data;
  for (const { until } of wanted.approvals) needTimely(until, Date.now());
  const { authorized } = await import('../operator-keys.ts');
  const macs = await attempt(folder, Date.now, () => authorized(folder, passphrase, wanted), isWrong, attemptsOf(by));
  globalThis.gc?.();
  return macs;
}

async function custody(sealed: Sealed): Promise<CustodyResult> {
  const task = CustodyTaskShape.safeParse(JSON.parse(unseal(pair, SEAL_CUSTODY, sealed)));
  if (!task.success) throw new Rejected('seal', 'The wallet does not know this task');
  const { carryOutCustody } = await import('./custody.ts');
  const result = await attempt(folder, Date.now, () => carryOutCustody(folder, task.data), isWrong);
  globalThis.gc?.();
  return result;
}

function unlocked(): Session {
  if (session) return session;
  throw walletLocked();
}

/** Each request has an answer: the return type has no `undefined`, so that the compiler finds a call that is left out. */
async function carryOut(request: Request): Promise<object | string | null> {
  switch (request.call) {
    case 'status':
      return status();
    case 'sealKey':
      return pair.publicKey;
    case 'unlock':
      return unlock(request.sealed, request.by);
    case 'lock':
      isOver = true;
      return null;
    case 'change':
      return change(request.sealed, request.by);
    case 'authorize':
      return authorize(request.sealed, request.by);
    case 'custody':
      return custody(request.sealed);
    case 'grant':
      await unlocked().grant(request.grant, request.mac);
      return null;
    case 'revoke':
      return inNewEpoch(() => unlocked().revoke(request.next, request.mac));
    case 'end':
      return endApprovals(unlocked());
    case 'sign':
      return encodeSigned(await unlocked().sign(decodeOrder(request.order)));
    case 'images':
      return unlocked().keyImages(decodeImages(request.images));
  }
}

process.on('uncaughtException', () => process.exit(1));
used();
// one at a time, so that each order is judged by a complete journal
for await (const line of readLines(process.stdin, LINE_BYTES_MAX)) {
  if (isOver) break;
  isBusy = true;
  const answer = await answerLine(line, (request) => (USES.has(request.call) ? using(request) : carryOut(request)));
  isBusy = false;
  process.stdout.write(`${JSON.stringify(answer)}\n`);
  if (isOver) break;
}
await end();
