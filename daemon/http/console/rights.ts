/** The calls that a session of the console may make, by the rules of the contract's methods (contract/method.ts). */

import type { App } from '../../app/app.ts';
import { findSale } from '../../app/operator/counter.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { findWithdrawal } from '../../app/spends/rows.ts';
import { policyFor } from '../../app/withdrawals/policy.ts';
import type { Spending } from '../../contract/method.ts';
import { type Method, type Result, rulesOf } from '../../contract/operator.ts';

/** `business`: of the counter to which the session is locked. `approvals`: the setting. */
export type Rights = { scope: 'all' | 'counter'; business: number | null; approvals: boolean };

/** The parameters of a call as its session may make it, or why it may not. */
export type Allowed = { body: unknown } | { refused: string };

const LOCKED = { refused: 'This session is locked to the counter' };
const APPROVALS_OFF = {
  refused: 'Approvals in the browser are turned off ([console] approvals = false): use the command line',
};

/** Whether real money could leave. Of something that is not found: yes. */
function isReal(app: App, spending: Spending): boolean {
  const isRealBusiness = (ref: string | number): boolean => findBusiness(app, `${ref}`).network !== 'sandbox';
  try {
    switch (spending.by) {
      case 'passphrase':
        return true;
      case 'network':
        return spending.network !== 'sandbox';
      case 'business':
        return isRealBusiness(spending.business);
      case 'policy': {
        const business = findBusiness(app, spending.business);
        return business.network !== 'sandbox' && policyFor(app.store, business).mode === 'automatic';
      }
      case 'withdrawals':
        return spending.ids.some((id) => isRealBusiness(findWithdrawal(app.store, id).business_id));
    }
  } catch {
    return true;
  }
}

/** Whether a call approves, or gives somebody the right to spend. */
function approvesReal(app: App, method: Method, body: unknown): boolean {
  const { approves, params } = rulesOf(method);
  if (!approves) return false;
  const given = params.safeParse(body);
  if (!given.success) return true;
  const spending = approves(given.data as never);
  return spending !== null && isReal(app, spending);
}

/** The same call for the counter's own business and sales alone. */
function confined(app: App, method: Method, body: unknown, own: number): Allowed {
  const { counter, params } = rulesOf(method);
  if (counter === undefined) return LOCKED;
  const given = (typeof body === 'object' && body !== null ? body : {}) as { business?: unknown; invoice?: unknown };
  if (counter === 'business') {
    if (given.business !== undefined) return `${given.business}` === `${own}` ? { body } : LOCKED;
    // numbers and references are both taken
    const whole = { ...given, business: `${own}` };
    return { body: params.safeParse(whole).success ? whole : { ...given, business: own } };
  }
  if (counter === 'invoice') {
    // an invoice elsewhere is answered as one that does not exist
    const sale = typeof given.invoice === 'string' ? findSale(app.store, given.invoice) : null;
    if (sale && sale.business_id !== own) return LOCKED;
  }
  return { body };
}

/** Throws `Rejected('invoice.not_found')` as the method. */
export function allowed(app: App, method: Method, body: unknown, { scope, business, approvals }: Rights): Allowed {
  const { scope: callers } = rulesOf(method);
  if (callers === 'machine') return { refused: 'The console cannot do this: use the command line' };
  if (scope === 'counter') return business === null ? LOCKED : confined(app, method, body, business);
  return approvals || !approvesReal(app, method, body) ? { body } : APPROVALS_OFF;
}

/** The part of an answer that a session may see. */
export function visible(app: App, method: Method, result: unknown, { scope, business }: Rights): unknown {
  if (scope !== 'counter' || rulesOf(method).counter !== 'events') return result;
  const page = result as Result<'events.next'>;
  const isOwn = (slug: string): boolean => {
    try {
      return findSale(app.store, slug).business_id === business;
    } catch {
      return false;
    }
  };
  return { ...page, events: page.events.filter(({ kind, subject }) => kind === 'invoice' && isOwn(subject)) };
}
