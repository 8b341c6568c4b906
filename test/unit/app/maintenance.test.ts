/** What nobody needs any more is removed, in bounded steps; what somebody may still need stays. */
import { describe, expect, it } from 'vitest';
import { end, raise } from '../../../daemon/app/alerts.ts';
import { freeRows } from '../../../daemon/app/maintenance.ts';
import type { SpendSeen } from '../../../daemon/domain/chain.ts';
import { alertsAbove } from '../../../daemon/store/queries/alert-notices.ts';
import { insertWebhookAttempt, webhookAttempts } from '../../../daemon/store/queries/effects.ts';
import { payingTxsWithInput } from '../../../daemon/store/queries/paying.ts';
import { previousTx } from '../../../daemon/store/queries/previous.ts';
import { startTestDaemon } from '../../support/daemon.ts';
import { cli } from '../cli-kit.ts';
import { Bench } from './bench.ts';

const DAY = 86_400_000;
const never = new AbortController().signal;

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
    await raise(app, 'a', 'closed', 'x');
    await end(app, 'a', 'closed');
    await raise(app, 'a', 'open', 'x');
    bench.at += 401 * DAY;
    await attempt();
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 250, alerts: 1 });
    expect(app.store.all(webhookAttempts, { webhook_id: 1 })).toHaveLength(250);
    expect(app.store.all(alertsAbove, { id: 0, limit: 9 }).map(({ subject }) => subject)).toEqual(['open']);
    expect(await freeRows(app, never)).toEqual({ transactions: 0, attempts: 0, alerts: 0 });
  });

  it('stops between two steps when the service stops', async () => {
    const bench = await Bench.open();
    expect(await freeRows(bench.app, AbortSignal.abort())).toEqual({ transactions: 0, attempts: 0, alerts: 0 });
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
    expect((await cli(service.dataDir, ['-y', 'maintenance', '--compact'])).out).toMatch(/MB before, .* MB now/);
    await service.resume();
    expect((await service.call('POST', '/invoice', { amount: 10 })).status).toBe(201);
    await service.stop();
  });
});
