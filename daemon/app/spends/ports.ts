/**
 * The rooms that have payments made: `gas/` and `forwarding/`. They are built on this one, so it says here what it asks and tells them, and
 * `create-app.ts` gives it their answers.
 */
import type { Rejected } from '../../domain/errors.ts';
import type { Message } from '../../domain/messages.ts';
import type { ForwardPlanRow } from '../../store/queries/forwarding.ts';
import type { SpendRow, WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { CoinReserve } from './address-funds.ts';
import type { Holder } from './plan.ts';

export type GasPort = {
  /** Whether an approved withdrawal of everything waits until an open plan has collected its money. Throws `Unavailable`. */
  collectsFor(app: App, holder: Holder, row: WithdrawalRow): Promise<boolean>;
  /** Why the tank cannot make the payment, whatever is collected into it; null: it can. Throws `Unavailable`. */
  refusalOf(app: App, row: WithdrawalRow): Promise<Rejected | null>;
  /** The coin that stays where it is when the rest is forwarded; null: gas is paid in another asset. `feeRate`: as the planner takes it. */
  reserve(app: App, holder: Holder, feeRate: bigint): CoinReserve | null;
  /** The signer refuses a payment of the account's plan. */
  refused(tx: Tx, accountId: number, why: Message): void;
  /** A block has a payment of a plan, without an effect but its fee. */
  failed(app: App, tx: Tx, spend: SpendRow, txid: string): void;
};

export type ForwardingPort = {
  /** The signer refuses the gas for what a plan forwards. */
  gasRefused(app: App, tx: Tx, of: Pick<ForwardPlanRow, 'account_id' | 'asset'>, why: Message): void;
  /** The signer refuses a payment, as the next one goes to the address of another index. `now`: milliseconds since 1970. */
  indexRefused(tx: Tx, row: WithdrawalRow, index: number, now: number): void;
};
