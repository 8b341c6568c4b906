/**
 * Transactions that an operator approves. A proposal returns the unsigned transaction and its description. The operator
 * approves it with approvals made over its intents.
 */
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { Speed } from '../../domain/withdrawal.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { approve, type GivenApproval, type Preview, type Proposed, previewWithdrawal } from './approve.ts';
import { batch, previewBatch } from './batch.ts';
import { bump, holderFor, previewBump } from './bump.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { previewReplacement, replace } from './replace.ts';
import { findWithdrawal } from './request.ts';

/** Fee rates are smallest units per 1,000 units of size; null: the rate for the next blocks. */
export type Proposal =
  /** The first payment of a withdrawal, a sweep or a refund included. */
  | { kind: 'pay'; id: string; speed: Speed }
  /**
   * `speed-up`: the same payments with a higher fee. `cancel`: the other payments only; if there is none, pays back to
   * ourselves.
   */
  | { kind: 'speed-up' | 'cancel'; id: string; feeRate: bigint | null }
  /** One transaction for several withdrawals. */
  | { kind: 'batch'; ids: readonly string[] }
  /** Pays a stuck deposit on to ourselves, with a fee for both transactions. */
  | { kind: 'bump'; businessId: number; asset: AssetId; outpoint: string; feeRate: bigint | null };

/** Approvals by the UUID of their intent. */
export type Approvals = ReadonlyMap<string, GivenApproval>;

/**
 * `outcome`: the result of a transaction that is signed and sent at once, as far as known after some seconds; else
 * null.
 */
export type Approved = { rows: WithdrawalRow[]; outcome: Outcome | null };

/** A preview of the transaction that a proposal would sign now. Throws `Rejected` with the obstacle. */
export async function propose(app: App, proposal: Proposal): Promise<Proposed> {
  const of = (ids: readonly string[], preview: Preview): Proposed => ({
    rows: ids.map((id) => findWithdrawal(app.store, id)),
    preview,
    why: null,
  });
  switch (proposal.kind) {
    case 'pay':
      return previewWithdrawal(app, proposal.id, proposal.speed);
    case 'batch':
      return of(proposal.ids, await previewBatch(app, proposal.ids));
    case 'bump':
      return of([], await previewBump(app, holderFor(app, proposal.businessId, proposal.asset), proposal));
    default:
      return of([proposal.id], await previewReplacement(app, proposal));
  }
}

/** Carries a proposal out with the operator's approvals. Throws `Rejected`. */
export async function approveProposal(app: App, proposal: Proposal, approvals: Approvals): Promise<Approved> {
  switch (proposal.kind) {
    case 'pay': {
      const { id, speed } = proposal;
      const { uuid } = findWithdrawal(app.store, id);
      const given = approvals.get(uuid) ?? missing();
      return { rows: [await app.store.write((tx) => approve(app, tx, id, given, speed))], outcome: null };
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
      const { versionId } = await replace(app, proposal, approvals);
      const outcome = await outcomeOf(app, versionId, () => findWithdrawal(app.store, proposal.id).problem);
      return { rows: [findWithdrawal(app.store, proposal.id)], outcome };
    }
  }
}

function missing(): never {
  throw new Rejected('withdrawal.approval', 'The approval of what was proposed is missing', 'approvals');
}
