/** The memory of a journal: the signatures that were given out, and the limits that are left. */
import { assetOf } from '../../domain/assets.ts';
import { divideUp, maxOf } from '../../domain/money.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../domain/time.ts';
import type { Epoch } from './approval.ts';
import { FeeCover } from './fee-cover.ts';
import { forwardGasOf, forwardSubjectOf } from './forward.ts';
import { ForwardIndices } from './forward-index.ts';
import { gasSubjectOf } from './gas.ts';
import type { Line, SignLine } from './journal-line.ts';
import { type Memory, type PolicySpend, type SignatureRecord, subjectOf } from './permission.ts';
import type { ForwardGrant, GasGrant, PolicyGrant } from './port.ts';
import { type SignedChange, SignedChanges } from './signed-changes.ts';

const HOURS_PER_DAY = 24;
const hourOf = (at: number): number => Math.floor(at / MS_PER_HOUR);

/** More are kept if they are of the last two days. */
const SPENDS_KEPT = 1_000;

/**
 * `isBeside`: the line is of a second signer, which did not know the lines before it. `epoch`: the one that it was written in. `bytes`: its
 * length.
 */
type Place = { isBeside: boolean; epoch: Epoch; bytes: number };

export class JournalMemory implements Memory {
  readonly signed = new Map<string, SignatureRecord>();
  readonly changes = new SignedChanges();
  readonly grants = new Map<string, PolicyGrant>();
  readonly gasGrants = new Map<string, GasGrant>();
  readonly forwardGrants = new Map<string, ForwardGrant>();
  readonly forwardIndices = new ForwardIndices();
  readonly tanks = new Map<string, number>();
  readonly gasUsed = new Map<string, bigint>();
  readonly gasFunded = new Map<string, bigint>();
  readonly fundedBefore = new Map<string, SignedChange>();
  /** By subject of a grant of gas: the highest index that got gas so far. */
  readonly #funded = new Map<string, SignedChange>();
  /** Oldest first. */
  readonly epochs: Epoch[] = [];
  readonly policyFees = new FeeCover();
  policySpends: PolicySpend[] = [];
  /** The bytes of the lines that needed no new approval, by their hour since 1970. */
  readonly #unasked = new Map<number, number>();
  isFresh = false;

  get epoch(): Epoch {
    return this.epochs.at(-1) ?? null;
  }

  take(line: Line, { isBeside, epoch, bytes }: Place): void {
    switch (line.kind) {
      case 'start':
        this.epochs.push(line.epoch ?? null);
        this.isFresh = line.fresh ?? false;
        return;
      case 'revoked':
        this.epochs.push(line.epoch);
        this.grants.clear();
        this.gasGrants.clear();
        this.forwardGrants.clear();
        return;
      case 'grant':
        this.#grant(line.grant, isBeside);
        return;
      case 'gas':
        this.#grantGas(line.grant, isBeside);
        return;
      case 'forward':
        this.#grantForward(line.grant, isBeside);
        return;
      case 'sign':
        if (this.isUnasked(line)) {
          const hour = hourOf(line.at);
          this.#unasked.set(hour, (this.#unasked.get(hour) ?? 0) + bytes);
        }
        this.#sign(line, epoch);
    }
  }

