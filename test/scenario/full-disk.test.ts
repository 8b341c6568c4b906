/** A disk that is full while the service runs: the operator sees it, can act, and the service stops and goes on. */
import type Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { textOf } from '../../daemon/domain/messages.ts';
import { Reserve } from '../../daemon/store/reserve.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { catching } from '../unit/store/opened.ts';

let service: TestDaemon;
let db: Database.Database;
beforeEach(async () => {
  const { made, db: connection } = await catching(() => startTestDaemon());
  service = made;
  db = connection;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.stop();
});

/** Invoices until the disk takes no more. */
async function sellUntilRefused(): Promise<void> {
  await until('a write is refused', async () => {
    const { status } = await service.call('POST', '/invoice', {
      amount: 10,
      close_url: `https://x.test/${'x'.repeat(900)}`,
    });
    return status === 503;
  });
}

function fill(): void {
  vi.spyOn(Reserve.prototype, 'freeBytes').mockReturnValue(0);
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
}

describe('a full disk', () => {
  it('is what status and alerts say, though nothing can be stored, and is stored once there is room', async () => {
    const call = operatorClient(service.dataDir);
    expect((await call('status', {})).storage.problem).toBeNull();
    fill();
    await sellUntilRefused();
    const status = await call('status', {});
    expect(status.storage.problem).toBe('the disk is full');
    expect(status.open_alerts).toBeGreaterThan(0);
    const { alerts } = await call('alert.list', {});
    const full = alerts.find(({ kind }) => kind === 'storage.full');
    expect(full && textOf(full.message)).toContain('Free some room');
    vi.restoreAllMocks();
    db.pragma('max_page_count = 1000000');
    await service.restart();
    const again = operatorClient(service.dataDir);
    expect((await again('status', {})).storage.problem).toBeNull();
    expect((await service.call('POST', '/invoice', { amount: 10 })).status).toBe(201);
  });

  it('does not hold up the stop', async () => {
    fill();
    await sellUntilRefused();
    const began = performance.now();
    await service.daemon.stop();
    expect(performance.now() - began).toBeLessThan(20_000);
    vi.restoreAllMocks();
    await service.resume();
    expect((await service.call('POST', '/invoice', { amount: 10 })).status).toBe(201);
  });
});
