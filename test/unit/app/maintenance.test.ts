/** What nobody needs any more is removed, in bounded steps; what somebody may still need stays. */

import { describe, expect, it, vi } from 'vitest';
import { end, raise } from '../../../daemon/app/alerts.ts';
import { UNRATED } from '../../../daemon/app/books/rating.ts';
import { reconcile } from '../../../daemon/app/books/reconcile.ts';
import { expireAnswers } from '../../../daemon/app/idempotency.ts';
import { cancelForgotten } from '../../../daemon/app/invoices/invoices.ts';
import { freeRows } from '../../../daemon/app/maintenance.ts';
import { dropOldEvents } from '../../../daemon/app/notifications/shop-events.ts';
import { writePlan } from '../../../daemon/app/spends/stored-plan.ts';
import { INPUTS_KEPT_MAX, type SpendSeen } from '../../../daemon/domain/chain.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import type { SpendPlan } from '../../../daemon/domain/spend.ts';
import { alertsAbove } from '../../../daemon/store/queries/alert-notices.ts';
import { creditByOutpoint, insertCredit } from '../../../daemon/store/queries/credits.ts';
import { insertDebit } from '../../../daemon/store/queries/debits.ts';
import { insertIdempotentAnswer, insertWebhookAttempt } from '../../../daemon/store/queries/effects.ts';
import { insertPayingInput, payingTxsWithInput } from '../../../daemon/store/queries/paying.ts';
import { previousTx } from '../../../daemon/store/queries/previous.ts';
import { insertShopEvent } from '../../../daemon/store/queries/shop-events.ts';
import { insertSpend, insertVersion, signVersion } from '../../../daemon/store/queries/withdrawals.ts';
import { inOrder } from '../../../daemon/store/statement.ts';
import { Store } from '../../../daemon/store/store.ts';
import { slowness, turnsOf } from '../../bench/turns.ts';
import { startTestDaemon } from '../../support/daemon.ts';
import { cli } from '../cli-kit.ts';
import { Bench, said } from './bench.ts';

const DAY = 86_400_000;
const never = new AbortController().signal;
/** The product aims at 50; a collection of garbage may fall into a turn. */
const TURN_MS_MAX = 25;
const TRANSACTIONS = 300;
/** More payments than a page has, with the inputs of a payout to many; coins that take a tenth of a second to sort. */
const PAYMENTS = 260;
const INPUTS = 50;
const HELD = 200_000;

const rows = (bench: Bench, table: string): number =>
  (bench.app.store.get({ sql: `SELECT count(*) AS n FROM ${table}`, bind: () => [] }, {}) as { n: number }).n;

describe('transactions kept for the signer', () => {
  it('go when every coin of theirs is spent, a thousand blocks deep, and not before', async () => {
    const bench = await Bench.open();
    const base = Buffer.from('0200000001', 'hex');
    const [paid, other] = [await bench.invoice(), await bench.invoice()];
    // two coins of one transaction
    const coin = () => ({ ...bench.credit(paid.targetId, paid.units, 0, { txid: 'aa'.repeat(32), n: 0 }), base });
    const sibling = () => ({ ...bench.credit(other.targetId, other.units, 0, { txid: 'aa'.repeat(32), n: 1 }), base });
    await bench.tell({ blocks: 1, credits: () => [coin(), sibling()] });
    const chain_key = bench.chain.key;
    const input = { outpoint: `${'aa'.repeat(32)}'s coin:0`, chain_key, txid: '', limit: 9 };
    const kept = () =>
      bench.app.store.get(previousTx, { txid: 'aa'.repeat(32), chain_key }) !== undefined &&
      bench.app.store.all(payingTxsWithInput, input).length === 1;
    const spent = (n: number): SpendSeen => ({
      outpoint: `${'aa'.repeat(32)}:${n}`,
      txid: `${n}b`.repeat(32),
      block: bench.blocks.at(-1)!,
    });
    await bench.tell({ blocks: 1, spends: () => [spent(0)] });
    await bench.tell({ blocks: 1_010 });
    expect((await freeRows(bench.app, never)).transactions).toBe(0);
    expect(kept()).toBe(true);
    await bench.tell({ blocks: 1, spends: () => [spent(1)] });
    await bench.tell({ blocks: 1_007 });
    expect((await freeRows(bench.app, never)).transactions).toBe(0);
    await bench.tell({ blocks: 1 });
    expect((await freeRows(bench.app, never)).transactions).toBe(1);
    expect(kept()).toBe(false);
    expect(bench.app.store.all(payingTxsWithInput, input)).toEqual([]);
    expect((await freeRows(bench.app, never)).transactions).toBe(0);
  });
});

