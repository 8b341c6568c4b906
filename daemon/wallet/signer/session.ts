/**
 * The unlocked wallet inside the signer's process: the seed, the keys derived from it that are not coin keys, and the
 * journal.
 *
 * Invariant: a signature is given out only after its order was judged and its line is in the journal. Closing wipes
 * every secret that is in a buffer. Secrets in JavaScript strings are freed when the process ends, right after.
 */
import { join } from 'node:path';
import { Rejected } from '../../domain/errors.ts';
import type { SignedSpend } from '../../domain/spend.ts';
import { type ImportedMonero, masterFingerprint } from '../accounts.ts';
import { seedOf } from '../mnemonic.ts';
import { openVault } from '../vault.ts';
import { approvalKey, type Epoch, grantMac, intentMac, journalKey, revocationMac, sameMac } from './approval.ts';
import { judgeOrder } from './families.ts';
import { VAULT_FILE } from './files.ts';
import { forwardSubjectOf, needDestination } from './forward.ts';
import { gasSubjectOf } from './gas.ts';
import { Journal, newEpoch, StaleJournal } from './journal.ts';
import type { Line, SignLine } from './journal-line.ts';
import type { Judged } from './judged.ts';
import { GAS_GRANT_MS_MAX } from './limits.ts';
import { type Memory, subjectOf, type Witness } from './permission.ts';
import type { Grant, ImagesRequest, SignOrder } from './port.ts';
import { newestDateOf } from './register.ts';

/** How far the operator's clock may be ahead of this machine's for a grant. */
const GRANT_AHEAD_MS = 3_600_000;

type OpenJournal = () => Promise<Journal>;

export class Session {
  readonly #seed: Buffer;
  readonly #imported: readonly ImportedMonero[];
  readonly #approvalKey: Buffer;
  readonly #journalKey: Buffer;
  readonly #openJournal: OpenJournal;
  #journal: Journal;
  #wasJoined = false;
  #uses = 0;
  readonly #now: () => number;

  private constructor(
    { seed, imported }: { seed: Buffer; imported: readonly ImportedMonero[] },
    keys: { approval: Buffer; journal: Buffer },
    { journal, openJournal }: { journal: Journal; openJournal: OpenJournal },
    now: () => number,
  ) {
    this.#seed = seed;
    this.#imported = imported;
    this.#approvalKey = keys.approval;
    this.#journalKey = keys.journal;
    this.#journal = journal;
    this.#openJournal = openJournal;
    this.#now = now;
  }

