/**
 * The daemon's client of the signer. It starts the process when it is first needed, or connects to the service.
 * Several requests may be under way; the signer does one after the other. When it ends, the wallet is locked.
 *
 * Invariant: no secret passes through here in clear. Every request is answered or fails within its time limit.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import type { SignedSpend } from '../../domain/spend.ts';
import { exists, inWalletFolder, leaveMark, sizeOf, syncFolder } from '../files.ts';
import { vaultFingerprint } from '../vault.ts';
import { retryAfterSeconds } from './attempts.ts';
import { type Channel, childChannel, type Home, socketChannel } from './channel.ts';
import { CustodyResultShape } from './custody-wire.ts';
import { ENDED_FILE, JOURNAL_FILE, UNPROVED_FILE, VAULT_FILE } from './files.ts';
import { type Call, Peer } from './peer.ts';
import {
  type CustodyResult,
  type Grant,
  type ImagesRequest,
  isEvmOrder,
  isMoneroOrder,
  isUtxoOrder,
  type Macs,
  type Sealed,
  type Signer,
  type SignerStatus,
  type SignOrder,
  walletLocked,
} from './port.ts';
import { spawnSigner } from './spawn.ts';
import { sealedBy, type UnlockSource } from './unlock.ts';
import {
  AnyGrantShape,
  decodeSigned,
  encodeImages,
  encodeOrder,
  isUtxo,
  KeyImagesShape,
  MacsShape,
  otherRelease,
  SealedShape,
  SignedShape,
  StatusShape,
} from './wire.ts';

/** scrypt takes long on a slow machine, and a change of the passphrase runs it twice. */
const UNLOCK_MS = 120_000;
const SIGN_MS = 300_000;
const STATUS_MS = 60_000;
/** A machine that comes back wakes what waits for it; this is for programs that ask. */
const HOME_SECONDS = 60;
/** The wait between two attempts to unlock automatically. */
const RETRY_MS = 60_000;

const JOINED =
  'two signers wrote to the record of signatures at once, as after a sudden end of the service. All their signatures are kept and ' +
  'count; limits that were granted meanwhile have to be granted anew';

const WRITES: ReadonlySet<Call['call']> = new Set([
  'unlock',
  'change',
  'authorize',
  'custody',
  'sign',
  'grant',
  'revoke',
  'end',
]);

export type SignerOptions = {
  /** The wallet's folder. */
  folder: string;
  /** The minutes without a use after which it locks itself; 0: never. Applies only if an operator unlocked it. */
  autoLockMinutes: number;
  /** Read at each use: an operator may change it. */
  source: () => UnlockSource;
  /** The socket of a separate signer service, which decides about folder, unlock source and locking itself. */
  remote?: string | null;
  /** A signing machine at home, as soon as there is one. It, too, decides about folder, unlock source and locking. */
  home?: Home;
  /** Signs for the sandbox, whose wallet has no lock. */
  sandbox: { sign(order: SignOrder): Promise<SignedSpend> };
  /** Logs a failure in words for an operator. */
  log: (message: string) => void;
  /** Called when the wallet was unlocked without the operator, so that what waited for it goes on at once. */
  onUnlocked?: () => void;
};

/** The status while the service does not answer: it cannot sign. */
const AWAY: SignerStatus = {
  state: 'locked',
  fingerprint: null,
  lockAt: null,
  retryAfterSeconds: 0,
  wordsUnproved: false,
};
const NONE: SignerStatus = { ...AWAY, state: 'none' };

