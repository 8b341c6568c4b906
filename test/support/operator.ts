/** The operator of a test: decides about withdrawals with the wallet's passphrase, as the command line does. */
import { join } from 'node:path';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Call, Params, Result } from '../../daemon/contract/operator.ts';
import { textIn, textOf } from '../../daemon/domain/messages.ts';
import { authorized } from '../../daemon/wallet/operator-keys.ts';
import { type Authorization, type Intent, type PolicyGrant, SEAL_UNLOCK } from '../../daemon/wallet/signer/port.ts';
import { seal } from '../../daemon/wallet/signer/seal.ts';

type Preview = NonNullable<Result<'withdrawal.propose'>['preview']>;
type Proposal = Params<'withdrawal.propose'>;
type Withdrawal = Result<'withdrawal.show'>['withdrawal'];
type Version = Withdrawal['versions'][number];
/** A row with its messages in English. */
type Spoken<T> = Omit<T, 'problem' | 'reason' | 'versions'> & { problem: string | null };
export type Shown = Spoken<Withdrawal> & { reason: string | null; versions: Spoken<Version>[] };

export class Operator {
  readonly call: Call;
  readonly #folder: string;
  readonly #passphrase: string;

  constructor(dataDir: string, passphrase = '', call = operatorClient(dataDir)) {
    this.call = call;
    this.#folder = join(dataDir, 'vault');
    this.#passphrase = passphrase;
  }

  async unlock(): Promise<void> {
    const { seal_key } = await this.call('wallet.sealKey', {});
    await this.call('wallet.unlock', { sealed: await seal(seal_key, SEAL_UNLOCK, this.#passphrase) });
  }

  /** A withdrawal with its messages in English. */
  async show(id: string | number): Promise<Shown> {
    const { withdrawal } = await this.call('withdrawal.show', { id: `${id}` });
    const versions = withdrawal.versions.map((version) => ({ ...version, problem: textIn(version.problem) }));
    return { ...withdrawal, problem: textIn(withdrawal.problem), reason: textIn(withdrawal.reason), versions };
  }

  /** The texts of the open alerts of a kind. */
  async alertsOf(kind: string): Promise<string[]> {
    const { alerts } = await this.call('alert.list', {});
    return alerts.flatMap((one) => (one.kind === kind ? [textOf(one.message)] : []));
  }

  /** The approvals of what a preview names. */
  async approvals({ purpose, intents, until }: Preview) {
    const macs = intents.every(({ network }) => network === 'sandbox')
      ? []
      : await this.#macs({ approvals: intents.map((intent) => ({ purpose, intent: intent as Intent, until })) });
    return intents.map(({ uuid, feeMax, units, sweep }, at) => ({
      uuid,
      fee_max: feeMax,
      until,
      mac: macs[at] ?? null,
      ...(sweep ? { units } : {}),
    }));
  }

  /** What a proposal would sign. */
  async propose(proposal: Proposal): Promise<Preview> {
    const { preview, why } = await this.call('withdrawal.propose', proposal);
    if (!preview) throw new Error(`nothing to show of a ${proposal.kind}: ${textIn(why)}`);
    return preview;
  }

  /** Proposes, and approves what is shown. */
  async carryOut(proposal: Proposal): Promise<Preview> {
    const preview = await this.propose(proposal);
    await this.call('withdrawal.approve', { proposal, approvals: await this.approvals(preview) });
    return preview;
  }

  async preview(id: string | number): Promise<Preview> {
    return this.propose({ kind: 'pay', id: `${id}` });
  }

  /** Approves a withdrawal as it is shown. */
  async approve(id: string | number): Promise<Preview> {
    const preview = await this.preview(id);
    const approvals = await this.approvals(preview);
    await this.call('withdrawal.approve', { proposal: { kind: 'pay', id: `${id}` }, approvals });
    return preview;
  }

  /** Replaces the transaction of a withdrawal. */
  async replace(id: string | number, kind: 'speed-up' | 'cancel', feeRate?: string): Promise<Preview> {
    return this.carryOut({ kind, id: `${id}`, ...(feeRate === undefined ? {} : { fee_rate: feeRate }) });
  }

  /** Grants the wallet what a policy may let go, and sets it. */
  async allow(policy: {
    business: string;
    mode?: 'automatic' | 'manual';
    per_withdrawal_usd?: string;
    per_day_usd?: string;
    address_book_only?: boolean;
  }): Promise<void> {
    const wanted = { mode: 'automatic' as const, ...policy };
    const { grants } = await this.call('policy.grants', wanted);
    const macs = await this.#macs({ grants: grants as PolicyGrant[] });
    const signed = grants.map((grant, at) => ({ grant, mac: macs[at]! }));
    await this.call('policy.set', { ...wanted, grants: signed });
  }

  async #macs(wanted: Partial<Authorization>): Promise<string[]> {
    const whole = { approvals: [], change: null, grants: [], ...wanted };
    const { approvals, grants } = await authorized(this.#folder, this.#passphrase, whole);
    return [...approvals, ...grants];
  }
}
