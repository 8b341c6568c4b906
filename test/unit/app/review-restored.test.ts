/** Entries that are in restored data by the word of one operator: a restore asks two operators about all of them again. */
import { afterEach, expect, it } from 'vitest';
import { reviewStep } from '../../../daemon/app/books/review.ts';
import { reviewAll } from '../../../daemon/app/books/review-place.ts';
import { beginQuarantine } from '../../../daemon/app/recovery/begin-quarantine.ts';
import type { BookedSending, SentAgain, StoredCoin, Witnesses } from '../../../daemon/chains/adapter.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { Bench } from './bench.ts';

const ETHER = 10n ** 18n;
const DOLLAR = 10n ** 6n;
const DAY = 24 * 60 * 60_000;
const STEPS_MAX = 20;

let bench: Bench;
afterEach(() => bench.app.store.close());

/** What two operators say of the entries that they are asked about: `false` entries are not on the chain. */
class Operators implements Witnesses {
  readonly asked: string[] = [];
  isDenying = false;
  /** Happens while they are asked about something that was sent. */
  meanwhile: (() => Promise<unknown>) | null = null;

  async sent(booked: readonly BookedSending[]): Promise<(SentAgain | null)[]> {
    for (const { txid } of booked) this.asked.push(txid);
    if (booked.length > 0) await this.meanwhile?.();
    return booked.map(({ txid }) => (this.isDenying && txid === 'false out' ? { spends: [], debits: [] } : null));
  }

  async came(coins: readonly StoredCoin[]): Promise<(boolean | null)[]> {
    for (const { txid } of coins) this.asked.push(txid);
    return coins.map(({ txid }) => !(this.isDenying && txid === 'false in'));
  }

  async standing(targets: readonly unknown[]): Promise<null[]> {
    return targets.map(() => null);
  }
}

async function reviewed(): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step++) {
    if (!(await reviewStep(bench.app, bench.chain, new AbortController().signal))) return;
  }
  throw new Error(`the review goes on after ${STEPS_MAX} steps`);
}

const balances = (): bigint[] => [bench.balance('USDT_ERC20'), bench.balance('ETH')];

/** Two payments that came in, and one that went out. */
async function booked(): Promise<Operators> {
  bench = await Bench.open('ETH');
  const operators = new Operators();
  Object.assign(bench.chain.adapter, { witnesses: operators });
  await bench.tell({
    blocks: 1,
    credits: () => [
      bench.credit(1, 50n * DOLLAR, 0, { txid: 'true in', asset: 'USDT_ERC20' }),
      bench.credit(2, 3n * ETHER, 0, { txid: 'false in', asset: 'ETH' }),
    ],
    debits: () => [
      {
        id: 'false out:1',
        txid: 'false out',
        targetId: 1,
        kind: 'paid',
        amount: { asset: 'USDT_ERC20', units: 20n * DOLLAR },
        block: { height: bench.tip.height, hash: bench.tip.hash },
      },
    ],
  });
  await bench.tell({ blocks: BURIED_BLOCKS.ETH + 1, debits: () => [] });
  return operators;
}

it('are asked about again after a restore, and the false ones go, of money in and out', async () => {
  const operators = await booked();
  await reviewed();
  expect(operators.asked.sort()).toEqual(['false in', 'false out', 'true in']);
  expect(balances()).toEqual([30n * DOLLAR, 3n * ETHER]);

  operators.isDenying = true;
  operators.asked.length = 0;
  // nothing is asked twice without a reason
  await reviewed();
  expect(operators.asked).toEqual([]);
  await bench.app.store.write((tx) => beginQuarantine(tx, { made_at: 'then' }, bench.at, 10));
  await reviewed();
  expect(operators.asked.sort()).toEqual(['false in', 'false out', 'true in']);
  expect(balances()).toEqual([50n * DOLLAR, 0n]);
});

it('raise an alert if nobody has answered about them for a day, until somebody does', async () => {
  const operators = await booked();
  const page = { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 9 };
  const raised = () => bench.app.store.all(openAlerts, page).map(({ kind, message }) => [kind, message.code]);
  const waits = async (ms: number) => {
    bench.advance(ms);
    await reviewed();
  };
  operators.meanwhile = () => Promise.reject(new Unavailable('no server has it', 1));
  await waits(0);
  await waits(DAY - 1);
  expect(raised()).toEqual([]);
  await waits(1);
  expect(raised()).toEqual([['ledger.unproved', 'ledger.unreviewed']]);
  operators.meanwhile = null;
  await waits(1);
  expect(raised()).toEqual([]);
  // the next page that waits has not waited before
  await bench.app.store.write((tx) => reviewAll(tx, bench.chain.key));
  operators.meanwhile = () => Promise.reject(new Unavailable('no server has it', 1));
  await waits(DAY);
  expect(raised()).toEqual([]);
});

it('are asked about from their beginning on if a restore or a search begins while some are asked about', async () => {
  const operators = await booked();
  operators.meanwhile = () => {
    operators.meanwhile = null;
    return bench.app.store.write((tx) => reviewAll(tx, bench.chain.key));
  };
  await reviewed();
  const twice = ['false in', 'false out', 'true in'].flatMap((txid) => [txid, txid]);
  expect(operators.asked.sort()).toEqual(twice);
});
