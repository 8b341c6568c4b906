/**
 * The merchant's wallet in a simulation: one mnemonic for every run, a vault whose passphrase is cheap to try, the
 * operator's approvals, and the signer's own code without its process.
 */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { deriveAddress } from '../../daemon/chains/derive.ts';
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import type { AccountKey, Branch, DerivedAddress } from '../../daemon/domain/chain.ts';
import { Rejected, Unavailable } from '../../daemon/domain/errors.ts';
import type { SignedSpend } from '../../daemon/domain/spend.ts';
import { accountKey, masterFingerprint } from '../../daemon/wallet/accounts.ts';
import { backupSecretOf, type OpenedBackup, writeBackupKey } from '../../daemon/wallet/backup-key.ts';
import { seedOf } from '../../daemon/wallet/mnemonic.ts';
import { journalKey } from '../../daemon/wallet/signer/approval.ts';
import { streamChannel } from '../../daemon/wallet/signer/channel.ts';
import { ENDED_FILE, VAULT_FILE } from '../../daemon/wallet/signer/files.ts';
import { revokeIn } from '../../daemon/wallet/signer/journal.ts';
import { Peer } from '../../daemon/wallet/signer/peer.ts';
import type {
  CustodyResult,
  Grant,
  ImagesRequest,
  Macs,
  Signer,
  SignerStatus,
  SignOrder,
} from '../../daemon/wallet/signer/port.ts';
import { Session } from '../../daemon/wallet/signer/session.ts';
import { decodeSigned, encodeSigned, SignedShape } from '../../daemon/wallet/signer/wire.ts';
import { createVault } from '../../daemon/wallet/vault.ts';
import { CHEAP } from '../support/wallet.ts';
import { elsewhere, type Time } from './time.ts';

const WORDS = 'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about';
export const PASSPHRASE = 'a passphrase of the simulation';
const ANSWER_MS = 60_000;

export class Wallet {
  readonly seed: Buffer;
  readonly #accounts = new Map<string, AccountKey>();

  private constructor(seed: Buffer) {
    this.seed = seed;
  }

  static async open(): Promise<Wallet> {
    return new Wallet(await seedOf(WORDS, ''));
  }

  account(chain: UtxoChain, accountNo: number): AccountKey {
    const name = `${chain}/${accountNo}`;
    const known = this.#accounts.get(name) ?? accountKey(this.seed, chain, 'regtest', accountNo);
    this.#accounts.set(name, known);
    return known;
  }

  /** `branch/index` of a script (hex) of the first account, if anybody asked for its address so far. */
  placeOf(chain: UtxoChain, script: string): string | undefined {
    return places.get(`${chain}/${script}`);
  }

  script(chain: UtxoChain, branch: Branch, index: number): string {
    const { script } = derived(chain, this.account(chain, 0), branch, index);
    return Buffer.from(script).toString('hex');
  }

  get opened(): Pick<OpenedBackup, 'secret' | 'account'> {
    const account: OpenedBackup['account'] = (...place) => accountKey(this.seed, ...place);
    return { secret: backupSecretOf(this.seed), account };
  }

  get fingerprint(): string {
    return masterFingerprint(this.seed);
  }

  /** Writes the vault into a folder. */
  async write(folder: string, now: number): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const secret = { mnemonic: WORDS, passphrase: '' };
    await createVault(join(folder, VAULT_FILE), secret, PASSPHRASE, this.fingerprint, CHEAP);
    await writeBackupKey(folder, this.seed);
    await revokeIn(folder, journalKey(this.seed), this.fingerprint, now);
  }
}

const targets = new Map<string, DerivedAddress>();
const places = new Map<string, string>();
/** How far a restore jumps, and how many addresses behind each jump are ever used here: a machine that begins from the words uses 181. */
export const JUMPED = 10_000;
export const USED_MAX = 800;
/** What begins from the words alone begins so far behind the last address that it found (the gap limit). */
const SKIPPED = 1_000;

/**
 * An address of the wallet: derived once a process, since every run has the same words. What a restore skips and nobody
 * was ever given has a script that no key belongs to, which costs a thousandth.
 */
export function derived(chain: UtxoChain, account: AccountKey, branch: Branch, index: number): DerivedAddress {
  const name = `${chain}/${account.kind === 'secp256k1' ? account.publicKey : ''}/${branch}/${index}`;
  const behind = index % JUMPED;
  if (behind >= USED_MAX && (behind < SKIPPED || behind >= SKIPPED + USED_MAX)) {
    return { script: Buffer.from(`0014${hash('sha1', name)}`, 'hex'), address: `skipped ${branch}/${index}` };
  }
  const known = targets.get(name);
  if (known) return known;
  const made = elsewhere(() => deriveAddress(chain, 'regtest', account, branch, index));
  targets.set(name, made);
  places.set(`${chain}/${Buffer.from(made.script).toString('hex')}`, `${branch}/${index}`);
  return made;
}

