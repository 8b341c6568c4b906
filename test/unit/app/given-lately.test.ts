/** Addresses that were given out, and whose own rows do not say so yet: the log of given addresses alone does, also after a crash. */
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { enterGiven } from '../../../daemon/app/addresses/enter.ts';
import { givenAddresses } from '../../../daemon/app/addresses/given.ts';
import { derive, ready, takeAddress } from '../../../daemon/app/addresses/pool.ts';
import { skip } from '../../../daemon/app/addresses/skipped.ts';
import { ENTERED_SETTING, rememberLately } from '../../../daemon/store/lately.ts';
import { MIGRATIONS, migrate } from '../../../daemon/store/migrations.ts';
import { accountById } from '../../../daemon/store/queries/businesses.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { lastGiven, latelyAbove } from '../../../daemon/store/queries/given.ts';
import { settingOf } from '../../../daemon/store/queries/settings.ts';
import { scriptsUsedLately } from '../../../daemon/store/queries/watch.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import type { Tx } from '../../../daemon/store/store.ts';
import { Jobs } from '../../../daemon/workers/jobs.ts';
import { Bench } from './bench.ts';

/** What the row of an address itself says. */
const rowOf = statement((p: { id: number }) => sqlite.selectFrom('target').select('invoice_id').where('id', '=', p.id));

const inRow = ({ app }: Bench, id: number) => app.store.get(rowOf, { id })!.invoice_id;
const known = ({ app }: Bench, id: number) => app.store.get(targetById, { id })!.invoice_id;
const account = ({ app, accountId }: Bench) => app.directory.accounts().find(({ id }) => id === accountId)!;
const enter = ({ app }: Bench) => enterGiven(app, () => false);
const take = ({ app, ...at }: Bench, tx: Tx, invoiceId: number) =>
  takeAddress(app, app.directory.accounts().find(({ id }) => id === at.accountId)!, invoiceId, false, tx);
/** A stranger pays an address, in no block yet. */
const pay = (bench: Bench, id: number, txid: string) =>
  bench.tell({ credits: () => [bench.credit(id, 5n, null, { txid })] });

/** The same service after it was killed. */
async function crashed(bench: Bench, chain: 'BTC' | 'ETH' = 'BTC', parts = {}): Promise<Bench> {
  const next = await Bench.revive(bench.app.store.content(), bench.at, chain, {}, parts);
  next.blocks.push(...bench.blocks);
  return next;
}

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.app.store.close());

describe('an address that was given out lately', () => {
  it('is in the log alone until it is entered into its row', async () => {
    const { id, targetId } = await bench.invoice();
    expect(inRow(bench, targetId)).toBeNull();
    expect(known(bench, targetId)).toBe(id);
    await enter(bench);
    expect(inRow(bench, targetId)).toBe(id);
    expect(bench.app.store.get(latelyAbove, { above: 0 })).toBeUndefined();
    const { no } = bench.app.store.get(lastGiven, {})!;
    expect(bench.app.store.get(settingOf, { key: ENTERED_SETTING })).toEqual({ value: `${no}` });
  });

  it('is entered by the jobs of every minute', async () => {
    const { id, targetId } = await bench.invoice();
    const jobs = new Jobs(bench.app);
    await jobs.minute();
    await jobs.stop();
    expect(inRow(bench, targetId)).toBe(id);
  });

  it('is told to a computer at home, watched, and no more counted as ready', async () => {
    const before = ready(bench.app, account(bench));
    const { slug, targetId } = await bench.invoice();
    expect(ready(bench.app, account(bench))).toBe(before - 1);
    expect(givenAddresses(bench.app, 1, 10).given).toMatchObject([{ no: 1, invoice: slug }]);
    const watched = bench.app.store.all(scriptsUsedLately, { chain_key: bench.chain.key, limit: 10 });
    expect(watched.map((one) => one.id)).toEqual([targetId]);
  });

  it('keeps its invoice over a crash, and money at it counts for this invoice', async () => {
    const { id, targetId, units } = await bench.invoice();
    const next = await crashed(bench);
    expect(inRow(next, targetId)).toBeNull();
    expect(known(next, targetId)).toBe(id);
    await next.tell({ blocks: 1, credits: () => [next.credit(targetId, units, 0, { txid: 'p' })] });
    expect(next.row('p:0')).toMatchObject({ invoice_id: id, claim: 'invoice' });
    await next.app.store.close();
  });

  it('is given back by a write that throws, alone and beside others of its group', async () => {
    const first = bench.unassigned();
    const { app } = bench;
    const failing = app.store.write((tx) => {
      take(bench, tx, 1);
      throw new Error('after the address was taken');
    });
    const other = app.store.write((tx) => take(bench, tx, 2).id);
    await expect(failing).rejects.toThrow('after the address was taken');
    expect(await other).toBe(first);
    expect(known(bench, first)).toBe(2);
    expect(app.store.get(lastGiven, {})).toEqual({ no: 1 });
  });

  it('is not retired with the unused ones when addresses are skipped', async () => {
    const { app, accountId } = bench;
    const { id, targetId } = await bench.invoice();
    const { next_index: next } = app.store.get(accountById, { id: accountId })!;
    await app.store.write((tx) => skip(tx, accountId, 0, [{ from: next, to: next + 5 }]));
    expect(known(bench, targetId)).toBe(id);
    expect(ready(app, account(bench))).toBe(0);
    await enter(bench);
    expect(inRow(bench, targetId)).toBe(id);
  });
});

