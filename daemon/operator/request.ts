/** A request for approval from its beginning to its end: proposed by the service, read, shown, approved. */
import type { Call, Params, Result } from '../contract/operator.ts';
import type { Keyholder } from './keyholder.ts';
import { type Approval, type OperatorRequest, Review } from './review.ts';
import { type Preview, type ReviewView, type ShownIn, viewOf } from './view.ts';

export type Proposal = Params<'withdrawal.propose'>;

export class ApprovalRequest {
  readonly #call: Call;
  readonly #proposal: Proposal;
  readonly #preview: Preview;
  readonly #review: Review | null;
  readonly withdrawals: Result<'withdrawal.propose'>['withdrawals'];
  readonly view: ReviewView;
  /** Whether the service was given MACs: it may use them, whatever it answers. */
  isGiven = false;

  private constructor(
    call: Call,
    proposal: Proposal,
    proposed: Proposed & { preview: Preview },
    asked: OperatorRequest,
    now: number,
    shownIn?: ShownIn,
  ) {
    this.#call = call;
    this.#proposal = proposal;
    this.#preview = proposed.preview;
    this.#review = Review.of(proposed.preview, asked, now, proposed.collect);
    this.withdrawals = proposed.withdrawals;
    this.view = viewOf(this.#review, proposed.preview, proposed.collect, shownIn);
  }

  /** Reads what the service proposed; null if it cannot be planned yet. Throws `Rejected` `review.*`. */
  static of(
    call: Call,
    proposal: Proposal,
    proposed: Proposed,
    asked: OperatorRequest,
    now: number,
    shownIn?: ShownIn,
  ): ApprovalRequest | null {
    const { preview } = proposed;
    return preview && new ApprovalRequest(call, proposal, { ...proposed, preview }, asked, now, shownIn);
  }

  /** False on simulated chains, whose wallet has no passphrase, and where another wallet signs. */
  get needsPassphrase(): boolean {
    return this.#review !== null && !this.isOutside;
  }

  /** Whether another wallet signs it, to which it is handed out as a PSBT after the approval. */
  get isOutside(): boolean {
    return this.#preview.outside;
  }

  /** Whether the wallet has to be unlocked before: it takes a grant of gas only then. */
  get needsUnlocked(): boolean {
    return this.#review !== null && this.#review.collect !== null;
  }

  /** Makes the approvals and hands them to the service. `passphrase` is read only where one is needed. */
  async approve(keyholder: Keyholder, passphrase: string): Promise<Result<'withdrawal.approve'>> {
    const { approvals, gas } =
      this.#review && !this.isOutside
        ? await this.#review.signed((wanted) => keyholder.authorize(passphrase, wanted))
        : { approvals: this.#withoutMacs(), gas: null };
    this.isGiven ||= this.needsPassphrase;
    return this.#call('withdrawal.approve', { proposal: this.#proposal, approvals, gas });
  }

  #withoutMacs(): Approval[] {
    const { intents, until } = this.#preview;
    return intents.map(({ uuid, feeMax, units, sweep }) => ({
      uuid,
      fee_max: feeMax,
      until,
      mac: null,
      ...(sweep ? { units } : {}),
    }));
  }
}

type Proposed = Result<'withdrawal.propose'>;
