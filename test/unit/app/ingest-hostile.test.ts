/** Facts that somebody arranged: very many, contradicting, broken off, or under a clock that is wrong. */
import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import { cancelForgotten, createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { refreshQuote } from '../../../daemon/app/invoices/payments.ts';
import { takeParts, totalOf } from '../../../daemon/domain/inheritance.ts';
import type { Schema } from '../../../daemon/store/schema.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { slowness, turnsOf } from '../../bench/turns.ts';
import { Bench, HOUR, type Paid } from './bench.ts';

const MINUTE = HOUR / 60;
const DAY = 24 * HOUR;
const INPUTS = Array.from({ length: 100 }, (_, i) => `${'a'.repeat(64)}:${i}`);

let bench: Bench;
let paid: Paid;

const count = (table: keyof Schema): number => {
  const rows = statement((_: { none: number }) => sqlite.selectFrom(table).select(sql<number>`count(*)`.as('n')));
  return bench.app.store.get(rows, { none: 0 })!.n;
};

const longestTurn = async (work: Promise<unknown>): Promise<number> => {
  const { longest } = await turnsOf(work);
  return longest / slowness();
};

/** The first turns of a process compile what they run. */
const TURN_MS_MAX = 100;

describe('one transaction with thousands of outputs to one address', () => {
  const OUTPUTS = 12_900;
  beforeEach(async () => {
    bench = await Bench.open('LTC');
    paid = await bench.invoice();
  });
  const outputs =
    (back: number | null, units = 546n) =>
    () =>
      Array.from({ length: OUTPUTS }, (_, n) =>
        bench.credit(paid.targetId, units, back, { n, txid: 'f'.repeat(64), inputs: INPUTS }),
      );

  it('is stored in part while it is unconfirmed, its inputs once, and goes when it vanishes', async () => {
    expect(await longestTurn(bench.tell({ credits: outputs(null) }))).toBeLessThan(TURN_MS_MAX);
    expect([count('credit'), count('paying_tx'), count('paying_input')]).toEqual([50, 1, 100]);
    expect(await longestTurn(bench.tell({ credits: outputs(null) }))).toBeLessThan(TURN_MS_MAX);
    expect(bench.creditsOf(paid.targetId).every(({ gone }) => !gone)).toBe(true);
    await bench.tell();
    expect(bench.creditsOf(paid.targetId).every(({ gone }) => gone)).toBe(true);
    expect(bench.payment(paid.id).received).toBe(0n);
    bench.advance(25 * HOUR);
    for (let i = 0; i < 3; i++) await bench.tell();
    expect([count('credit'), count('paying_tx'), count('paying_input'), count('inbox')]).toEqual([0, 0, 0, 0]);
  });

  it('is all there once it is in a block: what pays, pays, and the rest lies in the inbox', async () => {
    await bench.tell({ credits: outputs(null) });
    expect(await longestTurn(bench.tell({ blocks: 1, credits: outputs(0) }))).toBeLessThan(TURN_MS_MAX);
    expect(count('credit')).toBe(OUTPUTS);
    expect(bench.balance()).toBe(546n * BigInt(OUTPUTS));
    expect(await longestTurn(bench.tell({ blocks: 12 }))).toBeLessThan(TURN_MS_MAX);
    const rows = bench.creditsOf(paid.targetId);
    expect(rows.every(({ confirmed, settled }) => confirmed && settled)).toBe(true);
    expect(new Set(rows.map(({ required }) => required))).toEqual(new Set([rows[0]!.required]));
    expect(rows.filter(({ claim }) => claim === null)).toHaveLength(100);
    expect(count('inbox')).toBe(OUTPUTS - 100);
    expect(bench.payment(paid.id).received).toBe(54_600n);
    expect(await longestTurn(bench.tell({ orphan: 13, blocks: 14, credits: outputs(null) }))).toBeLessThan(TURN_MS_MAX);
    expect(bench.balance()).toBe(0n);
  });

  it('asks of all its outputs for the confirmations that its whole worth needs', async () => {
    // 12,900 outputs of 0.0000546 at 60,000 dollars are more than 10,000 dollars
    await bench.tell({ blocks: 1, credits: outputs(0, 5_460n) });
    expect(new Set(bench.creditsOf(paid.targetId).map(({ required }) => required))).toEqual(new Set([12]));
  });
});

/** Until the power fails: the credits of two blocks are stored, and the end of the update is not. */
const WRITES_LEFT = 5;

it('a deposit worth having counts beside however much dust was sent to its address', async () => {
  bench = await Bench.open('LTC');
  paid = await bench.invoice();
  for (let t = 0; t < 4; t++) {
    await bench.tell({
      blocks: 1,
      credits: () =>
        Array.from({ length: 50 }, (_, n) => bench.credit(paid.targetId, 546n, 0, { n, txid: `dust${t}`, inputs: [] })),
    });
  }
  await bench.tell({ blocks: 3, credits: () => [bench.credit(paid.targetId, paid.units, 2, { txid: 'real' })] });
  expect(bench.invoiceStatus(paid.id)).toBe('paid');
  expect(bench.row('real:0').claim).toBe('invoice');
  // what dust the invoice counts is too much beside the deposit
  const reasons = bench.inbox().map(({ reason }) => reason);
  expect(reasons.filter((reason) => reason === 'overpaid')).toHaveLength(1);
  expect(new Set(reasons)).toEqual(new Set(['extra', 'overpaid']));
});

it('dust that is locked no more counts no further than other dust', async () => {
  bench = await Bench.open('LTC');
  paid = await bench.invoice();
  const dust = (t: number, back: number, locked: boolean) =>
    Array.from({ length: 50 }, (_, n) =>
      bench.credit(paid.targetId, 546n, back, { n, txid: `dust${t}`, inputs: [], locked }),
    );
  for (let t = 0; t < 4; t++) await bench.tell({ blocks: 1, credits: () => dust(t, 0, true) });
  await bench.tell({ credits: () => [0, 1, 2, 3].flatMap((t) => dust(t, 3 - t, false)) });
  expect(bench.creditsOf(paid.targetId).filter(({ claim }) => claim === null)).toHaveLength(100);
  expect(bench.payment(paid.id).received).toBe(54_600n);
  expect([bench.balance(), count('inbox')]).toEqual([546n * 200n, 100]);
});

describe('an update that is applied in many transactions', () => {
  type Event = {
    orphan: number;
    blocks: number;
    complete: boolean;
    who: number[];
    confirmed: boolean[];
    turnMs: number;
  };
  const event = fc.record({
    orphan: fc.integer({ min: 0, max: 2 }),
    blocks: fc.integer({ min: 0, max: 3 }),
    complete: fc.boolean(),
    who: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 6 }),
    confirmed: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    turnMs: fc.constantFrom(0, 1_000),
  });
  const columns = ['outpoint', 'units', 'block_height', 'confirmed', 'settled', 'counted', 'gone', 'required'] as const;

  async function tellAll(events: readonly Event[], turnMs: number | null, breakAt = Number.POSITIVE_INFINITY) {
    const here = await Bench.open('LTC');
    const invoices = [await here.invoice(), await here.invoice({ usd: 2_000n })];
    const targets = invoices.map(({ targetId }) => targetId);
    const place = new Map<number, string>();
    let writes = 0;
    const { write } = here.app.store;
    for (const { orphan, blocks, complete, who, confirmed, turnMs: own } of events) {
      const told = {
        orphan,
        blocks: blocks + orphan,
        mempool: complete ? ('complete' as const) : ('unknown' as const),
        turnMs: turnMs ?? own,
        credits: () =>
          who.map((n) => {
            const known = here.blocks.findIndex(({ hash }) => hash === place.get(n));
            const back = known >= 0 ? here.blocks.length - 1 - known : confirmed[n] && blocks + orphan > 0 ? 0 : null;
            if (back !== null) place.set(n, here.block(back).hash);
            return here.credit(targets[n % 2]!, BigInt(n + 1) * 100_000n, back, {
              txid: `t${n}`,
              inputs: [`i${n % 3}`],
            });
          }),
      };
      here.app.store.write = (work) => {
        if (++writes === breakAt) return Promise.reject(new Error('the power failed'));
        return write.call(here.app.store, work) as never;
      };
      const before = here.blocks.slice();
      try {
        await here.tell(told);
      } catch {
        here.app.store.write = write;
        here.chain.tipHeight = null;
        // what the source says now, against where the store has come
        const left = before.filter((b) => !here.blocks.some(({ hash }) => hash === b.hash)).length;
        await here.retell(told, left);
      }
      here.app.store.write = write;
    }
    const rows = targets.flatMap((id) => here.creditsOf(id)).map((row) => columns.map((name) => row[name]));
    const states = invoices.map(({ id }) => [here.invoiceStatus(id), here.payment(id).received]);
    return { rows, states, balance: here.balance() };
  }

  it('says in the end what one transaction says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 6 }), async (events) => {
        const { rows, balance } = await tellAll(events, 0);
        expect({ rows, balance }).toEqual(
          ((all) => ({ rows: all.rows, balance: all.balance }))(await tellAll(events, 1_000)),
        );
      }),
      { numRuns: 25 },
    );
  });

  it('and that the power broke off, says it once it was told again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        async (events, breakAt) => {
          const { rows, balance } = await tellAll(events, 0, breakAt);
          const whole = await tellAll(events, 1_000);
          expect({ rows, balance }).toEqual({ rows: whole.rows, balance: whole.balance });
        },
      ),
      { numRuns: 25 },
    );
  });

  it('stores what one transaction spends of one address at once', async () => {
    bench = await Bench.open('LTC');
    const [one, other] = [await bench.invoice(), await bench.invoice()];
    const COINS = 40;
    const coins = (who: Paid) => Array.from({ length: COINS }, (_, n) => ({ who, txid: `t${who.id} ${n}` }));
    const all = [...coins(one), ...coins(other)];
    await bench.tell({
      blocks: 1,
      credits: () => all.map(({ who, txid }) => bench.credit(who.targetId, 900_000n, 0, { txid })),
    });
    const spends = () => all.map(({ txid }) => ({ outpoint: `${txid}:0`, txid: 'sweep', block: bench.block() }));
    const spent = ({ targetId }: Paid) =>
      bench.creditsOf(targetId).filter(({ spent_txid }) => spent_txid !== null).length;
    const { write } = bench.app.store;
    const seen = new Set<string>();
    bench.app.store.write = async (work) => {
      const done = await write.call(bench.app.store, work);
      seen.add(`${spent(one)} ${spent(other)}`);
      return done as never;
    };
    await bench.tell({ blocks: 1, turnMs: 0, spends });
    bench.app.store.write = write;
    expect([...seen]).toEqual(['0 0', `${COINS} 0`, `${COINS} ${COINS}`]);
  });

  it('broken off, and the chain took another way meanwhile: nothing of the first way is left', async () => {
    bench = await Bench.open('LTC');
    paid = await bench.invoice();
    const other = await bench.invoice();
    const { write } = bench.app.store;
    let writes = 0;
    bench.app.store.write = (work) =>
      ++writes > WRITES_LEFT
        ? Promise.reject(new Error('the power failed'))
        : (write.call(bench.app.store, work) as never);
    const credits = () => [
      bench.credit(paid.targetId, paid.units, 0, { txid: 'x' }),
      bench.credit(other.targetId, other.units, 0, { txid: 'y' }),
    ];
    await expect(bench.tell({ blocks: 3, turnMs: 0, credits })).rejects.toThrow('power');
    bench.app.store.write = write;
    expect(bench.row('x:0').block_hash).not.toBeNull();
    await bench.retell({ orphan: 3, blocks: 4, mempool: 'unknown', credits: () => [] }, 0);
    expect(bench.row('x:0').block_hash).toBeNull();
    expect(bench.balance()).toBe(0n);
    expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
  });

  it('broken off, the blocks that it was about to undo are told to the source until they are', async () => {
    const list = watchList(bench.app.store, bench.chain.key);
    await bench.tell({ blocks: 1, credits: () => [bench.credit(paid.targetId, paid.units, 0)] });
    const { hash } = bench.tip;
    const { write } = bench.app.store;
    let writes = 0;
    bench.app.store.write = (work) =>
      ++writes > 1 ? Promise.reject(new Error('the power failed')) : (write.call(bench.app.store, work) as never);
    const told = { orphan: 1, blocks: 2, turnMs: 0 };
    await expect(bench.tell(told)).rejects.toThrow('power');
    bench.app.store.write = write;
    expect(list.ahead?.()).toEqual([hash]);
    await bench.retell({ turnMs: 0 }, 1);
    expect(list.ahead?.()).toEqual([]);
  });
});

