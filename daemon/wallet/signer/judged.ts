/** What the judge of each family answers, and the comparison of payments with intents that they have in common. */
import { Rejected } from '../../domain/errors.ts';
import type { SignedSpend } from '../../domain/spend.ts';
import type { Verdict } from './permission.ts';
import type { Intent } from './port.ts';

/** An order that may be signed. `conflictKeys`: what its transaction uses and no other then can. */
export type Judged = { verdict: Verdict; conflictKeys: readonly string[]; sign(): SignedSpend };

export const differs = (why: string): Rejected => new Rejected('signer.differs', `Refused to sign: ${why}`);

/**
 * Every intent is paid exactly once, and nobody else is. `to` of a payment is compared with `toOf` its intent. Throws
 * `Rejected('signer.differs')`.
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
