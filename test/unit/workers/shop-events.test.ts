/** The worker of shop events while the database fails. Its sending is tested over HTTP in test/api. */
import { expect, it } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { ShopEventWorker } from '../../../daemon/workers/shop-events.ts';
import { until } from '../../support/until.ts';

const policy = { allowHosts: [], ownPorts: [], nodeHosts: [], socksProxy: null };

/** A worker with one endpoint, and how often its deliveries were looked for. */
function bench(trouble: object | null) {
  const counts = { looks: 0, logged: 0 };
  const look = (): never => {
    counts.looks++;
    throw new Error('disk I/O error');
  };
  const app = {
    directory: { allEndpoints: () => [{ id: 1, disabled_at: null }] },
    store: { health: () => ({ trouble }), get: look, all: look },
    log: { error: () => counts.logged++ },
    now: () => 0,
  } as unknown as App;
  return { worker: new ShopEventWorker(app, policy), counts };
}

it('logs that its deliveries could not be read, and goes on', () => {
  const { worker, counts } = bench(null);
  worker.wake();
  expect(counts).toEqual({ looks: 1, logged: 1 });
});

it('sends nothing while no outcome could be stored: the same event would be sent every few seconds', () => {
  const { worker, counts } = bench({ kind: 'full', message: 'the disk is full' });
  worker.wake();
  expect(counts).toEqual({ looks: 0, logged: 0 });
});

it('looks only at the endpoint that an attempt went to once it is over, however many others there are', async () => {
  const looks: number[] = [];
  const delivery = { id: 7, uuid: 'u', body: '{}', subject: 's' };
  const all = (_: unknown, { endpoint_id }: { endpoint_id: number }): object[] => {
    looks.push(endpoint_id);
    return endpoint_id === 1 && looks.length === 1 ? [delivery] : [];
  };
  const endpoint = { disabled_at: null, url: 'http://127.0.0.1/', secret: 'whsec_', former_secret: null };
  const app = {
    directory: { allEndpoints: () => [1, 2, 3].map((id) => ({ ...endpoint, id })) },
    store: { health: () => ({ trouble: null }), get: () => undefined, all, write: () => Promise.resolve() },
    log: { error: () => undefined, info: () => undefined },
    now: () => 0,
  } as unknown as App;
  const worker = new ShopEventWorker(app, policy);
  worker.wake();
  const first = looks.length;
  await until('it looks again', async () => looks.length > first);
  expect(new Set(looks.slice(first))).toEqual(new Set([1]));
});
