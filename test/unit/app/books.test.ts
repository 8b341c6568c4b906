/**
 * The books after long random histories: what was received less what was paid out less all fees is what the chain holds
 * for us, in the accountant's export and in the proof of the ledger; and nothing is valued twice.
 */
import { describe, expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { type ExportCursor, type ExportRow, exportPage } from '../../../daemon/app/books/export.ts';
import { reconcile } from '../../../daemon/app/books/reconcile.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { parseDecimal } from '../../../daemon/domain/money.ts';
import { accountById } from '../../../daemon/store/queries/businesses.ts';
import { allTargets, pastUntil, zoneOf } from './books-kit.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { ETH } from './pay-families.ts';

const STEPS = 70;
const BURIED = 13;
const SEEDS = ['LTC 1', 'LTC 2', 'BTC 3', 'BCH 4'] as const;
/** The bench has no price of BCH. */
const VALUED = SEEDS.slice(0, 3);
const EVER = { from: { year: 1970, month: 1, day: 1 }, to: { year: 2100, month: 1, day: 1 } };
const UNITS = (text: string): bigint => parseDecimal(text, 8)!;

/** Park and Miller's generator: the same history for the same seed. */
function chance(seed: number): (below: number) => number {
  let state = seed * 7_919 + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

function exported({ app, bench }: CoinBench, days = EVER): ExportRow[] {
  const rows: ExportRow[] = [];
  const business = app.directory.business(bench.businessId);
  let cursor: ExportCursor | null = null;
  do {
    const page: ReturnType<typeof exportPage> = exportPage(app, { business, ...days, cursor });
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor);
  return rows;
}

/** What the blocks hold at our scripts, and how much of it is change, read from the chain alone. */
function held({ chain, app }: CoinBench): bigint {
  const ours = new Set(allTargets(app).map(({ script }) => Buffer.from(script).toString('hex')));
  const coins = new Map<string, bigint>();
  for (const tx of chain.blocks.flatMap(({ txs }) => txs)) {
    for (const input of tx.inputs) coins.delete(input);
    for (const [n, { script, units }] of tx.outputs.entries()) {
      if (ours.has(Buffer.from(script, 'hex').toString('hex'))) coins.set(`${tx.txid}:${n}`, units);
    }
  }
  return [...coins.values()].reduce((sum, units) => sum + units, 0n);
}

/** A refusal is a part of a history; anything else is a bug. */
async function maybe(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof Rejected)) throw error;
  });
}

async function step(pay: CoinBench, below: (n: number) => number, open: number[]): Promise<void> {
  const pick = (): number => open[below(open.length)] ?? 0;
  const kind = below(9);
  if (kind <= 1) await pay.deposits([COIN + BigInt(below(1_000_000))], 1 + below(3));
  else if (kind <= 3) await maybe(pay.withdraw(BigInt(1 + below(4)) * 10_000_000n).then((id) => open.push(id)));
  else if (kind === 4 && open.length > 0) await maybe(pay.replace(pick(), 'speed-up'));
  else if (kind === 5 && open.length > 0) await maybe(pay.replace(pick(), 'cancel'));
  else if (kind === 6) pay.chain.mine(1 + below(3), () => below(3) > 0);
  else if (kind === 7) pay.chain.reorg({ depth: 1 + below(2) });
  else await maybe(pay.withdraw(null).then((id) => open.push(id)));
  await pay.round();
}

async function history(name: (typeof SEEDS)[number]): Promise<CoinBench> {
  const [chain, seed] = name.split(' ') as ['LTC' | 'BTC' | 'BCH', string];
  const pay = await PayBench.open(chain);
  const below = chance(Number(seed));
  const open: number[] = [];
  await derive(pay.app, pay.app.directory.accounts()[0]!, STEPS);
  await pay.deposits([3n * COIN, 2n * COIN], BURIED);
  for (let i = 0; i < STEPS; i++) {
    await step(pay, below, open);
    // whatever is under way, what came less what left is what is held, and the balance is their running total
    const { problems } = await reconcile(pay.app, pay.bench.chain, new AbortController().signal);
    expect([i, problems]).toEqual([i, []]);
  }
  pay.chain.mine(BURIED);
  await pay.round();
  pay.chain.mine(BURIED);
  await pay.round();
  return pay;
}

const sumOf = (rows: readonly ExportRow[], kind: ExportRow['kind']): bigint =>
  rows.filter((row) => row.kind === kind).reduce((sum, { amount }) => sum + UNITS(amount), 0n);

