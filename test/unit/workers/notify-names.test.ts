/** Names that a stranger chooses: whoever answers them slowly, or never, holds nobody up. */
import { createSocket, type Socket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import type { Resolve } from '../../../daemon/app/notifications/destinations.ts';
import { queueWebhook } from '../../../daemon/app/notifications/webhooks.ts';
import { webhookOf } from '../../../daemon/store/queries/effects.ts';
import { addressesInHosts, nameResolver } from '../../../daemon/workers/notify/names.ts';
import { WebhookWorker } from '../../../daemon/workers/webhooks.ts';
import { until } from '../../support/daemon.ts';
import { Bench } from '../app/bench.ts';

const NEVER = new AbortController().signal;

/** A name server that hears every question and answers none. */
let silent: Socket;
let server: string;
let asked: number;
let folder: string;
let hostsFile: string;
beforeAll(async () => {
  silent = createSocket('udp4');
  silent.on('message', () => {
    asked += 1;
  });
  asked = 0;
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  server = `127.0.0.1:${silent.address().port}`;
  folder = await mkdtemp(join(tmpdir(), 'countinghouse-names-'));
  hostsFile = join(folder, 'hosts');
  await writeFile(
    hostsFile,
    '127.0.0.1 localhost\n192.0.2.7\tShop.Lan shop # the till\n2001:db8::7 shop.lan\n# 192.0.2.8 shop\n',
  );
});
afterAll(async () => {
  silent.close();
  await rm(folder, { recursive: true });
});

describe('a name', () => {
  it('of the hosts file needs no name server, however it is written there', async () => {
    const resolve = nameResolver({ servers: [server], hostsFile });
    expect(await resolve('SHOP.lan', NEVER)).toEqual([{ address: '192.0.2.7' }, { address: '2001:db8::7' }]);
    expect(await resolve('shop', NEVER)).toEqual([{ address: '192.0.2.7' }]);
    expect(asked).toBe(0);
  });

  it('of this machine is never asked for', async () => {
    const resolve = nameResolver({ servers: [server], hostsFile: '/nonexistent' });
    for (const name of ['localhost', 'shop.localhost']) {
      expect(await resolve(name, NEVER)).toEqual([{ address: '127.0.0.1' }, { address: '::1' }]);
    }
    expect(asked).toBe(0);
  });

  it('is given up as soon as the caller gives it up', async () => {
    const resolve = nameResolver({ servers: [server], hostsFile });
    const abort = new AbortController();
    const asking = resolve('slow.example', abort.signal);
    await until('the server is asked', async () => asked > 0);
    abort.abort();
    await expect(asking).rejects.toThrow('the name has no address');
  });

  it('is given up by itself', async () => {
    const began = performance.now();
    const resolve = nameResolver({ servers: [server], hostsFile });
    await expect(resolve('slower.example', NEVER)).rejects.toThrow('the name has no address');
    expect(performance.now() - began).toBeLessThan(9_000);
  });

  it.each([
    ['', 'shop', []],
    ['192.0.2.1 a b c\n', 'c', ['192.0.2.1']],
    ['192.0.2.1#a\n', 'a', []],
    ['not-an-address a\n', 'a', []],
    ['192.0.2.1 ab\n', 'a', []],
  ])('in the hosts file %j: %s', (text, name, addresses) => {
    expect(addressesInHosts(text, name)).toEqual(addresses);
  });
});

describe('a notification of a shop', () => {
  it('is sent while hundreds of strangers wait for names that nobody answers', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    const held: string[] = [];
    const resolve: Resolve = (host, signal) => {
      if (host === 'shop.test') return Promise.resolve([{ address: '127.0.0.1' }]);
      held.push(host);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
    };
    const worker = new WebhookWorker(app, { allowHosts: [], ownPorts: [], nodeHosts: [], socksProxy: null, resolve });
    const business = app.directory.business(bench.businessId);
    const queue = (origin: 'merchant' | 'client', url: string) =>
      app.store.write((tx) => {
        const terms = { amount: 10_000_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null };
        const wanted = { ...terms, redirectUrl: null, webhookUrl: url, automaticRedirect: false, origin };
        const invoice = createInvoice(app, business, wanted, tx);
        queueWebhook(app, tx, invoice);
        return invoice.id;
      });
    for (let n = 0; n < 300; n++) await queue('client', `https://h${n}.example/`);
    const id = await queue('merchant', 'https://shop.test/hook');
    try {
      worker.wake();
      await until(
        "the shop's is attempted",
        async () => app.store.get(webhookOf, { invoice_id: id })?.state === 'attempted',
      );
      // a lane of four: nobody else's name is asked for before one of these is done
      await until('strangers are attempted', async () => held.length === 4);
      expect(new Set(held).size).toBe(4);
    } finally {
      await worker.stop();
    }
  });

  it('holds two places, however many notifications it gets: another host has its turn', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    const held: string[] = [];
    const resolve: Resolve = (host, signal) => {
      held.push(host);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
    };
    const worker = new WebhookWorker(app, { allowHosts: [], ownPorts: [], nodeHosts: [], socksProxy: null, resolve });
    const business = app.directory.business(bench.businessId);
    const queue = (url: string) =>
      app.store.write((tx) => {
        const terms = { amount: 10_000_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null };
        const wanted = {
          ...terms,
          redirectUrl: null,
          webhookUrl: url,
          automaticRedirect: false,
          origin: 'merchant' as const,
        };
        queueWebhook(app, tx, createInvoice(app, business, wanted, tx));
      });
    for (let n = 0; n < 40; n++) await queue(`https://slow.example/${n}`);
    for (let n = 0; n < 3; n++) await queue(`https://other${n}.example/`);
    try {
      worker.wake();
      await until('every host is asked for', async () => new Set(held).size === 4);
      worker.wake();
      await queue('https://late.example/');
      worker.wake();
      await until('the late one is asked for', async () => held.includes('late.example'));
      expect(held.filter((host) => host === 'slow.example')).toHaveLength(2);
    } finally {
      await worker.stop();
    }
  });
});
