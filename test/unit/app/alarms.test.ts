/** Alerts about chains that are away and notifications that fail: when they come, how often, and when they go. */
import { describe, expect, it, vi } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { proveByClock } from '../../../daemon/app/books/reconcile.ts';
import { tellAway } from '../../../daemon/app/chains/away.ts';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { saveJobDone } from '../../../daemon/app/job-times.ts';
import { queueWebhook, recordAttempt, takeWebhooks } from '../../../daemon/app/notifications/webhooks.ts';
import { examine } from '../../../daemon/app/operator/doctor.ts';
import { tellLate, tellWaiting } from '../../../daemon/app/operator/watchdog.ts';
import { addClient } from '../../../daemon/app/shops/clients.ts';
import { tendStorage } from '../../../daemon/app/storage.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { closeAlertsOf, openAlerts } from '../../../daemon/store/queries/effects.ts';
import { Bench, HOUR } from './bench.ts';
import { COIN, PayBench } from './pay-bench.ts';

const MINUTE = 60_000;
const open = ({ app }: Bench) =>
  app.store
    .all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 })
    .map(({ kind, subject }) => [kind, subject]);

describe('a chain that is away', () => {
  it('is an alert after five minutes, and none when it is back', async () => {
    const bench = await Bench.open();
    const since = new Map<string, number>();
    const look = () => tellAway(bench.app, since);
    await look();
    bench.chain.lagging = true;
    for (let minute = 0; minute < 5; minute++) {
      await look();
      expect(open(bench)).toEqual([]);
      bench.at += MINUTE;
    }
    await look();
    expect(open(bench)).toEqual([['chain.away', 'mainnet:BTC']]);
    bench.at += MINUTE;
    await look();
    expect(open(bench)).toHaveLength(1);
    bench.chain.lagging = false;
    await bench.tell({ beganAt: bench.at });
    await look();
    expect(open(bench)).toEqual([]);
  });

  it('that nobody needs is none', async () => {
    const bench = await Bench.open();
    bench.chain.lagging = true;
    bench.chain.dormant = true;
    const since = new Map<string, number>();
    await tellAway(bench.app, since);
    bench.at += HOUR;
    await tellAway(bench.app, since);
    expect(open(bench)).toEqual([]);
  });
});

describe('a notification that fails', () => {
  async function fail(bench: Bench, origin: 'merchant' | 'client', url: string, status: number | null): Promise<void> {
    const { app } = bench;
    const business = app.directory.business(bench.businessId);
    await app.store.write((tx) => {
      const terms = { amount: 10_000_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null };
      const wanted = { ...terms, redirectUrl: null, webhookUrl: url, automaticRedirect: false, origin };
      queueWebhook(app, tx, createInvoice(app, business, wanted, tx));
    });
    await app.store.write((tx) => {
      for (const lane of ['shop', 'public'] as const) {
        for (const { attemptId } of takeWebhooks(app, tx, lane, 10)) {
          recordAttempt(app, tx, attemptId, { status, error: status === null ? 'the connection was refused' : null });
        }
      }
    });
  }

  it('is an alert once per host and hour, though it was seen', async () => {
    const bench = await Bench.open();
    await fail(bench, 'merchant', 'https://shop.example/a', 200);
    expect(open(bench)).toEqual([]);
    await fail(bench, 'merchant', 'https://shop.example/a', 500);
    await fail(bench, 'merchant', 'https://shop.example/b', null);
    await fail(bench, 'merchant', 'https://other.example/', 404);
    const both = [
      ['webhook.failed', 'other.example'],
      ['webhook.failed', 'shop.example'],
    ];
    expect(open(bench)).toEqual(both);
    await bench.app.store.write((tx) =>
      tx.run(closeAlertsOf, { kind: 'webhook.failed', subject: 'shop.example', seen_at: bench.at }),
    );
    await fail(bench, 'merchant', 'https://shop.example/c', 500);
    expect(open(bench)).toHaveLength(1);
    bench.at += HOUR + 1;
    bench.rate('60000');
    await fail(bench, 'merchant', 'https://shop.example/d', 500);
    expect(open(bench)).toHaveLength(2);
  });

  it('of a browser is none: anybody could ring it', async () => {
    const bench = await Bench.open();
    await fail(bench, 'client', 'https://shop.example/a', null);
    expect(open(bench)).toEqual([]);
  });
});