it('an id means what it was first told to, also when that is gone, which the source can learn', async () => {
  bench = await Bench.open('ETH');
  paid = await bench.invoice();
  const list = watchList(bench.app.store, bench.chain.key);
  const told = (id: string, units: bigint, moved = false) => ({
    ...bench.credit(paid.targetId, units, null, { txid: 'x' }),
    id,
    moved,
  });
  const all = [told('x:1', 5n), told('x:1:2', 5n, true), told('x:10', 7n)];
  expect(list.underId?.('x:1')).toEqual([]);
  await bench.tell({ credits: () => all });
  const meant = all
    .map(({ id, targetId, amount, moved }) => ({ id, targetId, amount, moved, block: null }))
    .slice(0, 2);
  expect(list.underId?.('x:1')).toEqual(meant);
  await bench.tell({ blocks: 1 });
  expect(bench.row('x:1').gone).toBe(true);
  expect(list.underId?.('x:1')).toEqual(meant);
});

describe('of two transactions that spend the same input', () => {
  const half = () => paid.units / 2n;
  beforeEach(async () => {
    bench = await Bench.open('LTC', { 'networks.mainnet.LTC.zero_conf_usd': '61' });
    paid = await bench.invoice({ usd: 60n });
    await bench.tell({
      credits: () => [bench.credit(paid.targetId, half(), null, { txid: 'x', inputs: ['i:0'], replaceable: false })],
    });
    expect(bench.row('x:0').confirmed).toBe(true);
  });
  const twin = (back: number | null) => () => [
    bench.credit(paid.targetId, half(), back, { txid: 'y', inputs: ['j:7', 'i:0'] }),
  ];

  it.each(['unknown', 'complete'] as const)('the one in a block counts alone, mempool %s', async (mempool) => {
    await bench.tell({ blocks: 3, mempool, credits: twin(2) });
    expect([bench.row('x:0').gone, bench.row('y:0').gone]).toEqual([true, false]);
    expect([bench.invoiceStatus(paid.id), bench.payment(paid.id).received]).toEqual(['unpaid', half()]);
  });

  it.each(['unknown', 'complete'] as const)('the one that is told now counts alone, mempool %s', async (mempool) => {
    await bench.tell({ mempool, credits: twin(null) });
    expect([bench.row('x:0').gone, bench.row('y:0').gone]).toEqual([true, false]);
    await bench.tell({
      mempool,
      credits: () => [bench.credit(paid.targetId, half(), null, { txid: 'x', inputs: ['i:0'] })],
    });
    expect([bench.row('x:0').gone, bench.row('y:0').gone]).toEqual([false, true]);
  });

  it('one of a block that left the chain gives way to its twin in the new one', async () => {
    await bench.tell({
      blocks: 1,
      credits: () => [bench.credit(paid.targetId, half(), 0, { txid: 'x', inputs: ['i:0'] })],
    });
    await bench.tell({ orphan: 1, blocks: 2, mempool: 'unknown', credits: twin(0) });
    expect([bench.row('x:0').gone, bench.row('y:0').gone]).toEqual([true, false]);
    expect(bench.balance()).toBe(half());
  });

  it('the mempool takes back nothing that a block has', async () => {
    await bench.tell({ blocks: 1, credits: twin(0) });
    await bench.tell({
      mempool: 'unknown',
      credits: () => [bench.credit(paid.targetId, half(), null, { txid: 'x', inputs: ['i:0'] })],
    });
    expect(bench.row('y:0')).toMatchObject({ gone: false, block_height: bench.tip.height });
  });
});

