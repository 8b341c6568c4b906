/** Alerts about chains that are away and notifications that fail: when they come, how often, and when they go. */
import { tmpdir } from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { raise } from '../../../daemon/app/alerts.ts';
import { proveByClock } from '../../../daemon/app/books/reconcile.ts';
import { tellAway } from '../../../daemon/app/chains/away.ts';
import { tellUnchecked } from '../../../daemon/app/chains/unchecked.ts';
import { createInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { saveJobDone } from '../../../daemon/app/job-times.ts';
import { tellInbox } from '../../../daemon/app/notifications/inbox-deposits.ts';
import { queueWebhook, recordAttempt, WebhookTurns } from '../../../daemon/app/notifications/webhooks.ts';
import { examine } from '../../../daemon/app/operator/doctor.ts';
import { showInvoice } from '../../../daemon/app/operator/invoices.ts';
import { markSeen } from '../../../daemon/app/operator/lists.ts';
import { chainStatuses } from '../../../daemon/app/operator/status.ts';
import { tellLate, tellUnconfirmed, tellWaiting } from '../../../daemon/app/operator/watchdog.ts';
import { addClient } from '../../../daemon/app/shops/clients.ts';
import { tendStorage } from '../../../daemon/app/storage.ts';
import { keepDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { toIso } from '../../../daemon/domain/calendar.ts';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { detailJson } from '../../../daemon/http/operator/present.ts';
import { rescanAccount, stepRescan } from '../../../daemon/store/queries/businesses.ts';
import { depositsToDecide } from '../../../daemon/store/queries/credits.ts';
import { closeAlertsOf, openAlerts } from '../../../daemon/store/queries/effects.ts';
import { Jobs } from '../../../daemon/workers/jobs.ts';
import { slowness, turnsOf } from '../../bench/turns.ts';
import { Bench, HOUR } from './bench.ts';
import { COIN, PayBench } from './pay-bench.ts';
import { PayChain, type PayTx } from './pay-chain.ts';

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

describe('a view that one operator alone tells', () => {
  const UNCHECKED = [['chain.unchecked', 'mainnet:BTC']];

  /** A minute passes, in which the chain is synced. */
  async function minute(bench: Bench): Promise<void> {
    bench.at += MINUTE;
    await bench.tell({ beganAt: bench.at });
    await tellUnchecked(bench.app);
  }

  async function withOperators(
    named: number,
  ): Promise<{ bench: Bench; operators: { named: number; speaking: number } }> {
    const bench = await Bench.open();
    const operators = { named, speaking: named };
    bench.chain.adapter.operators = () => operators;
    await minute(bench);
    return { bench, operators };
  }

  const isSaid = async ({ app }: Bench): Promise<boolean[]> => {
    const found = await examine(app, tmpdir());
    return [
      found.some(({ text }) => text.code === 'doctor.source_unchecked'),
      chainStatuses(app)[0]?.unchecked ?? false,
    ];
  };
  const sinceOf = ({ app }: Bench, { slug }: { slug: string }) =>
    detailJson(app, showInvoice(app, slug)).unchecked_since;

  it('is said after ten minutes, in an alert, by doctor and in the list of sources, until a second one is back', async () => {
    const { bench, operators } = await withOperators(3);
    const invoice = await bench.invoice({ crypto: 'BTC' });
    operators.speaking = 1;
    for (let minutes = 0; minutes < 10; minutes++) {
      await minute(bench);
      expect(open(bench)).toEqual([]);
    }
    expect(await isSaid(bench)).toEqual([false, false]);
    expect(sinceOf(bench, invoice)).toBeNull();
    await minute(bench);
    expect(open(bench)).toEqual(UNCHECKED);
    expect(await isSaid(bench)).toEqual([true, true]);
    expect(sinceOf(bench, invoice)).toBe(toIso(bench.at - 10 * MINUTE));
    operators.speaking = 2;
    await minute(bench);
    expect(open(bench)).toEqual([]);
    expect(await isSaid(bench)).toEqual([false, false]);
    expect(sinceOf(bench, invoice)).toBeNull();
  });

  it('is nothing to tell where a connection is lost for minutes, again and again', async () => {
    const { bench, operators } = await withOperators(2);
    for (let times = 0; times < 30; times++) {
      operators.speaking = times % 9 === 0 ? 2 : 1;
      await minute(bench);
      expect(open(bench)).toEqual([]);
    }
  });

  it('is nothing to tell where one operator alone is named', async () => {
    const { bench } = await withOperators(1);
    for (let minutes = 0; minutes < 20; minutes++) await minute(bench);
    expect(open(bench)).toEqual([]);
  });

  it('is told as a chain that is away where nobody speaks, and after a restart only once it has lasted', async () => {
    const { bench, operators } = await withOperators(2);
    operators.speaking = 0;
    bench.chain.lagging = true;
    for (let minutes = 0; minutes < 20; minutes++) {
      bench.at += MINUTE;
      await tellUnchecked(bench.app);
    }
    expect(open(bench)).toEqual([]);
    expect(await isSaid(bench)).toEqual([false, false]);
    bench.chain.lagging = false;
    operators.speaking = 1;
    await minute(bench);
    expect(open(bench)).toEqual(UNCHECKED);
    // as at a start, when nobody was asked yet: the alert of before stays
    bench.chain.uncheckedSince = null;
    await minute(bench);
    expect(open(bench)).toEqual(UNCHECKED);
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
        for (const { attemptId } of new WebhookTurns().take(app, tx, lane, 10, () => false)) {
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

  it.each([301, 302, 308])('is an alert where the host leads elsewhere (%i), which is not followed', async (status) => {
    const bench = await Bench.open();
    await fail(bench, 'merchant', 'http://shop.example/a', status);
    expect(open(bench)).toEqual([['webhook.failed', 'shop.example']]);
  });

  it('is an alert, although a clock that was ahead dated one of the same host', async () => {
    const bench = await Bench.open();
    bench.at += 90 * 24 * HOUR;
    bench.rate('60000');
    await fail(bench, 'merchant', 'https://shop.example/a', 500);
    await fail(bench, 'merchant', 'https://shop.example/a', 200);
    expect(open(bench)).toEqual([]);
    bench.at -= 90 * 24 * HOUR;
    // the newest invoice would keep this one from being made
    bench.chain.latestNow = bench.at + 2 * HOUR;
    await fail(bench, 'merchant', 'https://shop.example/b', 500);
    expect(open(bench)).toEqual([['webhook.failed', 'shop.example']]);
  });

  it('after another one is counted in the open alert, with its reason', async () => {
    const bench = await Bench.open();
    const texts = () =>
      bench.app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 }).map((row) => textOf(row.message));
    await fail(bench, 'merchant', 'https://shop.example/a', 500);
    await fail(bench, 'merchant', 'https://shop.example/b', 500);
    await fail(bench, 'merchant', 'https://shop.example/c', null);
    expect(texts()).toEqual([
      expect.stringMatching(/: 3 notifications to shop.example failed .*: the connection was refused/),
    ]);
    await fail(bench, 'merchant', 'https://shop.example/d', 200);
    expect(texts()).toEqual([]);
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
          [asker],
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

describe('the proof of a night', () => {
  it('is repeated every night, and tried again for another chain alone that has been away for weeks', async () => {
    const bench = await Bench.open();
    await bench.tell();
    const dead = Object.assign(Object.create(bench.chain), { key: 'mainnet:LTC', syncedAt: 0 });
    const app = Object.create(bench.app, { chains: { value: { all: () => [bench.chain, dead] } } });
    let proofs = 0;
    Object.defineProperty(bench.chain.adapter, 'holdings', {
      get() {
        proofs++;
      },
    });
    const jobs = new Jobs(app);
    const counts: number[] = [];
    for (let night = 0; night < 3; night++) {
      for (let tries = 0; tries < 4; tries++) await expect(jobs.night()).rejects.toThrow('not proved yet: mainnet:LTC');
      counts.push(proofs);
      bench.at += 24 * HOUR;
    }
    await jobs.stop();
    expect(counts).toEqual([1, 2, 3]);
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
        app.store.all(openAlerts, { rank, id: Number.MAX_SAFE_INTEGER, limit: 9 }).map((row) => textOf(row.message)),
      );
    expect(told()).toEqual(expected === null ? [] : [expect.stringMatching(expected)]);
    const found = (await examine(app, '/nowhere')).filter(({ text }) => textOf(text).includes('write-ahead'));
    expect(found).toEqual(expected === null ? [] : [expect.objectContaining({ subject: 'disk', level: 'problem' })]);
    spy.mockReturnValue(usual);
    await tendStorage(app);
    expect(told()).toEqual([]);
  });
});

describe('a full disk', () => {
  it('is over for a service that was started when there was room again', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    await raise(app, null, 'storage.full', 'data directory', message('storage.low', { megabytes: 0 }));
    const health = { ...app.store.health(), trouble: { kind: 'full' as const, message: 'the disk is full' } };
    const full = vi.spyOn(app.store, 'health').mockReturnValue(health);
    await tendStorage(app);
    expect(open(bench)).toEqual([['storage.full', 'data directory']]);
    full.mockRestore();
    await tendStorage(app);
    expect(open(bench)).toEqual([]);
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

  it('is an alert although another job of every minute fails', async () => {
    const bench = await Bench.open();
    await saveJobDone(bench.app, 'proof', bench.at);
    bench.at += 48 * HOUR;
    bench.chain.adapter.health = () => {
      throw new Error('a bug');
    };
    await new Jobs(bench.app).minute();
    expect(open(bench)).toEqual([['ledger.late', 'nightly']]);
  });
});

describe('a withdrawal', () => {
  it('is told of a withdrawal that was sent and is in no block for a day, until one has it', async () => {
    const pay = await PayBench.open();
    const { app, bench } = pay;
    await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    Object.assign(bench.chain, { syncedAt: bench.at });
    bench.at += 24 * HOUR - MINUTE;
    await tellUnconfirmed(app);
    expect([pay.row(id).state, open(bench)]).toEqual(['broadcast', []]);
    bench.at += 2 * MINUTE;
    // nobody knows what blocks have meanwhile
    bench.chain.away = true;
    await tellUnconfirmed(app);
    expect(open(bench)).toEqual([]);
    bench.chain.away = false;
    for (let i = 0; i < 2; i++) await tellUnconfirmed(app);
    expect(open(bench)).toEqual([['withdrawal.unconfirmed', `${id}`]]);
    await pay.replace(id, 'speed-up');
    await pay.round();
    await tellUnconfirmed(app);
    expect(open(bench)).toEqual([['withdrawal.unconfirmed', `${id}`]]);
    await pay.chain.mine();
    await pay.sync();
    await tellUnconfirmed(app);
    expect([pay.row(id).state, open(bench)]).toEqual(['completed', []]);
  });

  it.each([
    ['BTC', 'withdrawal.unconfirmed'],
    ['BCH', 'withdrawal.unconfirmed_final'],
  ] as const)('of %s that no block has is told of by %s: not every chain knows a higher fee', async (chain, code) => {
    const pay = await PayBench.open(chain);
    const { app, bench } = pay;
    await pay.deposits([COIN]);
    await pay.withdraw(COIN / 2n);
    await pay.round();
    bench.at += 25 * HOUR;
    Object.assign(bench.chain, { syncedAt: bench.at });
    await tellUnconfirmed(app);
    const told = app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 });
    expect(told.map(({ kind, message: { code: told } }) => [kind, told])).toEqual([['withdrawal.unconfirmed', code]]);
  });

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
    const other = await pay.request(COIN / 4n);
    bench.at += 16 * MINUTE;
    await tellWaiting(app);
    const texts = () => app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 }).map((row) => textOf(row.message));
    expect(texts()).toEqual([expect.stringContaining(`withdrawals wait for you, from ${id} to ${other}`)]);
    await pay.approve(id);
    await tellWaiting(app);
    expect(texts()).toEqual([expect.stringContaining(`withdrawal ${other} waits for you`)]);
    await pay.reject(other);
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

  it.each([
    { what: 'was away for a day', hours: 24 },
    { what: 'is not back a day before its approval ends', hours: 6 * 24, seen: true },
  ])('that a signing machine has not signed is an alert once that $what', async ({ hours, seen = false }) => {
    const pay = await PayBench.open();
    const { app, bench, signer } = pay;
    await pay.deposits([COIN]);
    await pay.round();
    const since = bench.at;
    const away = () => {
      signer.away = { name: 'At home', seenAt: seen ? bench.at : since };
    };
    signer.state = 'locked';
    away();
    const id = await pay.request(COIN / 2n);
    await pay.approve(id, undefined, 7 * 24 * HOUR);
    await pay.round();
    expect(pay.stored(id).problem?.code).toBe('wait.machine_away');
    bench.at = since + hours * HOUR - MINUTE;
    away();
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
    bench.at += 2 * MINUTE;
    away();
    await tellWaiting(app);
    expect(open(bench)).toEqual([['withdrawal.unsigned', `${bench.businessId}`]]);
    signer.away = undefined;
    signer.state = 'unlocked';
    await pay.round();
    await tellWaiting(app);
    expect([pay.row(id).state, open(bench)]).toEqual(['broadcast', []]);
  });

  it('that a signing machine has not signed is an alert after the time that the merchant sets', async () => {
    const hours = 3;
    const chain = Object.assign(new PayChain('BTC'), { flags: { 'wallet.away_alert_hours': `${hours}` } });
    const pay = await PayBench.on<PayTx, PayChain>(chain);
    const { app, bench, signer } = pay;
    await pay.deposits([COIN]);
    signer.state = 'locked';
    signer.away = { name: 'At home', seenAt: bench.at };
    await pay.approve(await pay.request(COIN / 2n), undefined, 7 * 24 * HOUR);
    await pay.round();
    const { seenAt } = signer.away;
    bench.at = seenAt! + hours * HOUR - MINUTE;
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
    bench.at += MINUTE;
    await tellWaiting(app);
    expect(open(bench)).toEqual([['withdrawal.unsigned', `${bench.businessId}`]]);
  });

  it('that a signing machine has not signed is an alert when the approval of any of them would end, not only of the oldest', async () => {
    const pay = await PayBench.open();
    const { app, bench, signer } = pay;
    await pay.deposits([COIN, COIN]);
    signer.state = 'locked';
    signer.away = { name: 'At home', seenAt: bench.at };
    const holds = [7 * 24 * HOUR, 25 * HOUR];
    for (const ms of holds) await pay.approve(await pay.request(COIN / 2n), undefined, ms);
    await pay.round();
    bench.at += 30 * MINUTE;
    signer.away = { name: 'At home', seenAt: bench.at };
    await tellWaiting(app);
    expect(open(bench)).toEqual([]);
    bench.at += HOUR;
    signer.away = { name: 'At home', seenAt: bench.at };
    await tellWaiting(app);
    expect(open(bench)).toEqual([['withdrawal.unsigned', `${bench.businessId}`]]);
  });

  it('whose transaction cannot be made for 15 minutes is an alert that says why', async () => {
    const pay = await PayBench.open();
    const { app, bench } = pay;
    await pay.deposits([COIN]);
    const spending = bench.chain.adapter.spending!;
    const { unsigned } = spending;
    spending.unsigned = () => Promise.reject(new Unavailable('two nodes do not agree', 60));
    const ids = [await pay.withdraw(COIN / 2n), await pay.withdraw(COIN / 4n)];
    await pay.round();
    bench.at += 16 * MINUTE;
    await tellWaiting(app);
    const texts = () => app.store.all(openAlerts, { rank: 0, id: 2 ** 40, limit: 9 }).map((row) => textOf(row.message));
    expect(texts()).toEqual([
      `Shop: withdrawals from ${ids[0]} to ${ids[1]} are approved and not signed. The transaction of ${ids[0]} ` +
        'cannot be made: two nodes do not agree',
    ]);
    await pay.reject(ids[1]!);
    await tellWaiting(app);
    expect(texts()).toEqual([
      `Shop: withdrawal ${ids[0]} is approved, and its transaction cannot be made: two nodes do not agree`,
    ]);
    spending.unsigned = unsigned;
    await pay.round();
    await tellWaiting(app);
    expect([pay.row(ids[0]!).state, texts()]).toEqual(['broadcast', []]);
  });
});

describe('a deposit in the inbox', () => {
  /** Of one dollar, at 60,000 dollars for a bitcoin. */
  const DOLLAR = 1_667n;
  const deposits = (bench: Bench, txid: string, count: number, units: bigint, over: { locked?: boolean } = {}) => {
    const target = bench.unassigned();
    return (back: number | null) => () =>
      Array.from({ length: count }, (_, n) => bench.credit(target, units, back, { n, txid, ...over }));
  };
  const buried = (bench: Bench, txid: string, count = 1, units = DOLLAR, over = {}) =>
    bench.tell({ blocks: 6, credits: deposits(bench, txid, count, units, over)(5) });
  const texts = ({ app }: Bench) =>
    app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 }).map((row) => textOf(row.message));
  const ids = ({ app, businessId }: Bench) =>
    app.store.all(depositsToDecide, { business_id: businessId, limit: 10 }).map(({ id }) => id);
  const keep = ({ app }: Bench, id: number) => app.store.write((tx) => keepDeposit(app, tx, id));
  const openId = ({ app }: Bench) =>
    app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 1 })[0]!.id;

  it('is an alert once it is confirmed, until nothing waits', async () => {
    const bench = await Bench.open();
    const { app, businessId } = bench;
    const credits = deposits(bench, 'one', 1, 60_000_000n);
    await bench.tell({ credits: credits(null) });
    await tellInbox(app);
    expect(open(bench)).toEqual([]);
    await bench.tell({ blocks: 6, credits: credits(5) });
    await tellInbox(app);
    expect(open(bench)).toEqual([['inbox.deposit', `${businessId}`]]);
    const what = 'Accept, refund or keep it: in the console under Inbox, or with `countinghouse inbox list`';
    expect(texts(bench)).toEqual([`Shop: a deposit of 0.6 BTC counts for no invoice and waits for you. ${what}`]);
    const write = vi.spyOn(app.store, 'write');
    await tellInbox(app);
    expect(write).not.toHaveBeenCalled();
    await keep(bench, ids(bench)[0]!);
    await tellInbox(app);
    expect(open(bench)).toEqual([]);
  });

  it('after another one corrects the text, and raises the alert again after an hour, also if it was seen', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    await buried(bench, 'one', 1, 60_000_000n);
    await tellInbox(app);
    const first = openId(bench);
    await buried(bench, 'two', 1, 60_000_000n);
    await tellInbox(app);
    expect([openId(bench), texts(bench)[0]]).toEqual([first, expect.stringContaining('2 deposits, 1.2 BTC together,')]);
    bench.at += HOUR;
    await tellInbox(app);
    const second = openId(bench);
    expect(second).toBeGreaterThan(first);
    bench.at += HOUR;
    await tellInbox(app);
    expect(openId(bench)).toBe(second);
    await app.store.write((tx) => markSeen(app, [second], tx));
    await tellInbox(app);
    expect(open(bench)).toEqual([]);
    await buried(bench, 'three', 1, 60_000_000n);
    await tellInbox(app);
    expect(texts(bench)).toEqual([expect.stringContaining('3 deposits, 1.8 BTC together,')]);
    for (const id of ids(bench).slice(1)) await keep(bench, id);
    await tellInbox(app);
    expect(texts(bench)).toEqual([expect.stringContaining('a deposit of 0.6 BTC counts')]);
  });

  it('of less than a dollar, or that can never be moved, is none', async () => {
    const bench = await Bench.open();
    await buried(bench, 'dust', 50, DOLLAR - 1n);
    await buried(bench, 'locked', 1, 60_000_000n, { locked: true });
    const write = vi.spyOn(bench.app.store, 'write');
    await tellInbox(bench.app);
    expect([open(bench), write.mock.calls.length]).toEqual([[], 0]);
    await buried(bench, 'dollar');
    await tellInbox(bench.app);
    expect(texts(bench)).toEqual([expect.stringContaining('a deposit of 0.00001667 BTC counts')]);
  });

  it('that a search of the past finds with thousands of others is one alert once the search is over', async () => {
    const bench = await Bench.open();
    const { app, accountId } = bench;
    await app.store.write((tx) => tx.run(rescanAccount, { id: accountId }));
    await buried(bench, 'past', 5_000);
    await tellInbox(app);
    expect(open(bench)).toEqual([]);
    await app.store.write((tx) => tx.run(stepRescan, { id: accountId, from: '[]', to: null }));
    const write = vi.spyOn(app.store, 'write');
    const { longest } = await turnsOf(tellInbox(app));
    expect(longest / slowness()).toBeLessThan(50);
    expect(texts(bench)).toEqual([expect.stringContaining('Shop: more than 500 deposits (BTC) count')]);
    expect(write.mock.calls.length).toBe(11);
    bench.at += HOUR;
    await tellInbox(app);
    expect([openId(bench), write.mock.calls.length]).toEqual([1, 11]);
  });

  it('whose block left the chain is told again when it is back', async () => {
    const bench = await Bench.open();
    const { app } = bench;
    const credits = deposits(bench, 'one', 1, 60_000_000n);
    await bench.tell({ blocks: 6, credits: credits(5) });
    await tellInbox(app);
    const first = openId(bench);
    await bench.tell({ orphan: 6, blocks: 7, credits: credits(null) });
    await tellInbox(app);
    expect(open(bench)).toEqual([]);
    await bench.tell({ blocks: 6, credits: credits(5) });
    await tellInbox(app);
    expect(openId(bench)).toBeGreaterThan(first);
  });
});