describe('an address that a stranger paid before it was given out', () => {
  it('waits for the untouched ones behind it, which are entered at once', async () => {
    const touched = bench.unassigned();
    await pay(bench, touched, 's');
    const { id, targetId } = await bench.invoice();
    expect(targetId).not.toBe(touched);
    expect(inRow(bench, targetId)).toBe(id);
    const next = await crashed(bench);
    expect(next.unassigned()).toBe(touched);
    expect(ready(next.app, account(next))).toBe(19);
    await next.app.store.close();
  });
});

describe('the twin of an address on the chain with the same keys', () => {
  it('is neither ready nor given out, and is entered as retired', async () => {
    const ethereum = await Bench.open('ETH', {}, { also: ['BSC'] });
    const bsc = await ethereum.beside('BSC');
    ethereum.rate('1');
    const before = ready(bsc.app, account(bsc));
    const twin = bsc.unassigned();
    await ethereum.invoice({ crypto: 'USDT_ERC20' });
    expect(ready(bsc.app, account(bsc))).toBe(before - 1);
    expect(inRow(bsc, twin)).toBeNull();
    const revived = await crashed(ethereum, 'ETH', { also: ['BSC'] });
    await enterGiven(revived.app, () => false);
    expect(inRow(revived, twin)).toBe(0);
    await enter(bsc);
    expect(inRow(bsc, twin)).toBe(0);
    await revived.app.store.close();
    await ethereum.app.store.close();
  });
});

it('no address is given out twice, whatever comes between: crashes, strangers, entering that is cut off, skipping', async () => {
  const step = fc.constantFrom('take', 'take', 'take', 'crash', 'stranger', 'enter', 'half', 'skip', 'throw');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      let now = await Bench.open();
      const given = new Map<number, number>();
      let n = 0;
      for (const what of steps) {
        n++;
        const { app } = now;
        if (ready(app, account(now)) < 3) await derive(app, account(now), 5);
        if (what === 'take') {
          const no = n;
          const { id } = await app.store.write((tx) => take(now, tx, no));
          expect(given.has(id)).toBe(false);
          given.set(id, no);
        } else if (what === 'throw') {
          const failing = app.store.write((tx) => {
            take(now, tx, 99);
            throw new Error('thrown');
          });
          await expect(failing).rejects.toThrow('thrown');
        } else if (what === 'crash') {
          const next = await crashed(now);
          await app.store.close();
          now = next;
        } else if (what === 'enter') await enter(now);
        else if (what === 'half') {
          let asked = 0;
          await enterGiven(app, () => asked++ > 0);
        } else if (what === 'skip') {
          const { next_index: next } = app.store.get(accountById, { id: now.accountId })!;
          await app.store.write((tx) => skip(tx, now.accountId, 0, [{ from: next, to: next + 2 }]));
        } else await pay(now, now.unassigned(), `s${n}`);
      }
      await enter(now);
      for (const [id, no] of given) expect([known(now, id), inRow(now, id)]).toEqual([no, no]);
      await now.app.store.close();
    }),
    { numRuns: 15 },
  );
});

it('what an earlier release gave out is entered already, and is not taken for given lately', () => {
  const db = new Database(':memory:');
  migrate(
    db,
    MIGRATIONS.filter(([name]) => name < '0081'),
  );
  for (const [id, invoice] of [
    [1, 41],
    [2, 42],
    [3, null],
  ]) {
    db.prepare(
      `INSERT INTO target (id, account_id, chain_key, branch, idx, script, address, invoice_id)
       VALUES (@id, 1, 'mainnet:BTC', 0, @id, CAST(@id AS BLOB), @id || '', @invoice)`,
    ).run({ id, invoice });
    if (invoice) db.prepare('INSERT INTO given (target_id) VALUES (?)').run(id);
  }
  migrate(db);
  rememberLately(db);
  expect(db.prepare('SELECT no, target_id, invoice_id FROM given').raw().all()).toEqual([
    [1, 1, null],
    [2, 2, null],
  ]);
  expect(db.prepare('SELECT value FROM setting WHERE key = ?').pluck().get(ENTERED_SETTING)).toBe('2');
  expect(db.prepare('SELECT target_id FROM given_lately').all()).toEqual([]);
  expect(db.prepare(targetById.sql).all(3)).toMatchObject([{ id: 3, invoice_id: null }]);
  expect(db.prepare(targetById.sql).all(2)).toMatchObject([{ id: 2, invoice_id: 42 }]);
  db.close();
});
