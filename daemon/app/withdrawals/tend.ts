/** A pass of a chain's worker: it learns which of our coins were spent elsewhere, and then pays. */
import { message } from '../../domain/messages.ts';
import type { VersionRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { isQuarantined, leftOn } from '../recovery/quarantine.ts';
import { learnKeyImages } from '../spends/key-images.ts';
import { recogniseOutside } from '../spends/outside.ts';
import { passWithdrawals } from '../spends/pass.ts';
import { matchSpends, whyHeld } from '../spends/restored-spends.ts';
import { type LastChecks, lookForConflicts } from '../spends/vanished.ts';
import { renew } from './renew.ts';

/** The state that a pass leaves for the next one of its chain: see `passWithdrawals` and `lookForConflicts`. */
export type Progress = { after: number; asked: LastChecks };

/**
 * One pass; returns whether something must be tried again later. `progress`: the same object at each pass of a chain.
 * `isDue`: whether a version must be sent (again) now. Throws `Unavailable` if the source does not answer.
 */
export async function tendWithdrawals(
  app: App,
  chain: ChainRuntime,
  progress: Progress,
  isDue: (version: VersionRow) => boolean,
): Promise<boolean> {
  if (!chain.adapter.spending) return false;
  const learns = await learnKeyImages(app, chain);
  if (isQuarantined(app.store)) {
    await matchSpends(app, chain);
    return true;
  }
  const held = chain.syncs === 0 ? message('wait.first_view') : await whyHeld(app, chain);
  const { waits, refused } = await passWithdrawals(app, chain, { held, progress, isDue });
  for (const one of refused) await renew(app, chain, one);
  const unread = await recogniseOutside(app, chain);
  await lookForConflicts(app, chain, progress.asked);
  // spends that are left to the search are looked at although nothing else waits
  return held !== null || learns || waits || unread || leftOn(app.store, chain.key) > 0;
}
