/** Judges a simulated transaction of the sandbox, whose wallet has no lock, no approvals and no journal. */
import { nativeAsset } from '../../domain/assets.ts';
import { differs, needPaid } from './judged.ts';
import { needSameAccount } from './permission.ts';
import { ADDRESS_SELF, type SandboxOrder } from './port.ts';

/** Throws `Rejected('signer.differs')` unless the plan pays exactly the intents, and otherwise only ourselves. */
export function judgeSimulated({ plan, purpose, withdrawals }: SandboxOrder): void {
  const { outputs, fee, chain } = plan;
  const intents = withdrawals.map(({ intent }) => intent);
  for (const intent of intents) needSameAccount(intent, { ...plan, feeAsset: nativeAsset(chain).symbol });
  const feeMax = intents.reduce((sum, one) => sum + BigInt(one.feeMax), 0n);
  if (fee > feeMax) throw differs(`its fee of ${fee} is above the limit of ${feeMax}`);
  const paid = outputs.filter(({ kind }) => kind === 'payout').map(({ address, units }) => ({ to: address, units }));
  const wanted = purpose === 'cancel' ? [] : intents.filter(({ address }) => address !== ADDRESS_SELF);
  // a sweep of the sandbox has no approved maximum
  const most = outputs.reduce((sum, { units }) => sum + units, 0n).toString();
  const open = wanted.map((intent) => (intent.sweep ? { ...intent, units: most } : intent));
  needPaid(paid, open, ({ address }) => address);
}
