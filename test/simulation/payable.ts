/**
 * Whether what an invoice shows can be true, by the chains alone: at any time, and whatever the sources said.
 */
import type { UtxoChain } from '../../daemon/chains/utxo/params.ts';
import { PRICES, ZERO_CONF_USD } from './appliance.ts';
import { type Network, signals, type Tx } from './network.ts';
import { type Ask, Fault, type Invoice, type World } from './world.ts';

type Paid = { tx: Tx; ask: Ask; units: bigint };
export type Shown = { crypto?: string; received?: string; transactions?: { tx_id: string; confirmations: number }[] };

/** Parts of an invoice are counted so finely. */
export const WHOLE = 1_000_000_000_000n;
/** The tolerance of an invoice is one part of a hundred; conversions round. */
const PAID = (WHOLE * 98n) / 100n;
const COIN = 100_000_000n;
/** Confirmations by the worth of a payment, from 0, 1,000 and 10,000 USD on: those that the README names. */
const NEEDED: Readonly<Record<UtxoChain, readonly [number, number, number]>> = {
  BTC: [1, 3, 6],
  LTC: [3, 6, 12],
  BCH: [1, 3, 6],
};

export const partOf = ({ units, ask }: Pick<Paid, 'units' | 'ask'>): bigint => (units * WHOLE) / ask.units;

/** Every transaction that ever was written and pays this invoice, in whichever of its coins. */
export function paidTo(world: World, { asks }: Invoice): Paid[] {
  return asks.flatMap((ask) =>
    [...world.network(ask.coin).txs.values()].flatMap((tx) => {
      const mine = tx.outputs.filter((one) => one.script === ask.script);
      const units = mine.reduce((sum, one) => sum + one.units, 0n);
      return units > 0n ? [{ tx, ask, units }] : [];
    }),
  );
}

/** Throws a `Fault` when two shown transactions exclude each other, or the invoice is paid by what could not pay it. */
export function judgeShown(world: World, invoice: Invoice, status: string, shown: Shown): void {
  const all = paidTo(world, invoice);
  judgeApart(invoice, shown, all);
  if (status === 'paid' && !invoice.decided) judgePayable(world, invoice, all);
}

const inputsOf = ({ tx, ask }: Paid): string[] => tx.inputs.map(({ outpoint }) => `${ask.coin} ${outpoint}`);

function judgeApart(invoice: Invoice, shown: Shown, all: readonly Paid[]): void {
  const said = new Set((shown.transactions ?? []).map(({ tx_id }) => tx_id));
  const by = new Map<string, string>();
  for (const paid of all.filter(({ tx }) => said.has(tx.txid))) {
    const { txid } = paid.tx;
    for (const input of inputsOf(paid)) {
      const other = by.get(input) ?? txid;
      if (other !== txid)
        throw new Fault(`invoice ${invoice.no} shows ${txid} and ${other}, which both spend ${input}`);
      by.set(input, txid);
    }
  }
}

/** Of transactions that exclude each other the largest counts, which is more than the product may count. */
function judgePayable(world: World, invoice: Invoice, all: readonly Paid[]): void {
  const best = new Map<string, bigint>();
  for (const paid of all.filter((one) => mayCount(world.network(one.ask.coin), one))) {
    // payers spend one coin in each transaction
    const key = `${inputsOf(paid)[0]} ${paid.ask.script}`;
    const part = partOf(paid);
    if (part > (best.get(key) ?? 0n)) best.set(key, part);
  }
  const part = [...best.values()].reduce((sum, one) => sum + one, 0n);
  if (part < PAID) {
    throw new Fault(`invoice ${invoice.no} is paid: ${part} of ${WHOLE} had their confirmations, or need none`);
  }
}

/** Whether it ever had the confirmations that its worth asks for, or needs none as nobody may replace it. */
function mayCount(network: Network, { tx, ask, units }: Paid): boolean {
  const { coin } = ask;
  const usd = (units * BigInt(PRICES[coin])) / COIN;
  const needed = NEEDED[coin][usd < 1_000n ? 0 : usd < 10_000n ? 1 : 2];
  if (network.placeOf(tx.txid).some(({ depth }) => depth >= needed)) return true;
  // nodes of BCH replace nothing, whatever a transaction signals
  return usd < ZERO_CONF_USD && (coin === 'BCH' || (coin === 'LTC' && !signals(tx)));
}
