/** The side of collecting with gas that the payments see. */
import type { GasPort } from '../spends/ports.ts';
import { waitsForAll } from './needed.ts';
import { endPlan, haltPlan } from './plans.ts';
import { coinReserve } from './reserve.ts';
import { refusalOf } from './tank-refusal.ts';

export const gasPort: GasPort = {
  collectsFor: waitsForAll,
  refusalOf,
  reserve: coinReserve,
  refused: (tx, accountId, why) => endPlan(tx, accountId, 'stopped', why),
  failed: haltPlan,
};
