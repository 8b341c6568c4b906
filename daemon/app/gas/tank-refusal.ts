/**
 * Whether the tank of an account can pay a token out at all: a token that blocks its address keeps what is collected there. It is
 * simulated before anything is collected into it.
 */
import type { AssetId } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import type { WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { tankOf } from '../spends/change-address.ts';
import { type Holder, holderOf } from '../spends/plan.ts';
import type { Desk, Find } from './finds.ts';

/** The alert about what a token keeps where it is. */
export const REFUSED = 'gas.refused';
const ASK_TIMEOUT_MS = 20_000;
/** As many as a payment is planned from. */
const PAYERS_TRIED_MAX = 3;

/** Why the tank cannot pay an asset to a recipient (null: to anybody); null: it can. Throws `Unavailable`. */
async function tankRefusal(app: App, holder: Holder, to: string | null): Promise<Rejected | null> {
  const { chain } = holder;
  const spending = chain.spending;
  const asset: AssetId = holder.asset;
  if (!spending.whyRefused || asset === spending.feeAsset) return null;
  const tank = await tankOf(app, holder);
  const why = await spending.whyRefused(asset, tank, to, chain.limit(ASK_TIMEOUT_MS));
  if (why === null) return null;
  const text = `${asset} cannot be paid out from the tank ${tank.address}, so nothing is collected into it. ${why}`;
  const advice =
    'A withdrawal that a single other address can pay is paid from there, once it has gas. `countinghouse gas tank` moves to another tank';
  return new Rejected('spend.refused', `${text}. ${advice}`);
}

/** The same for the payment of a withdrawal. */
export const refusalOf = (app: App, row: WithdrawalRow): Promise<Rejected | null> =>
  tankRefusal(app, holderOf(app, row), row.address);

/** Why a token keeps what is at an address; null: it does not. Throws `Unavailable`. */
async function blockedAt({ chain, tank }: Desk, { asset, at }: Find): Promise<string | null> {
  const limit = chain.limit(ASK_TIMEOUT_MS);
  return (await chain.spending.whyRefused?.(asset.symbol, at, tank.address, limit)) ?? null;
}

/** A token that lets nothing leave a former tank. `why`: the reason in words. */
export type Blocked = { find: Find; why: string };

/** The money that can be collected, and the tokens that stay blocked at former tanks. Throws `Unavailable`. */
export async function movable(desk: Desk, all: readonly Find[]): Promise<{ finds: Find[]; blocked: Blocked[] }> {
  const finds: Find[] = [];
  const blocked: Blocked[] = [];
  for (const find of all) {
    const isOfFormer = find.at.branch === 1 && find.asset !== desk.feeAsset;
    const why = isOfFormer ? await blockedAt(desk, find) : null;
    if (why === null) finds.push(find);
    else blocked.push({ find, why });
  }
  return { finds, blocked };
}

/** Withdrawals that one pass asks about. The others wait for the next one. */
const ROWS_ASKED_MAX = 100;

/** Payments that the tank cannot make: whole assets, and withdrawals by their ids. */
export type Refusals = { assets: Map<AssetId, Rejected>; rows: Set<number> };

/** Asks about the assets that are to be collected, and about the withdrawals that wait for them. Throws `Unavailable`. */
export async function refusalsAt(
  app: App,
  { business, account, chain }: Desk,
  finds: readonly Find[],
  waiting: readonly WithdrawalRow[],
): Promise<Refusals> {
  const refused: Refusals = { assets: new Map(), rows: new Set(waiting.slice(ROWS_ASKED_MAX).map(({ id }) => id)) };
  const assets = new Set(finds.map(({ asset }) => asset.symbol));
  for (const asset of assets) {
    const why = await tankRefusal(app, { business, account, chain, asset }, null);
    if (why) refused.assets.set(asset, why);
  }
  for (const row of waiting.slice(0, ROWS_ASKED_MAX)) {
    const asset = row.asset;
    if (assets.has(asset) && (refused.assets.has(asset) || (await refusalOf(app, row)))) refused.rows.add(row.id);
  }
  return refused;
}

/**
 * The addresses that can pay withdrawals in the tank's place, once they have gas: one with enough of the token, to which the token
 * pays. Throws `Unavailable`.
 */
export async function payersInstead(
  { chain }: Desk,
  finds: readonly Find[],
  waiting: readonly WithdrawalRow[],
): Promise<Find[]> {
  const payers = new Set<Find>();
  for (const { asset, units, sweep, address } of waiting.slice(0, ROWS_ASKED_MAX)) {
    if (sweep) continue;
    const enough = finds.filter((find) => find.asset.symbol === asset && find.units >= units && !payers.has(find));
    for (const find of enough.slice(0, PAYERS_TRIED_MAX)) {
      const limit = chain.limit(ASK_TIMEOUT_MS);
      if (await chain.spending.whyRefused?.(find.asset.symbol, find.at, address, limit)) continue;
      payers.add(find);
      break;
    }
  }
  return [...payers];
}
