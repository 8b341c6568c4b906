import { describe, expect, it } from 'vitest';
import {
  type InvoiceSubscriber,
  InvoiceSubscribers,
  SUBSCRIBERS_MAX,
} from '../../../daemon/app/notifications/invoice-subscribers.ts';

function watcher(): InvoiceSubscriber & { told: string[] } {
  const told: string[] = [];
  return { told, changed: () => told.push('changed'), ended: () => told.push('ended') };
}

describe('those who wait for news of an invoice', () => {
  it('are told of that one only, each of them, until they stop', () => {
    const live = new InvoiceSubscribers();
    const [a, b, other] = [watcher(), watcher(), watcher()];
    const stop = live.watch(1, a)!;
    live.watch(1, b);
    live.watch(2, other);
    live.changed(1);
    stop();
    stop();
    live.changed(1);
    live.changed(3);
    expect([a.told, b.told, other.told]).toEqual([['changed'], ['changed', 'changed'], []]);
    expect(live.size).toBe(2);
  });

  it('may stop while they are told', () => {
    const live = new InvoiceSubscribers();
    const b = watcher();
    const stop = live.watch(1, { changed: () => stop(), ended: () => {} })!;
    live.watch(1, b);
    live.changed(1);
    expect([b.told, live.size]).toEqual([['changed'], 1]);
  });

  it('are bounded, and a place that is left is free', () => {
    const live = new InvoiceSubscribers();
    const stops = Array.from({ length: SUBSCRIBERS_MAX }, (_, id) => live.watch(id, watcher())!);
    expect(live.watch(1, watcher())).toBeNull();
    stops[7]!();
    expect(live.watch(1, watcher())).not.toBeNull();
    expect(live.size).toBe(SUBSCRIBERS_MAX);
  });

  it('are told of the end', () => {
    const live = new InvoiceSubscribers();
    const [a, b] = [watcher(), watcher()];
    const stop = live.watch(1, { changed: () => {}, ended: () => stop() })!;
    live.watch(1, a);
    live.watch(2, b);
    live.close();
    expect([a.told, b.told]).toEqual([['ended'], ['ended']]);
  });
});
