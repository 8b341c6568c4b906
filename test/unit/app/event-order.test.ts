/** Events of one subject that wait for an earlier one: they are not looked at before it, however many there are. */
import { beforeEach, expect, it } from 'vitest';
import { addEndpoint, deliveryPage, dueFor, recordDelivery } from '../../../daemon/app/notifications/shop-events.ts';
import type { EndpointRow } from '../../../daemon/store/queries/shop-events.ts';
import { Bench, HOUR } from './bench.ts';

let bench: Bench;
let endpoint: EndpointRow;
beforeEach(async () => {
  bench = await Bench.open('LTC');
  const { app } = bench;
  endpoint = await app.store.write((tx) => addEndpoint(app, tx, bench.businessId, 'https://shop.example/', []));
});

const answers = (id: number, status: number): Promise<void> =>
  bench.app.store.write((tx) => recordDelivery(bench.app, tx, id, { status, error: null, jitter: 0 }));

/** Type, state, and in how many seconds it is due, in their order. */
const waiting = () =>
  deliveryPage(bench.app, { limit: 20 })
    .reverse()
    .map(({ type, state, due_at }) => [type, state, (due_at - bench.at) / 1_000]);

it('are due with it when it is tried again, those that came before the failure and those that come after it', async () => {
  const { targetId, units } = await bench.invoice();
  const [created] = dueFor(bench.app, endpoint, 8);
  await answers(created!.id, 500);
  await answers(created!.id, 500);
  expect(waiting()).toEqual([
    ['invoice.created', 'waiting', 300],
    ['invoice.requested', 'waiting', 300],
  ]);
  bench.rate('60000');
  await bench.tell({ credits: () => [bench.credit(targetId, units, null)] });
  expect(waiting()).toEqual([
    ['invoice.created', 'waiting', 300],
    ['invoice.requested', 'waiting', 300],
    ['invoice.seen', 'waiting', 300],
  ]);
});

it.each([
  ['taken', [500, 204], 'delivered'],
  ['given up', new Array<number>(10).fill(500), 'failed'],
])('are due at once when it was %s', async (_, statuses, state) => {
  await bench.invoice();
  const [created] = dueFor(bench.app, endpoint, 8);
  for (const status of statuses) {
    bench.at += HOUR;
    await answers(created!.id, status);
  }
  expect(waiting().map(([, is]) => is)).toEqual([state, 'waiting']);
  expect(waiting()[1]).toEqual(['invoice.requested', 'waiting', 0]);
  expect(dueFor(bench.app, endpoint, 8).map(({ id }) => id)).toEqual([created!.id + 1]);
});

it('of another subject wait for nobody', async () => {
  await bench.invoice();
  const [created] = dueFor(bench.app, endpoint, 8);
  await answers(created!.id, 500);
  await bench.invoice();
  expect(waiting().map(([, , due]) => due)).toEqual([5, 5, 0, 0]);
});
