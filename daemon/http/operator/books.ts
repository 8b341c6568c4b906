/** The operator API's methods about the books: the proof of the ledger, and the accountant's export. */
import type { App } from '../../app/app.ts';
import { shownDifference } from '../../app/books/adopt.ts';
import { correctionsOf } from '../../app/books/corrections.ts';
import { exportPage } from '../../app/books/export.ts';

import { adoptBalances, type Reconciliation, reconcile } from '../../app/books/reconcile.ts';
import { FLOWS, type Flow, type Flows, statementOf } from '../../app/books/statement.ts';
import type { ChainRuntime } from '../../app/chains/chains.ts';
import { findBusiness } from '../../app/operator/find.ts';
import type { BOOKS } from '../../contract/books.ts';
import type { Result } from '../../contract/operator.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { type Day, toIso } from '../../domain/calendar.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import type { Methods } from './context.ts';

type ChainProof = Result<'ledger.prove'>['chains'][number];

const PROOF_TIMEOUT_MS = 3_600_000;

const fiat = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);

export const BOOKS_METHODS: Methods<typeof BOOKS> = {
  'ledger.prove': async ({ app }, { chain }) => {
    // a dormant chain has no connection, and asking it would open one
    const connected = app.chains.all().filter(({ dormant }) => !dormant);
    const chains = chain === undefined ? connected : connected.filter(({ key }) => key === chain);
    if (chains.length === 0) throw new Rejected('ledger.chain', `${chain} is not connected`, 'chain');
    const proved: ChainProof[] = [];
    for (const one of chains) proved.push(await proof(app, one, reconcile));
    return { chains: proved };
  },
  'ledger.adopt': async ({ app }, { chain }) => {
    const one = app.chains.find(chain);
    if (!one || one.dormant) throw new Rejected('ledger.chain', `${chain} is not connected`, 'chain');
    if (!one.adapter.witnesses) {
      throw new Rejected('ledger.chain', `${chain} has no balances of addresses that could be adopted`, 'chain');
    }
    return { chains: [await proof(app, one, adoptBalances)] };
  },
  'books.statement': async ({ app }, { business: ref, month: text }) => {
    const business = findBusiness(app, ref);
    const [year = 0, month = 0] = text.split('-').map(Number);
    const { asOf, coins, values, taxes } = await statementOf(app, business, year, month);
    return {
      business: business.name,
      month: text,
      time_zone: business.timeZone,
      as_of: toIso(asOf),
      coins: coins.map(({ asset, opening, closing, flows }) => {
        const shown = (units: bigint): string => formatUnits(units, assetOf(asset));
        return { crypto: asset, opening: shown(opening), closing: shown(closing), flows: shownFlows(flows, shown) };
      }),
      values: values.map(({ flows, ...rest }) => ({ ...rest, flows: shownFlows(flows, fiat) })),
      taxes: taxes.map(({ net, tax, gross, ...rest }) => ({
        ...rest,
        net: fiat(net),
        tax: fiat(tax),
        gross: fiat(gross),
      })),
    };
  },
  'export.page': ({ app }, { business, from, to, cursor }) => {
    const only = business === undefined ? null : findBusiness(app, business);
    const request = { business: only, from: dayFrom(from), to: dayFrom(to), cursor };
    const { rows, next } = exportPage(app, request);
    return { rows: rows.map((row) => ({ ...row, at: toIso(row.at) })), next };
  },
};

/** Every flow in its form for clients. */
const shownFlows = (flows: Flows, shown: (amount: bigint) => string) =>
  Object.fromEntries(FLOWS.map((flow) => [flow, shown(flows[flow])])) as Record<Flow, string>;

const dayFrom = (text: string): Day => {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  return { year, month, day };
};

async function proof(app: App, chain: ChainRuntime, make: typeof reconcile): Promise<ChainProof> {
  try {
    return shown(app, await make(app, chain, chain.limit(PROOF_TIMEOUT_MS)));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const nothing = { lines: [], problems: [], offers: [], corrections: [] };
    return { chain: chain.key, height: 0, compared: false, ...nothing, error: error.message };
  }
}

function shown(app: App, { chain, tip, compared, lines, problems, differences, offers }: Reconciliation): ChainProof {
  const more = differences - problems.length;
  return {
    chain,
    height: tip.height,
    compared,
    lines: lines.map(({ asset, received, paidOut, fees, adopted, held }) => {
      const coins = (units: bigint): string => formatUnits(units, assetOf(asset as AssetId));
      return {
        crypto: asset,
        received: coins(received),
        paid_out: coins(paidOut),
        fees: coins(fees),
        adopted: coins(adopted),
        held: coins(held),
      };
    }),
    problems: more > 0 ? [...problems, `${more} more differences`] : problems,
    offers: offers.map(shownDifference).map(({ asset, ...rest }) => ({ ...rest, crypto: asset })),
    corrections: correctionsOf(app, chain).map(({ at, asset, ref, ...rest }) => ({
      ...rest,
      at: toIso(at),
      crypto: asset,
      entry: ref,
    })),
    error: null,
  };
}