  /**
   * Of two signers that did not know of each other, one may have been told smaller limits. So such limits allow nothing until
   * newer ones are granted.
   */
  #grant(grant: PolicyGrant, isBeside: boolean): void {
    const subject = subjectOf(grant);
    const before = this.grants.get(subject)?.issuedAt ?? 0;
    if (!isBeside && grant.issuedAt >= before) this.grants.set(subject, grant);
    else {
      const issuedAt = Math.max(before, grant.issuedAt);
      this.grants.set(subject, { ...grant, issuedAt, perWithdrawal: '0', perDay: '0' });
    }
  }

  #grantGas(grant: GasGrant, isBeside: boolean): void {
    const subject = gasSubjectOf(grant);
    const before = this.gasGrants.get(subject)?.issuedAt ?? 0;
    const isNewest = !isBeside && grant.issuedAt >= before;
    if (isNewest && grant.tank !== undefined) this.tanks.set(subject, grant.tank);
    if (isNewest) this.gasGrants.set(subject, grant);
    else this.gasGrants.set(subject, { ...grant, issuedAt: Math.max(before, grant.issuedAt), feeMax: '0' });
    this.gasUsed.delete(subject);
    this.gasFunded.delete(subject);
    this.#mayReachOn(subject);
  }

  /** The operator's word lets gas go further than the addresses that got some before it. */
  #mayReachOn(gasSubject: string): void {
    const reached = this.#funded.get(gasSubject);
    if (reached) this.fundedBefore.set(gasSubject, reached);
  }

  #grantForward(grant: ForwardGrant, isBeside: boolean): void {
    const subject = forwardSubjectOf(grant);
    const before = this.forwardGrants.get(subject)?.issuedAt ?? 0;
    const isNewest = !isBeside && grant.issuedAt >= before;
    const known = isNewest ? grant : { ...grant, issuedAt: Math.max(before, grant.issuedAt), feeDay: '0' };
    this.forwardGrants.set(subject, known);
    if (isNewest) this.#mayReachOn(gasSubjectOf({ ...grant, chain: assetOf(grant.asset).chain as GasGrant['chain'] }));
  }

  #reach(subject: string, index: number): void {
    const highest = Math.max(index, this.#funded.get(subject)?.index ?? 0);
    this.#funded.set(subject, { index: highest, epochs: this.epochs.length });
  }

  /** Whether a signature was given out before, and counts nothing more: its line would say nothing new. */
  knows({ txid, fee, entries, spent, spentFee, spentGas, spentForward }: SignLine): boolean {
    const uses = [spent, spentFee, spentGas, spentGas?.funded, spentForward, spentForward?.gas];
    if (uses.some((use) => use !== undefined && use.units !== '0')) return false;
    return entries.every(({ uuid, identity, feeMax, byPolicy }) => {
      const known = this.signed.get(uuid);
      if (!known?.versions.some((version) => version.txid === txid)) return false;
      const isCounted = byPolicy === undefined || (known.policyFee !== null && BigInt(fee) <= known.policyFee);
      return isCounted && known.identity === identity && BigInt(feeMax) <= known.feeMax;
    });
  }

  /** Whether it pays what was not signed before, or may cost more than was approved before. Another version of a payment does neither. */
  isAnew({ entries }: SignLine): boolean {
    return entries.some(({ uuid, feeMax }) => {
      const known = this.signed.get(uuid);
      return known === undefined || BigInt(feeMax) > known.feeMax;
    });
  }

  /** Whether a signature needs no new approval of the operator: whoever has the service may ask for as many as he likes. */
  isUnasked({ entries, spentForward }: SignLine): boolean {
    if (spentForward) return true;
    return entries.every(({ uuid, feeMax, byPolicy }) => {
      const known = this.signed.get(uuid);
      return byPolicy !== undefined || (known !== undefined && BigInt(feeMax) <= known.feeMax);
    });
  }

  /** The bytes of such lines in this hour and the 23 before it. `now`: milliseconds since 1970. */
  unaskedInDay(now: number): number {
    let bytes = 0;
    for (let ago = 0; ago < HOURS_PER_DAY; ago++) bytes += this.#unasked.get(hourOf(now) - ago) ?? 0;
    return bytes;
  }

  #sign(line: SignLine, epoch: Epoch): void {
    if (line.spentGas) {
      const { subject, units, funded } = line.spentGas;
      this.gasUsed.set(subject, (this.gasUsed.get(subject) ?? 0n) + BigInt(units));
      if (funded) {
        this.gasFunded.set(subject, (this.gasFunded.get(subject) ?? 0n) + BigInt(funded.units));
        this.#reach(subject, funded.index);
      }
    }
    const forwardGas = line.spentForward?.gas;
    if (forwardGas) this.#reach(forwardGas.account, forwardGas.index);
    if (line.change) {
      const { account, index } = line.change;
      const uuids = line.entries.map(({ uuid }) => uuid);
      const forwardedAt = line.spentForward ? line.at : null;
      this.changes.take(account, { index, epochs: this.epochs.length, uuids, forwardedAt });
    }
    // all withdrawals of a batch share it
    const version = { txid: line.txid, keys: line.inputs, epoch };
    for (const { uuid, identity, feeMax, byPolicy } of line.entries) {
      const before = this.signed.get(uuid);
      const versions = before?.versions ?? [];
      const known = before?.policyFee ?? null;
      this.signed.set(uuid, {
        identity,
        // the same transaction requested again is not a new version
        versions: versions.some(({ txid }) => txid === line.txid) ? versions : [...versions, version],
        feeMax: maxOf(before?.feeMax ?? 0n, BigInt(feeMax)),
        policyFee: byPolicy ? maxOf(known ?? 0n, BigInt(line.fee)) : known,
        ...fundedOf(before, line),
        ...forwardedOf(before, line),
        ...feeShareOf(before, line, byPolicy === true),
      });
    }
    if (line.spentForward?.to) this.forwardIndices.take(line.spentForward.to, line.inputs, line.at);
    const feeUse = line.spentFee ?? line.spent;
    for (const use of [feeUse, line.spentForward]) {
      if (use) this.policyFees.add(use.subject, line.inputs, BigInt(line.fee));
    }
    const uses = [line.spent, line.spentFee, line.spentForward, gasUseOf(line)];
    for (const { subject, units } of uses.filter((use) => use !== undefined)) {
      this.policySpends.push({ at: line.at, subject, units: BigInt(units) });
    }
    this.#forgetSpends(line.at);
  }

  /**
   * Drops old uses of grants. The newest stay, whatever their time: a clock that was ahead once must not give back what was used on the
   * day that it returns to. `at`: of the newest line, so that a clock that was set back drops no recent ones.
   */
  #forgetSpends(at: number): void {
    const { length } = this.policySpends;
    if (length <= 2 * SPENDS_KEPT) return;
    this.policySpends = this.policySpends.filter(
      (spend, index) => spend.at > at - 2 * MS_PER_DAY || index >= length - SPENDS_KEPT,
    );
  }
}