it('a block does not make replaceable what paid without confirmations', async () => {
  bench = await Bench.open('LTC', { 'networks.mainnet.LTC.zero_conf_usd': '50' });
  paid = await bench.invoice({ usd: 20n });
  await bench.tell({ credits: () => [bench.credit(paid.targetId, paid.units, null, { replaceable: false })] });
  expect(bench.invoiceStatus(paid.id)).toBe('paid');
  await bench.tell({ blocks: 1, credits: () => [bench.credit(paid.targetId, paid.units, 0)] });
  expect(bench.row(`tx${paid.targetId}:0`)).toMatchObject({ confirmed: true, required: 0, replaceable: false });
  expect([bench.payment(paid.id).flags, bench.alerts()]).toEqual([0, []]);
});

describe('a replacement holds the former rate for no more than it replaced', () => {
  beforeEach(async () => {
    bench = await Bench.open('LTC');
    paid = await bench.invoice();
  });
  const usd = (units: bigint, price: bigint) => units * price;

  it('dust that is replaced by the whole is dust at the old rate', async () => {
    await bench.tell({ credits: () => [bench.credit(paid.targetId, 5n, null, { txid: 'dust', inputs: ['i:0'] })] });
    bench.advance(20 * HOUR);
    bench.rate('42000');
    const whole = (back: number | null) => () => [
      bench.credit(paid.targetId, paid.units, back, { txid: 'full', inputs: ['i:0'] }),
    ];
    await bench.tell({ credits: whole(null) });
    const worth = usd(5n, 60_000n) + usd(paid.units - 5n, 42_000n);
    expect(bench.row('full:0')).toMatchObject({ value: worth, first_seen_at: bench.at });
    await bench.tell({ blocks: 3, credits: whole(2) });
    expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
  });

  it('over several replacements, and over several outputs of one', async () => {
    const pay = (txid: string, ...units: bigint[]) =>
      bench.tell({
        credits: () => units.map((u, n) => bench.credit(paid.targetId, u, null, { n, txid, inputs: ['i:0'] })),
      });
    await pay('a', 10n);
    bench.advance(2 * HOUR);
    bench.rate('50000');
    await pay('b', 30n);
    bench.advance(2 * HOUR);
    bench.rate('40000');
    await pay('c', 25n, 25n);
    expect(bench.row('c:0').value).toBe(usd(10n, 60_000n) + usd(15n, 50_000n));
    expect(bench.row('c:1').value).toBe(usd(5n, 50_000n) + usd(20n, 40_000n));
    await pay('d', 1n);
    expect(bench.row('d:0').value).toBe(usd(1n, 60_000n));
  });

  it('parts are taken whole, in order, and never more than there are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 99 }), fc.bigInt({ min: 1n, max: 1_000n })), { maxLength: 12 }),
        fc.bigInt({ min: 0n, max: 9_000n }),
        (list, units) => {
          const parts = list.sort(([a], [b]) => a - b);
          const { taken, rest } = takeParts(parts, units);
          expect(totalOf(taken)).toBe(totalOf(parts) < units ? totalOf(parts) : units);
          expect(totalOf(taken) + totalOf(rest)).toBe(totalOf(parts));
          expect(taken.length).toBeLessThanOrEqual(8);
        },
      ),
    );
  });
});

