/** The methods that a session of the console may call. */
import type { Method } from '../../contract/operator.ts';

/** Methods that need a passphrase, or that let money leave without one. `approvals = false` refuses them. */
const APPROVALS: ReadonlySet<Method> = new Set([
  ...(['withdrawal.approve', 'policy.set', 'addressBook.remove'] as const),
  ...(['wallet.unlock', 'wallet.authorize', 'wallet.passphrase', 'wallet.revoke'] as const),
]);

/** The methods of a session that is locked to the counter. */
const COUNTER: ReadonlySet<Method> = new Set([
  ...(['events.next', 'counter.show', 'counter.sell', 'counter.sale', 'counter.cancel'] as const),
]);

/** Only for programs on the machine itself: a page must not make sign-in links for others. */
const NEVER: ReadonlySet<Method> = new Set(['console.open'] as const);

/** Why a session may not call a method; null: it may. */
export function refusal(method: Method, scope: 'all' | 'counter', approvals: boolean): string | null {
  if (NEVER.has(method)) return 'The console cannot do this: use the command line';
  if (scope === 'counter' && !COUNTER.has(method)) return 'This session is locked to the counter';
  if (!approvals && APPROVALS.has(method)) {
    return 'Approvals in the browser are turned off ([console] approvals = false): use the command line';
  }
  return null;
}