describe('a client ID whose cap is full', () => {
  it('is an alert, and another address is refused', async () => {
    const bench = await Bench.open('BTC', { 'browser.open_invoices_max': '2' });
    const { app } = bench;
    const business = app.directory.business(bench.businessId);
    const { id: clientId, public_id: publicId } = await app.store.write((tx) =>
      addClient(app, tx, business, { name: 'website', origins: ['https://shop.example'], hosts: [] }),
    );
    const ask = (asker: string) =>
      withAddress(app, (tx) => {
        const terms = { amount: 10_000_000_000n, currency: 'USD', crypto: 'ALL', dueAt: null, closeUrl: null };
        const browser = {
          redirectUrl: null,
          webhookUrl: null,
          automaticRedirect: false,
          origin: 'client',
          clientId,
        } as const;
        return requestPayment(
          app,
          business,
          createInvoice(app, business, { ...terms, ...browser }, tx),
          () => 'BTC',
          tx,
          false,
          asker,
        );
      });
    await ask('203.0.113.1');
    await ask('203.0.113.2');
    await expect(ask('203.0.113.3')).rejects.toThrow('This shop has too many open invoices at the moment');
    await app.store.write(() => {});
    expect(open(bench)).toEqual([['browser.full', publicId]]);
  });
});

describe('a proof that cannot be made by the clock', () => {
  it('is an alert', async () => {
    const bench = await Bench.open();
    Object.assign(bench.chain.adapter, {
      holdings: { coins: () => Promise.reject(new Unavailable('the node is busy', 1)) },
    });
    expect(await proveByClock(bench.app, bench.chain, new AbortController().signal)).toBe(false);
    expect(open(bench)).toEqual([['ledger.unproved', 'mainnet:BTC']]);
  });
});

describe('a write-ahead log that cannot begin anew', () => {
  const MB = 1_048_576;
  it.each([
    ['that grew little', { logBytes: 200 * MB, logStuck: null }, null],
    ['that a reader has kept for less than an hour', { logBytes: 90 * MB, logStuck: { ms: HOUR, error: null } }, null],
    [
      'that a reader has kept for hours',
      { logBytes: 90 * MB, logStuck: { ms: 5.5 * HOUR, error: null } },
      /grown to 94 MB, and could not begin anew for 5 hours: a program reads the database without an end\. .*lsof/,
    ],
    [
      'that has grown much',
      { logBytes: 300 * MB, logStuck: null },
      /grown to 314 MB: a program reads the database without an end/,
    ],
    [
      'that the disk does not let into the database',
      { logBytes: 300 * MB, logStuck: { ms: 2 * HOUR, error: 'disk I/O error' } },
      /2 hours: it cannot be folded into the database \(disk I\/O error\)\. Look at the log of the system/,
    ],
  ])('%s', async (_, health, expected) => {
    const { app } = await Bench.open();
    const usual = app.store.health();
    const spy = vi.spyOn(app.store, 'health').mockReturnValue({ ...usual, ...health });
    await tendStorage(app);
    const told = (): string[] =>
      [0, 1, 2].flatMap((rank) =>
        app.store.all(openAlerts, { rank, id: Number.MAX_SAFE_INTEGER, limit: 9 }).map(({ message }) => message),
      );
    expect(told()).toEqual(expected === null ? [] : [expect.stringMatching(expected)]);
    const found = (await examine(app, '/nowhere')).filter(({ text }) => text.text.includes('write-ahead'));
    expect(found).toEqual(expected === null ? [] : [expect.objectContaining({ subject: 'disk', level: 'problem' })]);
    spy.mockReturnValue(usual);
    await tendStorage(app);
    expect(told()).toEqual([]);
  });
});

describe('a job that is not done', () => {
  it('is an alert six hours after its time, and none once it was done', async () => {
    const bench = await Bench.open('BTC', { 'backup.folder': '/backups', 'backup.schedule': '0 3 * * *' });
    const { app } = bench;
    bench.at = new Date(2030, 0, 2, 3).getTime();
    await saveJobDone(app, 'backup', bench.at);
    await saveJobDone(app, 'proof', bench.at);
    bench.at += 24 * HOUR + 5 * HOUR;
    await tellLate(app);
    expect(open(bench)).toEqual([]);
    bench.at += HOUR + MINUTE;
    await tellLate(app);
    expect(open(bench).toSorted()).toEqual([
      ['backup.late', '/backups'],
      ['ledger.late', 'nightly'],
    ]);
    await saveJobDone(app, 'backup', bench.at);
    await tellLate(app);
    expect(open(bench)).toEqual([['ledger.late', 'nightly']]);
    await saveJobDone(app, 'proof', bench.at);
    await tellLate(app);
    expect(open(bench)).toEqual([]);
  });
});

describe('a withdrawal', () => {
  it('without a decision or a signature for 15 minutes is an alert, until it has one', async () => {
    const pay = await PayBench.open();
    const { app, bench, signer } = pay;
    await pay.deposits([COIN]);
    await pay.round();
    signer.state = 'locked';
    const id = await pay.request(COIN / 2n);
    bench.at += 14 * MINUTE;
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
    bench.at += 2 * MINUTE;
    await tellWaiting(app);
    expect(open(bench)).toEqual([['withdrawal.waiting', `${bench.businessId}`]]);
    await pay.approve(id);
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
    await pay.round();
    bench.at += 16 * MINUTE;
    await pay.round();
    await tellWaiting(app);
    expect(open(bench)).toEqual([['withdrawal.unsigned', `${bench.businessId}`]]);
    signer.state = 'unlocked';
    await pay.round();
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
  });
});