describe('the books after history', () => {
  it.each(SEEDS)('%s add up to what the chain holds, for the accountant and in the proof', async (name) => {
    const pay = await history(name);
    const rows = exported(pay);
    const [received, paid, fees] = [sumOf(rows, 'receipt'), sumOf(rows, 'withdrawal'), sumOf(rows, 'fee')];
    expect(paid).toBeGreaterThan(0n);
    expect(fees).toBeGreaterThan(0n);
    expect(received - paid - fees).toBe(held(pay));
    // each transaction costs once, whatever it paid
    const spends = rows.filter(({ kind }) => kind === 'fee').map(({ tx_id }) => tx_id);
    expect(new Set(spends).size).toBe(spends.length);
    const report = await reconcile(pay.app, pay.bench.chain, new AbortController().signal);
    expect(report.problems).toEqual([]);
    expect(report.lines).toMatchObject([{ received, paidOut: paid, fees, held: received - paid - fees }]);
  });

  it.each(VALUED)('%s value nothing anew when the market moves', async (name) => {
    const pay = await history(name);
    const rows = exported(pay);
    expect(rows.filter(({ usd_value }) => usd_value !== '').length).toBeGreaterThan(0);
    pay.bench.advance(3_600_000);
    pay.bench.rate('1');
    expect(exported(pay)).toEqual(rows);
  });
});

describe('what was spent before this service', () => {
  it('is known as such by the proof, up to the block at which the past was read', async () => {
    const pay = await PayBench.open('LTC');
    const { app, bench, chain } = pay;
    const [deposit] = await pay.deposits([COIN], 3);
    // another program with the same words paid a stranger
    chain.mineThese([chain.conflictWith({ ...deposit!, inputs: [`${deposit!.txid}:0`] })]);
    await pay.sync();
    const prove = () => reconcile(app, bench.chain, new AbortController().signal);
    expect((await prove()).problems).toEqual([expect.stringMatching(/spent 1 LTC of ours, and we did not make/)]);
    const { height } = chain.tip;
    const setPastUntil = (to: number) =>
      app.store.write((tx) => tx.run(pastUntil, { id: bench.accountId, height: to }));
    await setPastUntil(height - 1);
    expect((await prove()).problems).toHaveLength(1);
    await setPastUntil(height);
    expect(app.store.get(accountById, { id: bench.accountId })).toMatchObject({ past_until: height });
    const { problems, lines } = await prove();
    expect(problems).toEqual([]);
    expect(lines).toEqual([{ asset: 'LTC', received: COIN, paidOut: COIN, fees: 0n, adopted: 0n, held: 0n }]);
    const rows = exported(pay);
    expect(rows.map(({ kind, amount, reference }) => [kind, amount, reference])).toEqual([
      ['receipt', '1', ''],
      ['withdrawal', '1', ''],
    ]);
  });
});

describe('the days of the export', () => {
  it('are those of the business', async () => {
    const pay = await PayBench.open('LTC');
    const { app, bench } = pay;
    // the chain's blocks are of midnight in UTC: it is the day before in Honolulu
    await pay.deposits([COIN], 2);
    const at = exported(pay)[0]!.at;
    await app.store.write((tx) => {
      tx.run(zoneOf, { id: bench.businessId, time_zone: 'Pacific/Honolulu' });
      tx.afterCommit(() => app.directory.load(app.store));
    });
    const [row] = exported(pay);
    const there = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Honolulu', dateStyle: 'short' }).format(at);
    expect(row).toMatchObject({ at, day: there });
    const [year, month, day] = there.split('-').map(Number) as [number, number, number];
    const only = { year, month, day };
    expect(exported(pay, { from: only, to: only })).toHaveLength(1);
    const before = { ...only, year: year - 1 };
    expect(exported(pay, { from: before, to: before })).toEqual([]);
  });
});

describe('a payment that another machine made', () => {
  it('is explained by what its block charged, though another block charged less before', async () => {
    const pay = await ETH.open();
    const { app, bench, chain } = pay;
    await pay.deposits([chain.coin]);
    await pay.withdraw(chain.coin / 10n);
    await pay.round();
    await chain.mine();
    await pay.sync();
    const prove = async () => (await reconcile(app, bench.chain, new AbortController().signal)).problems;
    expect(await prove()).toEqual([]);
    const change = (sql: string) => app.store.write((tx) => tx.run({ sql, bind: () => [] }, {}));
    await change("UPDATE spend_version SET fee = '1'");
    // what was signed here takes its own fee at most
    expect(await prove()).toEqual([
      expect.stringMatching(/took .* and pays 0.1 ETH with a fee of 0.000000000000000001 ETH/),
    ]);
    await change('UPDATE spend_version SET raw = NULL');
    expect(await prove()).toEqual([]);
  });
});
