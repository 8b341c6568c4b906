/** A service that starts in 1970, as machines without a battery do, until the clock is set. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

let service: TestDaemon;
beforeEach(async () => {
  service = await startTestDaemon();
});
afterEach(() => service.stop());

const make = () => service.call('POST', '/invoice', { amount: 80, crypto: 'LTC' });

it('takes no invoice in 1970, says so, and cancels none once the clock is set', async () => {
  const before = (await make()).body.id;
  const behind = service.now() - 30_000;
  await service.daemon.stop();
  service.advance(-behind);
  await service.resume();
  const refused = await make();
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('60');
  expect(JSON.stringify(refused.body)).toContain('New invoices wait until the clock of this service is set');
  const alerts = async () => JSON.stringify((await operatorClient(service.dataDir)('alert.list', {})).alerts);
  await until('the wrong clock is told', async () => (await alerts()).includes('clock.wrong'));
  service.advance(behind);
  expect((await make()).status).toBe(201);
  expect((await service.call('GET', `/invoice/${before}`)).body.status).toBe('unpaid');
});