describe('attempts and closed alerts', () => {
  it('go after 400 days, whatever their number; what is open stays', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    const attempt = () =>
      app.store.write((tx) => {
        for (let n = 0; n < 250; n++)
          tx.run(insertWebhookAttempt, { webhook_id: 1, by_operator: false, started_at: bench.at });
      });
    await attempt();
    await raise(app, null, 'backup.late', 'closed', said('x'));
    await end(app, 'backup.late', 'closed');
    await raise(app, null, 'backup.late', 'open', said('x'));
    bench.at += 401 * DAY;
    await attempt();
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 250, alerts: 1 });
    expect(app.store.all(inOrder('webhook_attempt', ['webhook_id']), { webhook_id: 1 })).toHaveLength(250);
    expect(app.store.all(alertsAbove, { after: 0, limit: 9 }).map(({ subject }) => subject)).toEqual(['open']);
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 0, alerts: 0 });
  });

  it('go all the same, each once, when the disk fills in the middle again and again', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    await app.store.write((tx) => {
      for (let n = 0; n < 450; n++)
        tx.run(insertWebhookAttempt, { webhook_id: 1, by_operator: false, started_at: bench.at });
    });
    bench.at += 401 * DAY;
    const { write } = app.store;
    let room = 0;
    const spy = vi.spyOn(app.store, 'write').mockImplementation((work) => {
      room--;
      // as the store does it: the work is done, and then undone as a whole
      return write.call(app.store, (tx) => {
        const done = work(tx);
        if (room < 0) throw new Unavailable('The database did not take the write', 1);
        return done;
      }) as never;
    });
    const left: number[] = [];
    for (const steps of [0, 1, 3]) {
      room = steps;
      await expect(freeRows(app, never)).rejects.toBeInstanceOf(Unavailable);
      left.push(rows(bench, 'webhook_attempt'));
    }
    spy.mockRestore();
    expect(left).toEqual([450, 450, 250]);
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 250, alerts: 0 });
  });

  it('stops between two steps when the service stops', async () => {
    const bench = await Bench.open();
    expect(await freeRows(bench.app, AbortSignal.abort())).toEqual({ transactions: 0, attempts: 0, alerts: 0 });
  });
});

describe('a clock that jumps ten years ahead, and back', () => {
  it.each([
    ['while the chain is read', true],
    ['before it was read since the start', false],
  ])('removes nothing, %s', async (_, isRead) => {
    const bench = await Bench.open();
    const { app } = bench;
    if (isRead) await bench.tell({ medianTime: bench.at });
    else bench.chain.syncs = 0;
    await app.store.write((tx) => {
      tx.run(insertWebhookAttempt, { webhook_id: 1, by_operator: false, started_at: bench.at });
      const answer = { business_id: 1, route: 'POST /invoice', key: 'k', body_hash: new Uint8Array(32), body: '{}' };
      tx.run(insertIdempotentAnswer, { ...answer, status: 201, created_at: bench.at, expires_at: bench.at + DAY });
      const event = { uuid: 'u', type: 'invoice.paid', subject: 's', body: '{}', created_at: bench.at };
      tx.run(insertShopEvent, { ...event, business_id: bench.businessId });
    });
    await raise(app, null, 'backup.late', 'closed', said('x'));
    await end(app, 'backup.late', 'closed');
    await bench.invoice();
    bench.at += 3_650 * DAY;
    await freeRows(app, never);
    await expireAnswers(app);
    await app.store.write((tx) => {
      dropOldEvents(app, tx);
      cancelForgotten(app, tx);
    });
    bench.at -= 3_650 * DAY;
    for (const table of ['webhook_attempt', 'idempotency', 'alert', 'shop_event'])
      expect([table, rows(bench, table)]).toEqual([table, 1]);
    expect(rows(bench, "invoice WHERE status = 'unpaid'")).toBe(1);
  });

  it('leaves no rows that hold up the removal of others', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    const attempts = (at: number) =>
      app.store.write((tx) => {
        for (let n = 0; n < 150; n++)
          tx.run(insertWebhookAttempt, { webhook_id: 1, by_operator: false, started_at: at });
      });
    await attempts(bench.at + 3_650 * DAY);
    await attempts(bench.at);
    for (let n = 0; n < 150; n++) await raise(app, null, 'backup.failed', `${n}`, said('x'));
    await raise(app, null, 'backup.late', 'closed', said('x'));
    await end(app, 'backup.late', 'closed');
    bench.at += 401 * DAY;
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 150, alerts: 1 });
  });
});

