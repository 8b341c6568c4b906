/**
 * A new tank, because a token blocks the one of now: the account's next address of branch 1. The operator's word for it goes to the
 * signer, which collects into no other address. The former tank stays watched, and can pay; what it holds is collected like the money
 * of a deposit address.
 */
import { Rejected } from '../../domain/errors.ts';
import { TANKS_MAX } from '../../domain/evm.ts';
import { insertTarget } from '../../store/queries/credits.ts';
import { setTank } from '../../store/queries/gas.ts';
import { endIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { assetsOf, type Desk } from './finds.ts';
import { endPlan, grantGas, type SignedGasGrant } from './plans.ts';
import { ownSpends } from './stuck.ts';
import { REFUSED } from './tank-refusal.ts';

/** The index of the tank that follows. Throws `Rejected('gas.tank')` at the last one that a search by the words looks at. */
export function nextTankOf({ tank }: Desk): number {
  const index = tank.index + 1;
  if (index < TANKS_MAX) return index;
  throw new Rejected('gas.tank', `An account has ${TANKS_MAX} tanks at most, and this is the last one`);
}

/**
 * Moves to the tank that follows. `signed`: a grant of no gas that names it; null on the sandbox. Throws `Rejected`: `gas.tank`,
 * `gas.grant`, `signer.*`; and `Unavailable`.
 */
export async function changeTank(app: App, desk: Desk, signed: SignedGasGrant | null): Promise<void> {
  const { account, chain, tank } = desk;
  const index = nextTankOf(desk);
  const derived = await chain.adapter.deriveAddress(account.key, 1, index);
  // a plan that ended begins nothing, and the signer collects only into the tank that it knows
  await app.store.write((tx) => {
    if (ownSpends(tx, desk).length > 0) {
      throw new Rejected('gas.tank', 'Money is on its way to the tank of now: wait until that is done');
    }
    endPlan(tx, account.id, 'stopped', null);
  });
  await grantGas(app, desk, signed, { feeMax: 0n, until: signed?.grant.until ?? 0, tank: index });
  await app.store.write((tx) => {
    if (tx.run(setTank, { id: account.id, tank: index }).changes !== 1) {
      throw new Rejected('gas.tank', 'The tank was changed meanwhile');
    }
    const place = { account_id: account.id, chain_key: chain.key, branch: 1, idx: index, invoice_id: null };
    tx.run(insertTarget, { ...derived, ...place });
    for (const asset of assetsOf(desk)) endIn(app, tx, REFUSED, `${chain.key} ${asset.symbol} ${tank.address}`);
    tx.afterCommit(() => app.wake.withdrawals(chain.key));
  });
}