describe('an address that a stranger pays unasked', () => {
  beforeEach(async () => {
    bench = await Bench.open('BTC');
  });

  it('is passed over while that is unconfirmed, and comes back when it goes', async () => {
    const target = bench.unassigned();
    await bench.tell({ credits: () => [bench.credit(target, 1n)] });
    const next = await bench.invoice();
    expect(next.targetId).not.toBe(target);
    await bench.tell();
    bench.advance(25 * HOUR);
    await bench.tell();
    bench.rate('60000');
    await bench.tell();
    expect((await bench.invoice()).targetId).toBe(target);
  });

  it('is given to a payer when there is no other, and what the stranger sent is not the payer’s', async () => {
    const all = Array.from({ length: 20 }, (_, i) => bench.unassigned() + i);
    await bench.tell({ credits: () => all.map((id) => bench.credit(id, 9n)) });
    const invoice = await bench.invoice();
    expect(invoice.targetId).toBe(all[0]);
    await bench.tell({ blocks: 1, credits: () => [bench.credit(all[0]!, 9n, 0)] });
    expect(bench.payment(invoice.id).received).toBe(0n);
    expect(bench.row(`tx${all[0]}:0`).claim).toBe('unassigned');
    expect(bench.payment(invoice.id).target_id).toBe(all[0]);
  });

  it('is retired by a block', async () => {
    const target = bench.unassigned();
    await bench.tell({ credits: () => [bench.credit(target, 1n)] });
    await bench.tell({ blocks: 1, credits: () => [bench.credit(target, 1n, 0)] });
    expect(bench.unassigned()).toBe(target + 1);
    expect(bench.inbox()).toEqual([{ reason: 'unassigned', outpoint: `tx${target}:0` }]);
  });
});

