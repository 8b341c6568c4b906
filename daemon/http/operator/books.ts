/** The operator API's methods about the books: the proof of the ledger, and the accountant's export. */
import type { App } from '../../app/app.ts';
import { exportPage } from '../../app/books/export.ts';
import { type Reconciliation, reconcile } from '../../app/books/reconcile.ts';
import type { ChainRuntime } from '../../app/chains/chains.ts';
import { deadline } from '../../app/deadline.ts';
import { findBusiness } from '../../app/operator/find.ts';
import type { BOOKS } from '../../contract/books.ts';
import type { Method, Parsed, Result } from '../../contract/operator.ts';
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { type Day, toIso } from '../../domain/calendar.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { formatUnits } from '../../domain/money.ts';
import type { Context } from './context.ts';

type Own = Method & keyof typeof BOOKS;
type Methods = { readonly [M in Own]: (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>> };
type Proved = Result<'ledger.prove'>['chains'][number];

const PROOF_TIMEOUT_MS = 3_600_000;

export const BOOKS_METHODS: Methods = {
  'ledger.prove': async ({ app }, { chain }) => {
    // a dormant chain has no connection, and asking it would open one
    const connected = app.chains.all().filter(({ dormant }) => !dormant);
    const chains = chain === undefined ? connected : connected.filter(({ key }) => key === chain);
    if (chains.length === 0) throw new Rejected('ledger.chain', `${chain} is not connected`, 'chain');
    const proved: Proved[] = [];
    for (const one of chains) proved.push(await prove(app, one));
    return { chains: proved };
  },
  'export.page': ({ app }, { business, from, to, cursor }) => {
    const only = business === undefined ? null : findBusiness(app, business);
    const request = { business: only, from: dayFrom(from), to: dayFrom(to), cursor };
    const { rows, next } = exportPage(app, request);
    return { rows: rows.map((row) => ({ ...row, at: toIso(row.at) })), next };
  },
};

const dayFrom = (text: string): Day => {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  return { year, month, day };
};

async function prove(app: App, chain: ChainRuntime): Promise<Proved> {
  try {
    return shown(await reconcile(app, chain, deadline(PROOF_TIMEOUT_MS, chain.key)));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { chain: chain.key, height: 0, compared: false, lines: [], problems: [], error: error.message };
  }
}

function shown({ chain, tip, compared, lines, problems, differences }: Reconciliation): Proved {
  const more = differences - problems.length;
  return {
    chain,
    height: tip.height,
    compared,
    lines: lines.map(({ asset, received, paidOut, fees, held }) => {
      const coins = (units: bigint): string => formatUnits(units, assetOf(asset as AssetId));
      return {
        crypto: asset,
        received: coins(received),
        paid_out: coins(paidOut),
        fees: coins(fees),
        held: coins(held),
      };
    }),
    problems: more > 0 ? [...problems, `${more} more differences`] : problems,
    error: null,
  };
}