function fundedOf(
  before: SignatureRecord | undefined,
  { spentGas, spentForward }: SignLine,
): Pick<SignatureRecord, 'funded'> {
  const more = spentGas?.funded?.units ?? spentForward?.gas?.units ?? 0;
  const given = (before?.funded ?? 0n) + BigInt(more);
  return given > 0n ? { funded: given } : {};
}

/** The limit of forwarding that a withdrawal counted against; the operator may approve a later version of it. */
function forwardedOf(before: SignatureRecord | undefined, line: SignLine): Pick<SignatureRecord, 'forwarded'> {
  const subject = gasUseOf(line)?.subject ?? line.spentForward?.subject ?? before?.forwarded;
  return subject === undefined ? {} : { forwarded: subject };
}

/** Of a batch with payments that the operator approved, their highest fees are no part of what limits let go. */
function feeShareOf(
  before: SignatureRecord | undefined,
  { entries, fee, spentForward }: SignLine,
  byPolicy: boolean,
): Pick<SignatureRecord, 'feeShare'> {
  const known = before?.feeShare;
  if (!byPolicy && !spentForward) return known === undefined ? {} : { feeShare: known };
  let [left, count] = [BigInt(fee), 0n];
  for (const one of entries) {
    if (one.byPolicy || spentForward) count += 1n;
    else left -= BigInt(one.feeMax);
  }
  const share = divideUp(maxOf(left, 0n), count);
  return { feeShare: maxOf(known ?? 0n, share) };
}

/** The gas that a deposit address got to send its token on, by the subject of that limit. */
function gasUseOf({ spentForward }: SignLine): { subject: string; units: string } | undefined {
  if (!spentForward?.gas) return undefined;
  return { subject: forwardGasOf(spentForward.subject), units: spentForward.gas.units };
}
