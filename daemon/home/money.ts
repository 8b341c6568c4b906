/**
 * The consequences of a foreign address for the money.
 *
 * Invariant: the knowledge of this computer is kept apart from the word of the server, which somebody may control. This computer follows no
 * chain: it cannot know the payments to a foreign address.
 */
import { OperatorError } from '../contract/client.ts';
import type { Call, Result } from '../contract/operator.ts';
import type { Alarm } from '../contract/signing-machine.ts';
import { findAsset } from '../domain/assets.ts';
import { toIso } from '../domain/calendar.ts';
import { formatDecimal, parseDecimal } from '../domain/money.ts';
import { MS_PER_DAY } from '../domain/time.ts';
import type { AlarmMoney, MoneyTold } from '../operator/desktop.ts';
import { signedSince } from '../wallet/signer/register.ts';

/** The server is asked for no more. */
const INVOICES_MAX = 20;
/** As many as any coin or currency has. */
const DECIMALS = 18;

/** The invoices that showed a foreign address, each once, as far as they are kept and known. */
export const invoicesOf = ({ seen }: Alarm): string[] => [
  ...new Set(seen.flatMap(({ invoice }) => (invoice === null ? [] : [invoice]))),
];

/**
 * Counts the transactions that were signed here since an alarm began, and in the day before, by the record in the
 * wallet's folder. Null: it is not known when the alarm began, or the record cannot be read.
 */
export async function signedAround(folder: string, { seen }: Alarm): Promise<AlarmMoney['signed']> {
  const began = Math.min(...seen.map(({ at }) => Date.parse(at)));
  if (!Number.isFinite(began)) return null;
  const all = await signedSince(folder, began - MS_PER_DAY).catch(() => null);
  if (all === null) return null;
  const count = (some: typeof all) => ({ all: some.length, unasked: some.filter((one) => one.isUnasked).length });
  return { before: count(all.filter(({ at }) => at < began)), since: count(all.filter(({ at }) => at >= began)) };
}

/** The word of the server. Throws as `call`. */
export async function toldBy(call: Call, alarm: Alarm, now: number): Promise<MoneyTold> {
  const businesses = (await call('business.list', {})).businesses.filter(({ network }) => network !== 'sandbox');
  const counts = await Promise.all(businesses.map(({ id }) => call('invoice.counts', { business: `${id}` })));
  const invoices = await Promise.all(
    invoicesOf(alarm)
      .slice(0, INVOICES_MAX)
      .map((invoice) => call('invoice.show', { invoice }).catch(asGone)),
  );
  const shown = invoices.flatMap((one) => one?.invoice ?? []);
  const received = shown.flatMap(({ payment }) => payment ?? []);
  return {
    at: toIso(now),
    unpaid: counts.reduce((sum, { unpaid }) => sum + unpaid, 0),
    covers: shown.length,
    asked: addedUp(shown.map(({ amount, currency }) => ({ unit: currency, amount }))),
    received: addedUp(received.map(({ crypto, received }) => ({ unit: crypto, amount: received }))),
    balances: balancesOf(businesses),
  };
}

/** One that the server does not name any more. A connection that breaks is no word of it. */
function asGone(error: unknown): null {
  if (error instanceof OperatorError && error.code === 'invoice.not_found') return null;
  throw error;
}

type Business = Result<'business.list'>['businesses'][number];

function balancesOf(businesses: readonly Business[]): MoneyTold['balances'] {
  const networks = [...new Set(businesses.map(({ network }) => network))];
  return networks.flatMap((network) => {
    const held = businesses.filter((one) => one.network === network).flatMap(heldHere);
    return addedUp(held.map(({ crypto, amount }) => ({ unit: crypto, amount }))).map(({ unit, amount }) => ({
      network,
      crypto: unit,
      amount,
      atLeast: held.some(({ crypto, withheld }) => crypto === unit && withheld !== null),
    }));
  });
}

/** The balances of accounts whose keys are not in another wallet. */
const heldHere = ({ balances, watch_only }: Business) =>
  balances.filter(({ crypto }) => {
    const asset = findAsset(crypto);
    return asset !== undefined && !watch_only.includes(asset.chain);
  });

type Part = { unit: string; amount: string };

/** The sums by coin or currency. */
function addedUp(parts: readonly Part[]): Part[] {
  const sums = new Map<string, bigint>();
  for (const { unit, amount } of parts) sums.set(unit, (sums.get(unit) ?? 0n) + (parseDecimal(amount, DECIMALS) ?? 0n));
  return [...sums].map(([unit, sum]) => ({ unit, amount: formatDecimal(sum, DECIMALS) }));
}
