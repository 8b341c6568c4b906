/** The result of each family's judge, and the comparison of payments with intents that all judges share. */
import { Rejected } from '../../domain/errors.ts';
import type { SignedSpend } from '../../domain/spend.ts';
import type { Verdict } from './permission.ts';
import type { Intent } from './port.ts';

/**
 * An order that may be signed. `conflictKeys`: the keys that its transaction uses, each usable by one confirmed
 * transaction only. `change`: the address of the account that it gives change to.
 */
export type Judged = {
  verdict: Verdict;
  conflictKeys: readonly string[];
  change?: { account: string; index: number };
  sign(): SignedSpend | Promise<SignedSpend>;
};

export const differs = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);

/**
 * Checks that every intent is paid exactly once and nobody else is paid. Compares `to` of a payment with `toOf` its
 * intent. Throws `Rejected('signer.differs')`.
 */
export function needPaid(
  payments: readonly { to: string; units: bigint }[],
  intents: readonly Intent[],
  toOf: (intent: Intent) => string,
): void {
  const left = [...payments];
  for (const intent of intents) {
    const { address, units, sweep } = intent;
    const [to, most] = [toOf(intent), BigInt(units)];
    const at = left.findIndex((one) => one.to === to && (sweep ? one.units <= most : one.units === most));
    if (at < 0) throw differs(`it does not pay ${sweep ? 'up to ' : ''}${units} to ${address}`);
    left.splice(at, 1);
  }
  if (left.length > 0) throw differs('it pays somebody whom nobody approved');
}
