/**
 * The unlocked wallet inside the signer's process: the seed, what is derived from it beside coins' keys, and the journal.
 *
 * Invariant: a signature is given out only after its order was judged and its line is in the journal. Closed, every
 * secret that has a buffer is wiped; what went through JavaScript's strings goes with the process, which ends then.
 */
import { join } from 'node:path';
import { Rejected } from '../../domain/errors.ts';
import type { SignedSpend, UtxoPlan } from '../../domain/spend.ts';
import { masterFingerprint } from '../accounts.ts';
import { seedOf } from '../mnemonic.ts';
import { openVault } from '../vault.ts';
import { approvalKey, type Epoch, grantMac, intentMac, journalKey, revocationMac, sameMac } from './approval.ts';
import { VAULT_FILE } from './files.ts';
import { Journal, type Line } from './journal.ts';
import { subjectOf, type Verdict } from './permission.ts';
import type { PolicyGrant, SignOrder, UtxoOrder } from './port.ts';
import type { PreviousOutput } from './previous.ts';

/** How far ahead the operator's clock may be of this machine's when a grant is made. */
const GRANT_AHEAD_MS = 3_600_000;

export class Session {
  readonly #seed: Buffer;
  readonly #approvalKey: Buffer;
  readonly #journalKey: Buffer;
  readonly #journal: Journal;
  readonly #now: () => number;

  private constructor(seed: Buffer, keys: { approval: Buffer; journal: Buffer }, journal: Journal, now: () => number) {
    this.#seed = seed;
    this.#approvalKey = keys.approval;
    this.#journalKey = keys.journal;
    this.#journal = journal;
    this.#now = now;
  }

  /** Opens the vault and the journal. Throws `Rejected`: `vault.*`, `signer.journal`. */
  static async open(folder: string, passphrase: string, now: () => number): Promise<Session> {
    const secret = await openVault(join(folder, VAULT_FILE), passphrase);
    const seed = await seedOf(secret.mnemonic, secret.passphrase);
    const keys = { approval: approvalKey(seed), journal: journalKey(seed) };
    try {
      const journal = await Journal.open(folder, keys.journal, masterFingerprint(seed), now());
      return new Session(seed, keys, journal, now);
    } catch (error) {
      for (const secretBytes of [seed, keys.approval, keys.journal]) secretBytes.fill(0);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const secretBytes of [this.#seed, this.#approvalKey, this.#journalKey]) secretBytes.fill(0);
    await this.#journal.close();
  }

  /** Throws `Rejected`: see `Signer.sign`. */
  async sign(order: SignOrder): Promise<SignedSpend> {
    // loaded when first needed: a wallet that is only unlocked need not wait for them
    const [{ judge, utxoPlan }, { signPlan }, { withAccountKeys }, { ownScript }, { previousOutputs }] =
      await Promise.all([
        import('./judge.ts'),
        import('./sign.ts'),
        import('./keys.ts'),
        import('./destination.ts'),
        import('./previous.ts'),
      ]);
    const { plan, chain } = utxoPlan(order);
    const verdict = withAccountKeys(this.#seed, chain, plan.network, plan.accountNo, (keys) =>
      judge(order, {
        memory: this.#journal.memory,
        now: this.#now(),
        isApproved: (epoch, purpose, intent, { mac, until }) =>
          sameMac(mac, intentMac(this.#approvalKey, epoch, purpose, intent, until)),
        ownScript: (branch, index) => ownScript(keys.publicKey(branch, index), chain),
        output: outputsOf('previous' in order ? order.previous : {}, previousOutputs),
      }),
    );
    const signed = signPlan(this.#seed, plan);
    await this.#journal.append(lineOf(order, plan, verdict, signed, this.#now()));
    return signed;
  }

  /** Throws `Rejected('signer.approval')` when it is not the operator's, or older than what is granted already. */
  async grant(grant: PolicyGrant, mac: string): Promise<void> {
    const now = this.#now();
    const before = this.#journal.memory.grants.get(subjectOf(grant));
    const right = grantMac(this.#approvalKey, this.#epoch, grant);
    if (!sameMac(mac, right) || grant.issuedAt > now + GRANT_AHEAD_MS) {
      throw new Rejected('signer.approval', "The operator's approval does not belong to these limits");
    }
    if (before && sameMac(mac, grantMac(this.#approvalKey, this.#epoch, before))) return;
    if (before && before.issuedAt >= grant.issuedAt) {
      throw new Rejected('signer.approval', 'Newer limits are in force already');
    }
    await this.#journal.append({ kind: 'grant', at: now, grant: { ...grant, network: realNetwork(grant) } });
  }

  /** Throws `Rejected('signer.approval')` when it is not the operator's word about the epoch that this one is. */
  async revoke(next: string, mac: string): Promise<void> {
    if (!sameMac(mac, revocationMac(this.#approvalKey, this.#epoch, next))) {
      throw new Rejected('signer.approval', "The operator's word does not belong to the approvals of now");
    }
    await this.#journal.append({ kind: 'revoked', at: this.#now(), epoch: next });
  }

  get #epoch(): Epoch {
    return this.#journal.memory.epochs.at(-1) ?? null;
  }
}

function realNetwork({ network }: PolicyGrant): 'mainnet' | 'testnet' | 'regtest' {
  if (network === 'sandbox') throw new Rejected('signer.unsupported', 'The sandbox asks for no approval');
  return network;
}

/** Each previous transaction is read and hashed once, however many of its outputs are spent. */
function outputsOf(
  previous: UtxoOrder['previous'],
  read: (txid: string, raw: string) => PreviousOutput[],
): (outpoint: string) => PreviousOutput {
  const known = new Map<string, PreviousOutput[]>();
  return (outpoint) => {
    const [txid = '', n] = outpoint.split(':');
    let outputs = known.get(txid);
    if (!outputs) {
      const raw = Object.hasOwn(previous, txid) ? previous[txid] : undefined;
      if (raw === undefined) throw new Rejected('signer.input', `The previous transaction ${txid} was not given`);
      outputs = read(txid, raw);
      known.set(txid, outputs);
    }
    const output = outputs[Number(n)];
    if (!output) throw new Rejected('signer.input', `There is no output ${outpoint}`);
    return output;
  };
}

function lineOf(
  order: SignOrder,
  { inputs }: UtxoPlan,
  { entries, policyUnits }: Verdict,
  { txid, fee }: SignedSpend,
  at: number,
): Line {
  const byPolicy = entries.find((entry) => entry.policyUnits !== null);
  return {
    kind: 'sign',
    at,
    purpose: order.purpose,
    txid,
    fee: fee.toString(),
    inputs: inputs.map(({ outpoint }) => outpoint),
    entries: entries.map((entry) => ({
      ...{ uuid: entry.intent.uuid, identity: entry.identity, feeMax: entry.feeMax.toString() },
      ...(entry.policyUnits === null ? {} : { byPolicy: true as const }),
    })),
    ...(byPolicy ? { spent: { subject: subjectOf(byPolicy.intent), units: policyUnits.toString() } } : {}),
  };
}
