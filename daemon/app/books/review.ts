/**
 * Asks again about the stored facts of an account chain: what an earlier version, or a small payment, put into the books by the word
 * of one operator. `source rescan` and a restore ask about everything, each night about a part, and the proof of the books
 * about whatever differs.
 *
 * Facts in blocks that a reorganisation can still change are left to the sync.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { type BookedSending, tipOf, type Witnesses } from '../../chains/adapter.ts';
import { Unavailable } from '../../domain/errors.ts';
import { evmScript } from '../../domain/evm.ts';
import { message } from '../../domain/messages.ts';
import { nonceOf } from '../../domain/spend.ts';
import { BURIED_BLOCKS } from '../../domain/withdrawal.ts';
import { debitsInBlocksOf, usedKeysAbove } from '../../store/queries/corrections.ts';
import { type CreditRow, creditsOfTarget, targetById } from '../../store/queries/credits.ts';
import { type DebitRow, reportedDebitsAbove } from '../../store/queries/debits.ts';
import { creditsOfChain } from '../../store/queries/ledger.ts';
import { newestCredit } from '../../store/queries/operator.ts';
import type { UsedKeyRow } from '../../store/queries/used-keys.ts';
import { coinOf, ownTarget } from '../addresses/watch.ts';
import { end, raise } from '../alerts.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { checkpointOf } from '../chains/checkpoint.ts';
import { takeOutUnbacked } from './adopt.ts';
import { applyReview, type Reviewed } from './deny.ts';
import { isAdopted } from './entries.ts';
import { ALL, BEGINNING, type Place, placeOf, savePlace } from './review-place.ts';

/** Facts asked about at a time: two or three requests each, to two operators. */
const FACTS_PER_STEP = 20;
/** Credits of all chains among which those of one are looked for at a time. */
const CREDITS_PER_LOOK = 200;
const FACTS_PER_NIGHT_MAX = 2_000;
const FACTS_PER_TARGET_MAX = 500;
const WAIT_MS_MAX = 24 * 60 * 60_000;

type Page = {
  credits: CreditRow[];
  booked: BookedSending[];
  facts: number;
  next: Pick<Place, 'part' | 'after'> | null;
};

/** Goes on with a part of the facts, where the last night ended. */
export async function reviewTonight(app: App, chain: ChainRuntime): Promise<void> {
  const place = placeOf(app.store, chain.key);
  if (!chain.adapter.witnesses || place.left > 0) return;
  await savePlace(app, chain.key, place, { ...place, left: FACTS_PER_NIGHT_MAX });
  app.wake.chain(chain.key);
}

/** One step of what is to be asked about. Returns whether there is more to do now. */
export async function reviewStep(app: App, chain: ChainRuntime, signal: AbortSignal): Promise<boolean> {
  const { witnesses } = chain.adapter;
  const place = placeOf(app.store, chain.key);
  if (!witnesses || place.left <= 0) return false;
  const page = pageAt(app, chain, place);
  try {
    const changed = await applyReview(app, chain, await ask(witnesses, page, signal));
    const targets = new Set([
      ...page.booked.map(({ target }) => target.id),
      ...page.credits.map((row) => row.target_id),
    ]);
    if (changed > 0) await takeOutUnbacked(app, chain, [...targets], signal);
  } catch (error) {
    // the next pass asks again
    if (!(error instanceof Unavailable)) throw error;
    await noteWait(app, chain, place, error);
    return false;
  }
  await end(app, 'ledger.unproved', subjectOf(chain));
  const left = place.left === ALL ? ALL : Math.max(0, place.left - page.facts);
  await savePlace(app, chain.key, place, page.next ? { ...page.next, left } : { ...BEGINNING, left: 0 });
  return true;
}

const subjectOf = ({ key }: ChainRuntime): string => `${key} review`;

/** Alerts once nobody has answered at the same place for long, and again after as long. */
async function noteWait(app: App, chain: ChainRuntime, place: Place, { message: reason }: Unavailable): Promise<void> {
  const now = app.now();
  const { waitsFrom = now } = place;
  const isLong = now - waitsFrom >= WAIT_MS_MAX;
  if (isLong) {
    const text = message('ledger.unreviewed', { chain: chain.key, reason });
    await raise(app, chain.adapter.network, 'ledger.unproved', subjectOf(chain), text);
  }
  if (isLong || place.waitsFrom === undefined) {
    await savePlace(app, chain.key, place, { ...place, waitsFrom: now });
  }
}