export class SignerClient implements Signer {
  readonly #options: SignerOptions;
  #peer: Peer | null = null;
  /** Whether the peer is a process of this one. */
  #isChild = false;
  #unlocked = false;
  #unlocking: Promise<void> | null = null;
  #failedAt: number | null = null;
  /** How often it was locked by request, which ends what is under way to open it. */
  #locks = 0;
  #closed = false;

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  /** Opens the connection to a signer that is no process of this one; null: it is one. */
  get #remote(): (() => Channel) | null {
    const { home, remote = null } = this.#options;
    const machine = home?.machine();
    if (home && machine) {
      return () => {
        const channel = home.connect();
        if (channel === null)
          throw new Unavailable(`The signing machine ${machine.name} is not connected`, HOME_SECONDS);
        return channel;
      };
    }
    return remote === null ? null : () => socketChannel(remote);
  }

  /** The status while a remote signer does not answer. */
  get #away(): SignerStatus {
    const machine = this.#options.home?.machine();
    if (!machine) return AWAY;
    const { name, fingerprint, seenAt } = machine;
    return { ...AWAY, fingerprint, away: { name, seenAt } };
  }

  status(): Promise<SignerStatus> {
    return inWalletFolder(() => this.#status());
  }

  async #status(): Promise<SignerStatus> {
    if (this.#remote !== null) return (await this.#running()) ?? this.#away;
    const running = this.#peer && (await this.#running());
    const { folder } = this.#options;
    const vault = join(folder, VAULT_FILE);
    if (!running && !(await exists(vault))) return NONE;
    // a status request also starts the automatic unlocking, without waiting for it
    if (running?.state !== 'none') void this.#needUnlocked().catch(() => {});
    if (running) return running;
    return {
      state: 'locked',
      fingerprint: await vaultFingerprint(vault),
      lockAt: null,
      retryAfterSeconds: await retryAfterSeconds(folder, Date.now()),
      wordsUnproved: await exists(join(folder, UNPROVED_FILE)),
      journalBytes: await sizeOf(join(folder, JOURNAL_FILE)),
    };
  }

  /** The status of the process; null if it ends meanwhile. */
  async #running(): Promise<SignerStatus | null> {
    try {
      return await this.#ask({ call: 'status' }, StatusShape, STATUS_MS);
    } catch (error) {
      if (error instanceof Unavailable) return null;
      throw error;
    }
  }

  async sealKey(): Promise<string> {
    return this.#ask({ call: 'sealKey' }, z.string(), STATUS_MS);
  }

  /** `by`: given by a separate signer's service, whose client this is. */
  async unlock(sealed: Sealed, by?: 'operator'): Promise<SignerStatus> {
    return this.#open(sealed, by, this.#locks);
  }

  /** `locks`: when it was decided; a later lock by request counts more. */
  async #open(sealed: Sealed, by: 'operator' | undefined, locks: number): Promise<SignerStatus> {
    const needNoLock = () => {
      if (locks !== this.#locks) throw walletLocked();
    };
    const call = { call: 'unlock', sealed: sealedShape(sealed), by } as const;
    const status = await this.#ask(call, StatusShape, UNLOCK_MS, needNoLock);
    needNoLock();
    this.#unlocked = true;
    this.#failedAt = null;
    if (status.wasJoined) this.#options.log(JOINED);
    return status;
  }

  async lock(): Promise<SignerStatus> {
    if (this.#remote !== null) return this.#ask({ call: 'lock' }, StatusShape, STATUS_MS);
    // a lock by the operator stays until the operator unlocks, whatever is asked while the process ends
    this.#failedAt = Number.POSITIVE_INFINITY;
    this.#locks += 1;
    const peer = this.#peer;
    this.#gone(peer);
    await peer?.stop();
    return this.status();
  }

  async changePassphrase(sealed: Sealed, by?: 'operator'): Promise<SignerStatus> {
    return this.#ask({ call: 'change', sealed: sealedShape(sealed), by }, StatusShape, UNLOCK_MS);
  }

  async authorize(sealed: Sealed, by?: 'operator'): Promise<Macs> {
    return this.#ask({ call: 'authorize', sealed: sealedShape(sealed), by }, MacsShape, UNLOCK_MS);
  }

  async custody(sealed: Sealed): Promise<CustodyResult> {
    return this.#ask({ call: 'custody', sealed: sealedShape(sealed) }, CustodyResultShape, UNLOCK_MS);
  }

  async sign(order: SignOrder): Promise<SignedSpend> {
    if (order.plan.network === 'sandbox') return this.#options.sandbox.sign(order);
    if (!isEvmOrder(order) && !isMoneroOrder(order) && (!isUtxoOrder(order) || !isUtxo(order.plan.chain))) {
      throw new Rejected('signer.unsupported', `The wallet does not sign for ${order.plan.chain} yet`);
    }
    await this.#needUnlocked();
    const request = { call: 'sign', order: encodeOrder(order) } as Call;
    return decodeSigned(await this.#ask(request, SignedShape, SIGN_MS));
  }

  async keyImages(request: ImagesRequest): Promise<Record<string, string>> {
    await this.#needUnlocked();
    return this.#ask({ call: 'images', images: encodeImages(request) } as Call, KeyImagesShape, SIGN_MS);
  }

  async grantPolicy(grant: Grant, mac: string): Promise<void> {
    const checked = AnyGrantShape.safeParse(grant);
    if (!checked.success) throw new Rejected('signer.unsupported', 'Such limits cannot be granted');
    await this.#needUnlocked();
    await this.#ask({ call: 'grant', grant: checked.data, mac }, z.null(), STATUS_MS);
  }

  async revokeApprovals(next: string, mac: string): Promise<void> {
    await this.#needUnlocked();
    await this.#ask({ call: 'revoke', next, mac }, z.null(), STATUS_MS);
  }

  endApprovals(): Promise<void> {
    return inWalletFolder(() => this.#endApprovals());
  }

  async #endApprovals(): Promise<void> {
    const { folder } = this.#options;
    if (this.#remote !== null || !(await exists(join(folder, VAULT_FILE)))) return;
    if (this.#peer && (await this.#endUnlocked())) return;
    await leaveMark(join(folder, ENDED_FILE));
  }

  /** False: the wallet is locked, and ends them when it is opened next. */
  async #endUnlocked(): Promise<boolean> {
    try {
      await this.#ask({ call: 'end' }, z.null(), STATUS_MS);
      return true;
    } catch (error) {
      if (error instanceof Unavailable || (error instanceof Rejected && error.code === 'signer.locked')) return false;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const peer = this.#peer;
    this.#gone(peer);
    await peer?.stop();
  }

  /** `check`: throws if it is not to be asked any more. */
  async #ask<T extends z.ZodType>(call: Call, shape: T, ms: number, check = () => {}): Promise<z.infer<T>> {
    const peer = await inWalletFolder(() => this.#start());
    check();
    const read = shape.safeParse(await peer.ask(call, ms));
    if (!read.success) throw this.#remote === null ? read.error : otherRelease();
    // the signer has synced its files; it cannot sync their folder under the permission model, so that is done here
    if (this.#remote === null && WRITES.has(call.call)) {
      await inWalletFolder(() => syncFolder(this.#options.folder));
    }
    return read.data;
  }

  async #start(): Promise<Peer> {
    this.#needOpen();
    const { folder, autoLockMinutes, source, log } = this.#options;
    const autoLockMs = source().kind === 'prompt' ? autoLockMinutes * 60_000 : 0;
    const remote = this.#remote;
    if (remote === null) await mkdir(folder, { recursive: true, mode: 0o700 });
    // nobody would end a process that is begun after the end, and it would keep this one from ending
    this.#needOpen();
    if (this.#peer && this.#isChild !== (remote === null)) {
      // a machine at home was invited or removed meanwhile
      const former = this.#peer;
      this.#gone(former);
      void former.stop();
    }
    if (!this.#peer) {
      const peer = new Peer(remote === null ? childChannel(spawnSigner(folder, autoLockMs)) : remote(), log);
      this.#peer = peer;
      this.#isChild = remote === null;
      void peer.ended.then(() => this.#gone(peer));
    }
    return this.#peer;
  }

  #needOpen(): void {
    if (this.#closed) throw new Unavailable('The service is stopping', 5);
  }

  #gone(peer: Peer | null): void {
    if (peer === null || peer !== this.#peer) return;
    this.#peer = null;
    this.#unlocked = false;
  }

  /** Unlocks the wallet automatically if that is configured. Throws `Rejected('signer.locked')`. */
  async #needUnlocked(): Promise<void> {
    // a remote service unlocks its wallet by itself, or answers that it is locked
    if (this.#unlocked || this.#remote !== null) return;
    const source = this.#options.source();
    const waits = this.#failedAt !== null && performance.now() < this.#failedAt + RETRY_MS;
    if (source.kind !== 'prompt' && !waits) {
      this.#unlocking ??= this.#unlockBySource(source).finally(() => {
        this.#unlocking = null;
      });
      await this.#unlocking;
    }
    if (!this.#unlocked) throw walletLocked();
  }

  async #unlockBySource(source: Exclude<UnlockSource, { kind: 'prompt' }>): Promise<void> {
    const locks = this.#locks;
    try {
      const fingerprint = await vaultFingerprint(join(this.#options.folder, VAULT_FILE));
      await this.#open(await sealedBy(source, await this.sealKey(), fingerprint), undefined, locks);
      this.#options.onUnlocked?.();
    } catch (error) {
      const isWrong = error instanceof Rejected && error.code === 'vault.passphrase';
      const isLocked = locks !== this.#locks;
      // every further try would make the operator wait longer for theirs
      if (!isLocked) this.#failedAt = isWrong ? Number.POSITIVE_INFINITY : performance.now();
      const wrong = isWrong ? 'the passphrase there is an old one' : (error as Error).message;
      const why = isLocked ? 'it was locked meanwhile' : wrong;
      const byHand = isLocked || isWrong ? '. Unlock it by hand' : '';
      this.#options.log(`the wallet could not be unlocked by ${source.kind}: ${why}${byHand}`);
    }
  }
}

function sealedShape(sealed: Sealed): Sealed {
  const checked = SealedShape.safeParse(sealed);
  if (!checked.success) throw new Rejected('seal', 'This is nothing sealed');
  return checked.data;
}