describe('a night', () => {
  it("holds the event loop for a few milliseconds at a time, however many inputs the payers' transactions had", async () => {
    const bench = await Bench.open();
    const { app, chain } = bench;
    const { targetId } = await bench.invoice();
    await bench.tell({ blocks: 1, credits: () => [bench.credit(targetId, 1n, 0, { txid: 'aa' })] });
    const { id: _, ...credit } = app.store.get(creditByOutpoint, { outpoint: 'aa:0', chain_key: chain.key })!;
    const spent = { spent_txid: 'bb', spent_block_hash: 'cc', spent_block_height: bench.tip.height, counted: false };
    await app.store.write((tx) => {
      for (let n = 0; n < TRANSACTIONS; n++) {
        const txid = n.toString(16).padStart(64, '0');
        tx.run(insertCredit, { ...credit, ...spent, outpoint: `${txid}:0`, txid });
        for (let i = 0; i < INPUTS_KEPT_MAX; i++)
          tx.run(insertPayingInput, { outpoint: `${txid.slice(1)}f:${i}`, chain_key: chain.key, txid });
      }
    });
    await bench.tell({ blocks: 1_010 });
    const { longest } = await turnsOf(freeRows(app, never));
    expect(longest / slowness()).toBeLessThan(TURN_MS_MAX);
    expect(rows(bench, "paying_input WHERE txid LIKE '00%'")).toBe(0);
  });

  it('proves the books in turns as short, however many payments there were and coins the source holds', async () => {
    const bench = await Bench.open();
    const { app, chain, accountId: account_id, at } = bench;
    const of = { account_id, chain_key: chain.key, asset: 'BTC' as const };
    const coin = { outpoint: 'cc:0', units: 2n, script: new Uint8Array(20), address: 'a', index: 0 };
    const plan = writePlan({
      inputs: Array.from({ length: INPUTS }, () => coin),
      outputs: [{ kind: 'payout', address: 'b', script: new Uint8Array(20), units: 1n }],
    } as unknown as SpendPlan);
    await app.store.write((tx) => {
      for (let n = 0; n < PAYMENTS; n++) {
        const txid = n.toString(16).padStart(64, '0');
        const spend = {
          ...of,
          purpose: 'pay' as const,
          subject: null,
          conflict_key: txid,
          created_at: at,
          forwards: null,
        };
        const { id: spend_id } = tx.run(insertSpend, spend);
        const version = { spend_id, chain_key: chain.key, kind: 'pay', plan, approval: null, created_at: at } as const;
        const { id } = tx.run(insertVersion, { ...version, fee: 1n, size: 100 });
        tx.run(signVersion, { id, fee: 1n, size: 100, proof: null, txid, raw: '00', signed_at: at });
        const debit = {
          ...of,
          txid,
          target_id: null,
          block_height: bench.tip.height,
          block_hash: 'x',
          at,
          usd_rate: null,
          ...UNRATED,
        };
        tx.run(insertDebit, { ...debit, ref: `${txid}:paid`, kind: 'paid', units: 1n });
        tx.run(insertDebit, { ...debit, ref: `${txid}:fee`, kind: 'fee', units: n === 0 ? 2n : 1n });
      }
    });
    const { height, hash } = bench.tip;
    const coins = Array.from({ length: HELD }, (_, n) => ({ outpoint: `${n}:0`, units: 1n, height }));
    const record = { tip: { height, hash }, until: { height, hash }, coins, untold: [], lessMempool: false };
    Object.assign(chain.adapter, { holdings: { coins: async () => record } });
    const proof = reconcile(app, chain, never);
    const { longest } = await turnsOf(proof);
    expect(longest / slowness()).toBeLessThan(TURN_MS_MAX);
    const { lines, problems, missed } = await proof;
    expect(lines).toMatchObject([{ paidOut: BigInt(PAYMENTS), fees: BigInt(PAYMENTS + 1) }]);
    // the payment that took more than it pays, and as many of the unknown coins as are named
    expect(problems[0]).toMatch(/took 0.00000003 BTC and pays 0.00000001 BTC with a fee of 0.00000001 BTC/);
    expect(problems).toHaveLength(100);
    expect(problems[99]).toMatch(/the source holds 0.00000001 BTC that/);
    expect(missed).toBe(true);
  });
});

describe('the command', () => {
  it('lists what is stored, frees it, and compacts only while nothing runs', async () => {
    const service = await startTestDaemon();
    const listed = JSON.parse((await cli(service.dataDir, ['--json', 'maintenance'])).out);
    expect(listed.tables.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['target', 'setting']),
    );
    expect(listed.bytes).toBeGreaterThan(0);
    const freed = JSON.parse((await cli(service.dataDir, ['--json', 'maintenance', '--free'])).out);
    expect(freed).toEqual({ transactions: 0, attempts: 0, alerts: 0 });
    expect(await cli(service.dataDir, ['-y', 'maintenance', '--compact'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('stop the service first'),
    });
    await service.daemon.stop();
    // a service that is starting or stopping answers nobody, and has the folder all the same
    const store = await Store.open(service.dataDir);
    expect(await cli(service.dataDir, ['-y', 'maintenance', '--compact'])).toMatchObject({ code: 3 });
    await store.close();
    expect((await cli(service.dataDir, ['-y', 'maintenance', '--compact'])).out).toMatch(/MB before, .* MB now/);
    await service.resume();
    expect((await service.call('POST', '/invoice', { amount: 10 })).status).toBe(201);
    await service.stop();
  });
});
