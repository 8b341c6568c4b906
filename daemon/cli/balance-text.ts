/** The balance of one asset as text. */
import type { Result } from '../contract/operator.ts';

export type Balance = Result<'business.list'>['businesses'][number]['balances'][number];

/** Whether there is something to say about it. */
export const isShown = ({ amount, locked, withheld }: Balance): boolean =>
  amount !== '0' || locked !== null || withheld !== null;

/** Also what can be spent later, in blocks: one of Monero takes two minutes on average. */
export function balanceText({ crypto, amount, locked, withheld, unproven }: Balance): string {
  if (withheld !== null) return `${crypto} is not known yet: ${withheld}`;
  const has = `${amount} ${crypto}${unproven !== null && unproven !== '0' ? `, as far as known: ${unproven} may be spent` : ''}`;
  if (!locked) return has;
  const { first_blocks, last_blocks } = locked;
  const blocks = first_blocks === last_blocks ? `${last_blocks}` : `${first_blocks} to ${last_blocks}`;
  return `${has} (and ${locked.amount} in ${blocks} blocks)`;
}
