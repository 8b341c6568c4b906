/**
 * Long runs of addresses that were given out and not paid. A restore from words looks a gap past the last paid address, so it
 * does not find money behind a longer run unless it is told the length. Strangers can make one with unpaid checkouts.
 *
 * The gap that a restore needs is stored, so that each backup has it. It never shrinks: a number that was written beside the words
 * stays enough.
 */
import { z } from 'zod';
import { isWatchOnly } from '../../domain/chain.ts';
import { present } from '../../domain/errors.ts';
import { GAP, GAP_MAX, type IndexRange } from '../../domain/indices.ts';
import { accountById } from '../../store/queries/businesses.ts';
import { derivedIn, nextReadyIndex, paidIndices } from '../../store/queries/gaps.ts';
import { saveSetting, settingOf } from '../../store/queries/settings.ts';
import { skippedOf } from '../../store/queries/skipped.ts';
import { GAP_SETTING } from '../../store/snapshot.ts';
import { raiseAs } from '../alerts.ts';
import type { App } from '../app.ts';
import type { Account } from '../shops/directory.ts';

/** Addresses per turn of the event loop: about two milliseconds. */
const LOOKED_AT_ONCE = 1_000;
/** Room for the addresses that are given out before somebody writes the number down. */
const RESERVE = 500;

/** `accounts`: by id, the highest paid index and the longest run below it. `gap`: the one that a restore needs. */
const Stored = z.object({
  gap: z.int(),
  accounts: z.record(z.string(), z.object({ paid: z.int(), run: z.int() })),
});
type Measured = z.infer<typeof Stored>['accounts'][string];

function storedGaps(app: App): z.infer<typeof Stored> {
  const row = app.store.get(settingOf, { key: GAP_SETTING });
  return row ? Stored.parse(JSON.parse(row.value)) : { gap: GAP, accounts: {} };
}

/** The gap that a restore from the words alone needs, in addresses. */
export const neededGap = (app: App): number => storedGaps(app).gap;

/** Measures the runs of all accounts, and raises an alert when a restore needs a larger gap than before. Runs every minute. */
export async function tellGaps(app: App): Promise<void> {
  const stored = storedGaps(app);
  const accounts: Record<string, Measured> = {};
  let longest: { run: number; account: Account } | null = null;
  for (const account of app.directory.accounts()) {
    // the words do not restore a watch-only account
    if (account.chainKey.startsWith('sandbox:') || isWatchOnly(account.key)) continue;
    const { run, ...kept } = await measure(app, account, stored.accounts[account.id] ?? { paid: -1, run: 0 });
    accounts[account.id] = kept.measured;
    if (longest === null || run > longest.run) longest = { run, account };
  }
  const gap = Math.max(stored.gap, gapFor(longest?.run ?? 0));
  const value = JSON.stringify({ gap, accounts });
  if (value === JSON.stringify(stored)) return;
  await app.store.write((tx) => tx.run(saveSetting, { key: GAP_SETTING, value, updated_at: app.now() }));
  if (gap === stored.gap || longest === null) return;
  const { chainKey, businessId } = longest.account;
  const { name: business } = app.directory.business(businessId);
  await raiseAs(app, null, 'restore.gap', 'words', { business, chain: chainKey, count: longest.run, gap });
}

/** A whole thousand with a reserve, from the default to the most that a restore takes. */
const gapFor = (run: number): number => Math.min(GAP_MAX, Math.max(GAP, Math.ceil((run + RESERVE) / GAP) * GAP));

/** `run`: the longest one of the account, that after the last paid address included. */
async function measure(app: App, { id }: Account, known: Measured): Promise<{ measured: Measured; run: number }> {
  const skipped = neverGivenOut(app, id);
  const next = app.store.get(nextReadyIndex, { account_id: id })?.idx ?? app.store.get(accountById, { id })?.next_index;
  let { paid, run } = known;
  /** The indices from the last paid one to another, without those that were never given out. */
  const distance = (to: number): number =>
    skipped.reduce(
      (left, range) => left - Math.max(0, Math.min(range.to, to) - Math.max(range.from, paid + 1)),
      to - paid,
    );
  const end = present(next, 'account');
  for (let from = paid + 1; from < end && distance(from) <= GAP_MAX; from += LOOKED_AT_ONCE) {
    const below = Math.min(end, from + LOOKED_AT_ONCE);
    for (const { idx } of app.store.all(paidIndices, { account_id: id, from, below })) {
      run = Math.max(run, distance(idx));
      paid = idx;
    }
    await new Promise(setImmediate);
  }
  return { measured: { paid, run }, run: Math.max(run, distance(Math.max(end, paid))) };
}

/**
 * The skipped indices, with those before them at which no address was ever derived: a service that begins with words of before skips
 * several ranges, and gives out what is behind the last of them.
 */
function neverGivenOut(app: App, account_id: number): IndexRange[] {
  const ranges = app.store.all(skippedOf, { account_id }).filter(({ branch }) => branch === 0);
  ranges.sort((a, b) => a.from_index - b.from_index);
  let end = 0;
  return ranges.map(({ from_index, to_index }) => {
    const hasNone = end < from_index && !app.store.get(derivedIn, { account_id, from: end, below: from_index });
    const from = hasNone ? end : from_index;
    end = Math.max(end, to_index);
    return { from, to: to_index };
  });
}