  /**
   * Opens the vault and the journal. `beforeWrite` is called right before a line is written, and nothing is written if it throws.
   * Throws `Rejected`: `vault.*`, `signer.journal`.
   */
  static async open(
    folder: string,
    passphrase: string,
    now: () => number,
    beforeWrite: () => Promise<void> = async () => {},
  ): Promise<Session> {
    const secret = await openVault(join(folder, VAULT_FILE), passphrase);
    const seed = await seedOf(secret.mnemonic, secret.passphrase);
    const keys = { approval: approvalKey(seed), journal: journalKey(seed) };
    try {
      const fingerprint = masterFingerprint(seed);
      const openJournal = () => Journal.open(folder, keys.journal, fingerprint, now(), { beforeWrite });
      const opened = { journal: await openJournal(), openJournal };
      return new Session({ seed, imported: secret.monero }, keys, opened, now);
    } catch (error) {
      for (const secretBytes of [seed, keys.approval, keys.journal]) secretBytes.fill(0);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const secretBytes of [this.#seed, this.#approvalKey, this.#journalKey]) secretBytes.fill(0);
    await this.#journal.close();
  }

  /** Whether the journal had lines of a second signer, which are joined now. */
  get wasJoined(): boolean {
    return this.#wasJoined || this.#journal.wasJoined;
  }

  /** How often it did what it had no word for before: other versions of a payment are none. */
  get uses(): number {
    return this.#uses;
  }

  /** Throws `Rejected`: see `Signer.sign`. */
  sign(order: SignOrder): Promise<SignedSpend> {
    return this.#upToDate(() => this.#sign(order));
  }

  /** If another process wrote to the journal, reads it again and judges by what it says now. */
  async #upToDate<T>(work: () => Promise<T>): Promise<T> {
    try {
      // approvals are made for the epoch that the head names
      await this.#journal.needHead();
      return await work();
    } catch (error) {
      if (!(error instanceof StaleJournal)) throw error;
      const former = this.#journal;
      this.#wasJoined = this.wasJoined;
      this.#journal = await this.#openJournal();
      await former.close();
      return work();
    }
  }

  async #sign(order: SignOrder): Promise<SignedSpend> {
    const judged = await this.#judge(order);
    const signed = await judged.sign();
    const line = lineOf(order, judged, signed, this.#now());
    // whoever asks for the same again, and again, fills no record
    if (this.#journal.memory.knows(line)) await this.#journal.needOurs();
    else await this.#write(line, this.#journal.memory.isAnew(line));
    return signed;
  }

  async #write(line: Line, isUse = true): Promise<void> {
    await this.#journal.append(line);
    if (isUse) this.#uses += 1;
  }

  async #judge(order: SignOrder): Promise<Judged> {
    const witness: Witness = {
      memory: this.#journal.memory,
      now: this.#now(),
      isApproved: (epoch, purpose, intent, { mac, until }) =>
        sameMac(mac, intentMac(this.#approvalKey, epoch, purpose, intent, until)),
    };
    return judgeOrder(order, this.#keys, witness);
  }

  get #keys() {
    return { seed: this.#seed, imported: this.#imported };
  }

  async keyImages({ network, accountNo, outputs }: ImagesRequest): Promise<Record<string, string>> {
    return (await import('./xmr/judge.ts')).keyImagesOf(this.#keys, network, accountNo, outputs);
  }

  /** Throws `Rejected('signer.approval')` for a false MAC, or a grant older than the current one. */
  grant(grant: Grant, mac: string): Promise<void> {
    return this.#upToDate(() => this.#grant(grant, mac));
  }

  async #grant(grant: Grant, mac: string): Promise<void> {
    const now = this.#now();
    const before = inForce(this.#journal.memory, grant);
    const right = grantMac(this.#approvalKey, this.#epoch, grant);
    if (!sameMac(mac, right)) {
      throw new Rejected('signer.approval', "The operator's approval does not belong to these limits");
    }
    // a clock that was ahead when limits were set must not keep them in force
    const latest = Math.max(now, newestDateOf(this.#journal.memory)) + GRANT_AHEAD_MS;
    if (grant.issuedAt > latest) throw tooEarly(now);
    if (before && sameMac(mac, grantMac(this.#approvalKey, this.#epoch, before))) return;
    if (before && before.issuedAt >= grant.issuedAt) throw outdated(before, grant, now);
    const network = realNetwork(grant);
    if (!('kind' in grant)) {
      await this.#write({ kind: 'grant', at: now, grant: { ...grant, network } });
      return;
    }
    if (grant.kind === 'forward') {
      needDestination(grant);
      await this.#write({ kind: 'forward', at: now, grant: { ...grant, network } });
      return;
    }
    if (grant.until > now + GAS_GRANT_MS_MAX + GRANT_AHEAD_MS) {
      throw new Rejected('signer.approval', 'Gas is granted for 31 days at most');
    }
    await this.#write({ kind: 'gas', at: now, grant: { ...grant, network } });
  }

  /** Throws `Rejected('signer.approval')` if the MAC does not end the current epoch. */
  revoke(next: string, mac: string): Promise<void> {
    return this.#upToDate(() => this.#revoke(next, mac));
  }

  /** Ends every approval and grant without the operator's word, by which nobody gains a right. */
  endApprovals(): Promise<void> {
    return this.#upToDate(() => this.#journal.append({ kind: 'revoked', at: this.#now(), epoch: newEpoch() }));
  }

  async #revoke(next: string, mac: string): Promise<void> {
    if (!sameMac(mac, revocationMac(this.#approvalKey, this.#epoch, next))) {
      throw new Rejected('signer.approval', "The operator's word does not belong to the approvals of now");
    }
    await this.#write({ kind: 'revoked', at: this.#now(), epoch: next });
  }

  get #epoch(): Epoch {
    return this.#journal.memory.epochs.at(-1) ?? null;
  }
}

/** The grant that another one would replace. */
function inForce({ grants, gasGrants, forwardGrants }: Memory, grant: Grant): Grant | undefined {
  if (!('kind' in grant)) return grants.get(subjectOf(grant));
  return grant.kind === 'gas' ? gasGrants.get(gasSubjectOf(grant)) : forwardGrants.get(forwardSubjectOf(grant));
}

const dateOf = (ms: number): string => new Date(ms).toISOString();

function tooEarly(now: number): Rejected {
  const text = `These limits are dated later than the wallet's clock, which says ${dateOf(now)}: set the clock that is wrong, and set the limits again`;
  return new Rejected('signer.approval', text);
}

function outdated(before: Grant, { issuedAt }: Grant, now: number): Rejected {
  const newer = `Newer limits are in force already: they are of ${dateOf(before.issuedAt)}, and these of ${dateOf(issuedAt)}`;
  const ahead = `${newer}. The clock was ahead then: the command line replaces them, and \`countinghouse wallet revoke\` ends all limits`;
  return new Rejected('signer.approval', before.issuedAt > now + GRANT_AHEAD_MS ? ahead : newer);
}

function realNetwork({ network }: Grant): 'mainnet' | 'testnet' | 'regtest' {
  if (network === 'sandbox') throw new Rejected('signer.unsupported', 'The sandbox asks for no approval');
  return network;
}

const gasUseOf = ({ subject, units, funded }: NonNullable<Judged['verdict']['spentGas']>) => ({
  subject,
  units: units.toString(),
  ...(funded && { funded: { index: funded.index, units: funded.units.toString() } }),
});

const forwardUseOf = ({ subject, units, to, gas }: NonNullable<Judged['verdict']['spentForward']>) => ({
  subject,
  units: units.toString(),
  ...(to && { to }),
  ...(gas && { gas: { ...gas, units: gas.units.toString() } }),
});

function lineOf(
  { purpose }: SignOrder,
  { verdict, conflictKeys, change }: Judged,
  { txid, fee }: SignedSpend,
  at: number,
): SignLine {
  const { entries, spent, spentFee, spentGas, spentForward } = verdict;
  return {
    kind: 'sign',
    at,
    purpose,
    txid,
    fee: fee.toString(),
    inputs: [...conflictKeys],
    ...(change ? { change } : {}),
    entries: entries.map((entry) => ({
      uuid: entry.intent.uuid,
      identity: entry.identity,
      feeMax: entry.feeMax.toString(),
      ...(entry.policyUnits === null ? {} : { byPolicy: true as const }),
    })),
    ...(spent ? { spent: { ...spent, units: spent.units.toString() } } : {}),
    ...(spentFee ? { spentFee: { ...spentFee, units: spentFee.units.toString() } } : {}),
    ...(spentForward ? { spentForward: forwardUseOf(spentForward) } : {}),
    ...(spentGas ? { spentGas: gasUseOf(spentGas) } : {}),
  };
}