describe('a clock that jumps forty days ahead, and back', () => {
  beforeEach(async () => {
    bench = await Bench.open('BTC');
    paid = await bench.invoice();
  });

  it('cancels nothing where blocks have a time of their own', async () => {
    const medianTime = bench.at - HOUR;
    await bench.tell({ medianTime });
    bench.advance(40 * DAY);
    await bench.tell({ medianTime });
    expect([bench.invoiceStatus(paid.id), bench.payment(paid.id).status]).toEqual(['unpaid', 'pending']);
    await bench.tell({ medianTime, credits: () => [bench.credit(paid.targetId, paid.units)] });
    bench.advance(-40 * DAY);
    await bench.tell({ medianTime, blocks: 1, credits: () => [bench.credit(paid.targetId, paid.units, 0)] });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it.each([3, 23, 25, 40 * 24])('what comes in the last hours of grace is in time, %i hours ahead', async (hours) => {
    bench.advance(bench.payment(paid.id).deadline_at - bench.at + 22 * HOUR);
    bench.rate('50000');
    const truth = bench.at;
    const business = bench.app.directory.business(bench.businessId);
    const medianTime = truth - HOUR;
    await bench.tell({ medianTime });
    await bench.app.store.write((tx) => refreshQuote(bench.app, business, paid.id, tx));
    const units = BigInt(bench.payment(paid.id).quote_amount);
    bench.advance(hours * HOUR);
    bench.rate('40000');
    await bench.tell({ medianTime, credits: () => [bench.credit(paid.targetId, units)] });
    const row = bench.row(`tx${paid.targetId}:0`);
    expect(row.first_seen_at).toBe(hours < 24 ? truth + HOUR + 1 : truth);
    // slow blocks do not lengthen a quote; a clock that cannot be right does not end it
    const price = hours < 24 ? 40_000n : 50_000n;
    expect([row.value, bench.inbox()]).toEqual([units * price, []]);
  });

  it('what a clock dated that was ahead, before the chain’s time was known, is dated by its block', async () => {
    const truth = bench.at;
    bench.advance(3 * HOUR);
    bench.rate('40000');
    const inputs = ['i:0'];
    const { units } = paid;
    await bench.tell({ credits: () => [bench.credit(paid.targetId, 5n, null, { txid: 'a', inputs })] });
    await bench.tell({ credits: () => [bench.credit(paid.targetId, units, null, { txid: 'b', inputs })] });
    expect(bench.row('b:0')).toMatchObject({ first_seen_at: bench.at, value: units * 40_000n });
    const credits = () => [
      { ...bench.credit(paid.targetId, units, 0, { txid: 'b', inputs }), blockTime: truth + MINUTE },
    ];
    await bench.tell({ medianTime: truth - HOUR, blocks: 1, credits });
    const value = units * 60_000n;
    expect(bench.row('b:0')).toMatchObject({ first_seen_at: truth + MINUTE, value });
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });

  it('leaves nothing behind: new invoices live, and a chain is withheld when nobody looks at it', async () => {
    bench.advance(40 * DAY);
    await bench.tell();
    bench.advance(-40 * DAY);
    expect(bench.chain.withheld(bench.at)).not.toBeNull();
    await bench.tell();
    bench.rate('60000');
    const next = await bench.invoice();
    bench.advance(1_000);
    await bench.tell();
    expect([bench.invoiceStatus(next.id), bench.payment(next.id).status]).toEqual(['unpaid', 'pending']);
    bench.advance(HOUR);
    expect(bench.chain.withheld(bench.at)).not.toBeNull();
  });

  it('cancels no invoice either for which no payment was asked yet', async () => {
    const { app } = bench;
    const business = app.directory.business(bench.businessId);
    const wanted = { amount: 100n * 100_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null };
    const rest = { redirectUrl: null, webhookUrl: null, automaticRedirect: false, origin: 'merchant' } as const;
    const { id } = await app.store.write((tx) => createInvoice(app, business, { ...wanted, ...rest }, tx));
    bench.advance(40 * DAY);
    await bench.tell({ medianTime: bench.at - 40 * DAY });
    await app.store.write((tx) => cancelForgotten(app, tx));
    expect(bench.invoiceStatus(id)).toBe('unpaid');
    await bench.tell({ medianTime: bench.at });
    await app.store.write((tx) => cancelForgotten(app, tx));
    expect(bench.invoiceStatus(id)).toBe('canceled');
  });

  it('still ends what is over by the blocks’ own time', async () => {
    bench.advance(40 * DAY);
    await bench.tell({ blocks: 1, medianTime: bench.at - HOUR });
    expect(bench.invoiceStatus(paid.id)).toBe('canceled');
  });
});

describe('a node that comes back at its old tip', () => {
  it('what was paid meanwhile is dated by its block, and pays', async () => {
    bench = await Bench.open('BTC');
    paid = await bench.invoice({ dueAt: bench.at + 2 * HOUR });
    const t0 = bench.at;
    await bench.tell({ medianTime: t0 - 40 * MINUTE });
    bench.advance(30 * HOUR);
    bench.rate('48000');
    await bench.tell({ medianTime: t0 - 40 * MINUTE });
    expect(bench.invoiceStatus(paid.id)).toBe('unpaid');
    bench.advance(30_000);
    const credits = () => [{ ...bench.credit(paid.targetId, paid.units, 0), blockTime: t0 + 20 * MINUTE }];
    await bench.tell({ blocks: 1, medianTime: t0, credits });
    expect(bench.row(`tx${paid.targetId}:0`).first_seen_at).toBe(t0 + 20 * MINUTE);
    expect(bench.invoiceStatus(paid.id)).toBe('paid');
  });
});
