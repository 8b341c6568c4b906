/**
 * Transactions that an operator approves. A proposal returns the unsigned transaction and its description. The operator
 * approves it with approvals made over its intents.
 */

import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import type { Speed } from '../../domain/withdrawal.ts';
import { type VersionRow, versionById, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { type Desk, deskOf } from '../gas/finds.ts';
import { collectForWithdrawals, type SignedGasGrant } from '../gas/plans.ts';
import { findWithdrawal } from '../spends/rows.ts';
import { approve, type GivenApproval, type Preview, type Proposed, previewWithdrawal } from './approve.ts';
import { batch, previewBatch } from './batch.ts';
import { bump, holderFor, previewBump } from './bump.ts';
import { endedWith, previewReclaim, reclaim } from './reclaim.ts';
import { previewReplacement, replace } from './replace.ts';

const WAIT_MS_MAX = 5_000;
const LOOK_MS = 50;

/** Fee rates are smallest units per 1,000 units of size; null: the rate for the next blocks. */
export type Proposal =
  /** The first payment of a withdrawal, a sweep or a refund included. */
  | { kind: 'pay'; id: string; speed: Speed }
  /**
   * `speed-up`: the same payments with a higher fee. `cancel`: the other payments only; if there is none, pays back to
   * ourselves. `anew`: of what a lost machine signed, each payment is approved as a first one; canceled so, all its coins come back.
   */
  | { kind: 'speed-up' | 'cancel'; id: string; feeRate: bigint | null; anew?: boolean }
  /** One transaction for several withdrawals. */
  | { kind: 'batch'; ids: readonly string[] }
  /** Pays a stuck deposit on to ourselves, with a fee for both transactions. */
  | { kind: 'bump'; businessId: number; asset: AssetId; outpoint: string; feeRate: bigint | null };

/** Approvals by the UUID of their intent. */
type Approvals = ReadonlyMap<string, GivenApproval>;

/** `sent`: a node has it. `problem`: why not; null while unknown. */
type Outcome = { sent: boolean; problem: Message | null };

/**
 * `outcome`: the result of a transaction that is signed and sent at once, if it is known after some seconds; else
 * null.
 */
type Approved = { rows: WithdrawalRow[]; outcome: Outcome | null };

/** A preview of the transaction that a proposal would sign now. Throws `Rejected` with the obstacle. */
export async function propose(app: App, proposal: Proposal): Promise<Proposed> {
  const found = (id: string): WithdrawalRow => findWithdrawal(app.store, id);
  const of = (rows: WithdrawalRow[], preview: Preview): Proposed => ({
    rows,
    preview,
    why: null,
    collect: null,
  });
  switch (proposal.kind) {
    case 'pay':
      return previewWithdrawal(app, proposal.id, proposal.speed);
    case 'batch':
      return of(proposal.ids.map(found), await previewBatch(app, proposal.ids));
    case 'bump':
      return of([], await previewBump(app, holderFor(app, proposal.businessId, proposal.asset), proposal));
    default: {
      const row = found(proposal.id);
      if (!isReclaim(proposal)) return of([row], await previewReplacement(app, row, proposal));
      return of([row, ...endedWith(app.store, row)], await previewReclaim(app, row, proposal.feeRate));
    }
  }
}

/**
 * Carries a proposal out with the operator's approvals. `gas`: the grant under which its money is collected first. Throws
 * `Rejected`.
 */
export async function approveProposal(
  app: App,
  proposal: Proposal,
  approvals: Approvals,
  gas: SignedGasGrant | null = null,
): Promise<Approved> {
  if (gas && proposal.kind !== 'pay') throw new Rejected('gas.grant', 'Only a first payment is collected for', 'gas');
  switch (proposal.kind) {
    case 'pay': {
      const { id, speed } = proposal;
      const row = findWithdrawal(app.store, id);
      const given = approvals.get(row.uuid) ?? missing();
      const plan = gas && (await collectForWithdrawals(app, await deskFor(app, row, gas), gas));
      const approved = await app.store.write((tx) => {
        plan?.(tx);
        return approve(app, tx, id, given, speed);
      });
      return { rows: [approved], outcome: null };
    }
    case 'batch':
      return { rows: await batch(app, proposal.ids, approvals), outcome: null };
    case 'bump': {
      const [uuid, given] = [...approvals][0] ?? missing();
      const holder = holderFor(app, proposal.businessId, proposal.asset);
      const versionId = await bump(app, holder, proposal, uuid, given);
      return { rows: [], outcome: await outcomeOf(app, versionId, () => null) };
    }
    default: {
      const row = findWithdrawal(app.store, proposal.id);
      const versionId = isReclaim(proposal)
        ? await reclaim(app, row, proposal.feeRate, [...approvals][0] ?? missing())
        : await replace(app, row, proposal, approvals);
      const outcome = await outcomeOf(app, versionId, () => findWithdrawal(app.store, proposal.id).problem);
      return { rows: [findWithdrawal(app.store, proposal.id)], outcome };
    }
  }
}

const isReclaim = ({ kind, anew }: { kind: 'speed-up' | 'cancel'; anew?: boolean }): boolean =>
  kind === 'cancel' && anew === true;

async function deskFor(app: App, row: WithdrawalRow, { grant }: SignedGasGrant): Promise<Desk> {
  const desk = await deskOf(app, app.directory.business(row.business_id), grant.chain);
  if (desk.chain.key === row.chain_key) return desk;
  throw new Rejected('gas.grant', 'The grant of gas is of another chain', 'gas');
}

function missing(): never {
  throw new Rejected('withdrawal.approval', 'The approval of what was proposed is missing', 'approvals');
}

/**
 * Waits some seconds until a version is sent, refused or given up. `problemNow`: why it was not signed, if it was not.
 */
export async function outcomeOf(app: App, versionId: number, problemNow: () => Message | null): Promise<Outcome> {
  const deadline = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const outcome = known(app.store.get(versionById, { id: versionId }), problemNow);
    if (outcome || performance.now() > deadline) return outcome ?? { sent: false, problem: null };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function known(version: VersionRow | undefined, problemNow: () => Message | null): Outcome | null {
  if (!version) return { sent: false, problem: problemNow() ?? message('wait.needless') };
  if (version.sent_at !== null) return { sent: true, problem: null };
  return version.problem === null ? null : { sent: false, problem: version.problem };
}
