/** The methods that a session of the console may call. */
import type { App } from '../../app/app.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { policyFor } from '../../app/withdrawals/policy.ts';
import { findWithdrawal } from '../../app/withdrawals/request.ts';
import { type Method, OPERATOR } from '../../contract/operator.ts';

/**
 * Methods that need a passphrase, or that let money leave without one. `approvals = false` refuses them for real money.
 */
const APPROVALS: ReadonlySet<Method> = new Set([
  ...(['withdrawal.approve', 'policy.set', 'addressBook.remove'] as const),
  ...([
    'wallet.unlock',
    'wallet.authorize',
    'wallet.passphrase',
    'wallet.custody',
    'backup.drillOpen',
    'wallet.revoke',
  ] as const),
]);

/** The methods of a session that is locked to the counter. */
const COUNTER: ReadonlySet<Method> = new Set([
  ...(['events.next', 'counter.show', 'counter.sell', 'counter.sale', 'counter.cancel'] as const),
]);

/** Only for programs on the machine itself: a page must not make sign-in links for others, or open the wallet without its passphrase. */
const NEVER: ReadonlySet<Method> = new Set(['console.open', 'wallet.keychain'] as const);

/** Whether a call concerns the sandbox's money alone, for which nobody types a passphrase. */
function isPlayMoney(app: App, method: Method, body: unknown): boolean {
  try {
    if (method === 'policy.set') {
      return findBusiness(app, OPERATOR[method].params.parse(body).business).network === 'sandbox';
    }
    if (method !== 'withdrawal.approve') return false;
    const { proposal } = OPERATOR[method].params.parse(body);
    if (proposal.kind === 'bump') return findBusiness(app, proposal.business).network === 'sandbox';
    const ids = proposal.kind === 'batch' ? proposal.ids : [proposal.id];
    return ids.every((id) => app.directory.business(findWithdrawal(app.store, id).business_id).network === 'sandbox');
  } catch {
    // such a call has no effect whatever its session may do
    return false;
  }
}

/** Whether a call could let real money leave without a passphrase: by an automatic policy, now or through a key that it makes. */
function isUnasked(app: App, method: Method, body: unknown): boolean {
  try {
    if (method === 'key.add') {
      const { business, scopes } = OPERATOR[method].params.parse(body);
      return scopes.includes('withdraw') && findBusiness(app, business).network !== 'sandbox';
    }
    if (method !== 'withdrawal.add') return false;
    const business = findBusiness(app, OPERATOR[method].params.parse(body).business);
    return business.network !== 'sandbox' && policyFor(app.store, business).mode === 'automatic';
  } catch {
    return false;
  }
}

type Rights = { scope: 'all' | 'counter'; approvals: boolean };

/** Why a session may not call a method; null: it may. */
export function refusal(app: App, method: Method, body: unknown, { scope, approvals }: Rights): string | null {
  if (NEVER.has(method)) return 'The console cannot do this: use the command line';
  if (scope === 'counter' && !COUNTER.has(method)) return 'This session is locked to the counter';
  const asks = APPROVALS.has(method) && !isPlayMoney(app, method, body);
  if (!approvals && (asks || isUnasked(app, method, body))) {
    return 'Approvals in the browser are turned off ([console] approvals = false): use the command line';
  }
  return null;
}