/** Asks about everything that the books have of some addresses. Returns how many entries were changed. */
export async function reviewTargets(
  app: App,
  chain: ChainRuntime,
  targetIds: readonly number[],
  signal: AbortSignal,
): Promise<number> {
  const { witnesses } = chain.adapter;
  if (!witnesses) return 0;
  let changed = 0;
  for (const target_id of targetIds) {
    const credits = app.store.all(creditsOfTarget, { target_id }).filter((row) => isDeep(app, chain, row));
    const debits = app.store.all(debitsInBlocksOf, { target_id });
    const booked = bookedBy(app, chain, debits);
    for (
      let at = 0;
      at < Math.min(FACTS_PER_TARGET_MAX, Math.max(credits.length, booked.length));
      at += FACTS_PER_STEP
    ) {
      const part = { credits: credits.slice(at, at + FACTS_PER_STEP), booked: booked.slice(at, at + FACTS_PER_STEP) };
      changed += await applyReview(app, chain, await ask(witnesses, part, signal));
    }
    await turn();
  }
  return changed + (await takeOutUnbacked(app, chain, targetIds, signal));
}

async function ask(
  witnesses: Witnesses,
  { credits, booked }: Pick<Page, 'credits' | 'booked'>,
  signal: AbortSignal,
): Promise<Reviewed> {
  const came = await witnesses.came(credits.map(coinOf), signal);
  const sent = await witnesses.sent(booked, signal);
  return {
    gone: credits.filter((_, i) => came[i] === false),
    sent: booked.flatMap((one, i) => {
      const again = sent[i];
      return again ? [{ booked: one, again }] : [];
    }),
  };
}

function pageAt(app: App, chain: ChainRuntime, { part, after }: Place): Page {
  const { key: chain_key } = chain;
  if (part === 'credits') {
    const above = Number(after);
    const newest = app.store.get(newestCredit, {})?.id ?? 0;
    const rows = app.store.all(creditsOfChain, { chain_key, above, to: above + CREDITS_PER_LOOK });
    const credits = rows.slice(0, FACTS_PER_STEP);
    const reached = rows.length > FACTS_PER_STEP ? (credits.at(-1)?.id ?? above) : above + CREDITS_PER_LOOK;
    const next = reached < newest ? { part, after: reached } : { part: 'debits' as const, after: 0 };
    return { credits: credits.filter((row) => isDeep(app, chain, row)), booked: [], facts: credits.length, next };
  }
  if (part === 'debits') {
    const rows = app.store.all(reportedDebitsAbove, { chain_key, id: Number(after), limit: FACTS_PER_STEP });
    const last = rows.at(-1);
    const next = last ? { part, after: last.id } : { part: 'uses' as const, after: '' };
    return { credits: [], booked: bookedBy(app, chain, rows), facts: rows.length, next };
  }
  const uses = app.store.all(usedKeysAbove, { chain_key, after: String(after), limit: FACTS_PER_STEP });
  const last = uses.at(-1);
  const next = last ? { part, after: last.conflict_key } : null;
  return { credits: [], booked: uses.flatMap((use) => usedBy(app, chain, use)), facts: uses.length, next };
}

/** Whether the block of a fact is so deep that no ordinary reorganisation changes it. */
function isDeep(app: App, chain: ChainRuntime, row: { block_height: number | null; gone?: boolean }): boolean {
  const checkpoint = checkpointOf(app.store, chain);
  const tip = checkpoint ? tipOf(checkpoint).height : 0;
  const { block_height: height, gone = false } = row;
  return !gone && height !== null && height <= tip - BURIED_BLOCKS[chain.adapter.chain];
}

/** The transactions of debits, each once for each address. */
function bookedBy(app: App, chain: ChainRuntime, debits: readonly DebitRow[]): BookedSending[] {
  const found = new Map<string, BookedSending>();
  for (const row of debits) {
    const { txid, target_id, block_height: height, block_hash: hash } = row;
    if (target_id === null || height === null || hash === null || isAdopted(row) || !isDeep(app, chain, row)) continue;
    const target = app.store.get(targetById, { id: target_id });
    if (target) found.set(`${txid} ${hash} ${target_id}`, { txid, block: { height, hash }, target });
  }
  return [...found.values()];
}

function usedBy(app: App, chain: ChainRuntime, use: UsedKeyRow): BookedSending[] {
  const place = nonceOf(use.conflict_key);
  const target = place && ownTarget(app.store, chain.key, { script: evmScript(place.address) });
  const { txid, block_height: height, block_hash: hash } = use;
  if (!target || height === null || hash === null || !isDeep(app, chain, use)) return [];
  return [{ txid, block: { height, hash }, target }];
}