/** The answer with a signature after its connection ended within it. Throws as the product does: all of it is never there. */
async function cutAnswer(part: number, signed: SignedSpend): Promise<SignedSpend> {
  const [near, far] = duplexPair();
  const peer = new Peer(streamChannel(near), () => {});
  const answer = peer.ask({ call: 'sealKey' }, ANSWER_MS);
  const text = Buffer.from(`${JSON.stringify({ id: 1, end: 'ok', result: encodeSigned(signed) })}\n`);
  far.once('finish', () => setImmediate(() => near.destroy()));
  far.end(text.subarray(0, Math.floor(part * text.length)));
  return decodeSigned(SignedShape.parse(await answer));
}

/** The signer, in this process: what judges, remembers and signs is its own code. */
export class LocalSigner implements Signer {
  readonly #folder: string;
  readonly #time: Time;
  #session: Session | null = null;
  /** The last one that was opened, whose opening nobody may hear of when the power fails. */
  #opened: Promise<Session> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** The connection over which it is asked now. `ends`: see `cut`; null: it holds. */
  #line: { ends: number | null } = { ends: null };
  /** What it was asked to sign last. */
  lastOrder: SignOrder | null = null;
  /** What the daemon asks for is seen here, and may be altered by one that was taken over. */
  onOrder: (order: SignOrder, sign: (order: SignOrder) => Promise<SignedSpend>) => Promise<SignedSpend> = (
    order,
    sign,
  ) => sign(order);

  /** It has taken limits of the operator's. */
  onGranted: (grant: Grant) => void = () => {};

  constructor(folder: string, time: Time) {
    this.#folder = folder;
    this.#time = time;
  }

  /** One thing after the other, as the signer's process does them. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  open(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#session) {
        this.#opened = Session.open(this.#folder, PASSPHRASE, this.#time.wall);
        this.#session = await this.#time.outside(this.#opened);
      }
      if (!existsSync(this.#ended)) return;
      await this.#time.outside(this.#session.endApprovals());
      rmSync(this.#ended);
    });
  }

  get #ended(): string {
    return join(this.#folder, ENDED_FILE);
  }

  /** Ends what was approved before, at once or when it is opened next. */
  endApprovals(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#session) await this.#time.outside(this.#session.endApprovals());
      else writeFileSync(this.#ended, '');
    });
  }

  async status(): Promise<SignerStatus> {
    const state = this.#session ? 'unlocked' : 'locked';
    return { state, fingerprint: null, lockAt: null, retryAfterSeconds: 0, wordsUnproved: false };
  }

  lock(): Promise<SignerStatus> {
    return this.#inTurn(async () => {
      const session = this.#session;
      this.#session = null;
      if (session) await this.#time.outside(session.close());
      return this.status();
    });
  }

  sign(order: SignOrder): Promise<SignedSpend> {
    this.lastOrder = order;
    const line = this.#line;
    return this.onOrder(order, (one) =>
      this.#inTurn(async () => {
        if (!this.#session) throw new Rejected('signer.locked', 'The wallet is locked');
        const signed = await this.#time.outside(this.#session.sign(one));
        const { ends } = line;
        if (ends === null) return signed;
        // what was asked before this is under way on the same connection; what is asked from now on is on another one
        line.ends = 0;
        if (this.#line === line) this.#line = { ends: null };
        return this.#time.outside(cutAnswer(ends, signed));
      }),
    );
  }

  /** The connection to it ends within the next answer, after this part of its bytes. What is under way then is lost with it. */
  cut(part: number): void {
    this.#line.ends = part;
  }

  grantPolicy(grant: Grant, mac: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#session) throw new Rejected('signer.locked', 'The wallet is locked');
      await this.#time.outside(this.#session.grant(grant, mac));
      this.onGranted(grant);
    });
  }

  keyImages(request: ImagesRequest): Promise<Record<string, string>> {
    return this.#inTurn(() => {
      if (!this.#session) throw new Rejected('signer.locked', 'The wallet is locked');
      return this.#time.outside(this.#session.keyImages(request));
    });
  }

  revokeApprovals(): Promise<void> {
    throw new Unavailable('the simulated operator revokes nothing', 5);
  }

  /** Closes the files of a dead one. */
  async bury(): Promise<void> {
    const session = await this.#opened?.catch(() => null);
    this.#session = null;
    await session?.close();
  }

  sealKey(): Promise<string> {
    throw new Unavailable('the simulated operator needs no seal', 5);
  }
  unlock(): Promise<SignerStatus> {
    throw new Unavailable('the simulated operator opens it directly', 5);
  }
  authorize(): Promise<Macs> {
    throw new Unavailable('the simulated operator has the vault', 5);
  }
  custody(): Promise<CustodyResult> {
    throw new Unavailable('the simulated operator has the vault', 5);
  }
  changePassphrase(): Promise<SignerStatus> {
    throw new Unavailable('the simulated operator keeps the passphrase', 5);
  }
  async close(): Promise<void> {
    await this.lock();
  }
}
