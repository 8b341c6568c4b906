/**
 * Alerts on the way to the operator: each channel against a local server that speaks its protocol, and when what is told.
 */
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { end, raise } from '../../../daemon/app/alerts.ts';
import { tellInbox } from '../../../daemon/app/notifications/inbox-deposits.ts';
import { markSeen } from '../../../daemon/app/operator/lists.ts';
import { keepDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { type Message, message, messageOf } from '../../../daemon/domain/messages.ts';
import { openAlerts } from '../../../daemon/store/queries/effects.ts';
import { compose } from '../../../daemon/workers/alerts/channel.ts';
import { AlertWorker, isQuiet } from '../../../daemon/workers/alerts/worker.ts';
import { undoAll } from '../../support/undo.ts';
import { Bench, HOUR, said } from '../app/bench.ts';

const MINUTE = 60_000;
const cleanup: (() => unknown)[] = [];
afterEach(() => undoAll(cleanup.splice(0)));

const listening = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  return (server.address() as AddressInfo).port;
};

type Asked = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

/** An HTTP server that keeps what it was asked; `answer` has the status of each. */
async function httpServer(answer: () => number = () => 200): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createHttp(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    asked.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    response.writeHead(answer(), { location: 'http://127.0.0.1:1/' }).end('{}');
  });
  cleanup.push(() => server.closeAllConnections());
  return { url: `http://127.0.0.1:${await listening(server)}`, asked };
}

type Mail = { from: string; to: string[]; data: string };

async function smtpServer(options: SMTPServerOptions = {}): Promise<{ port: number; mails: Mail[] }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    onData(stream, session, done) {
      let data = '';
      stream.on('data', (part: Buffer) => {
        data += part.toString('utf8');
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), data });
        done();
      });
    },
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  cleanup.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

/** A service with channels; `at` of the bench is the clock, and `tick` lets the channels work. */
async function service(config: Record<string, string>) {
  const bench = await Bench.open('BTC', config);
  let passed = 0;
  const worker = new AlertWorker(bench.app, () => passed);
  cleanup.push(() => worker.stop());
  const tick = async (ms = 0): Promise<void> => {
    passed += ms;
    bench.at += ms;
    worker.tick();
    await worker.idle();
  };
  await tick();
  const open = () =>
    bench.app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 100 }).map(({ kind }) => kind);
  return { bench, app: bench.app, worker, tick, open };
}

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const titles = (asked: Asked[]): string[] => asked.map(({ body }) => (JSON.parse(body) as { title: string }).title);

it('a long text is cut to what every channel takes, between two characters', () => {
  const one = { id: 1, subject: 'x', network: null, created_at: 0, changed_at: null, seen_at: null, ended_at: null };
  for (const filling of ['a', 'ä', '€', '🪙']) {
    for (const before of ['', 'b', 'bb', 'bbb']) {
      const raised = [{ ...one, kind: 'chain.alert', message: messageOf(before + filling.repeat(4_000)) }];
      const { text } = compose({ raised, ended: [], passed: [] }, 'host', true);
      expect(Buffer.byteLength(text)).toBeGreaterThan(3_490);
      // ntfy takes 4,096 bytes, Telegram 4,096 characters
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(3_503);
      expect(text).toMatch(new RegExp(`^• ${before}(?:${filling})+…$`, 'u'));
    }
  }
});

describe('each channel speaks its protocol', () => {
  it('ntfy: JSON to the server’s root, with the topic in the body and the token', async () => {
    const { url, asked } = await httpServer();
    const { app, tick } = await service({ 'alerts.ntfy': `${url}/my-topic`, 'alerts.ntfy_token': 'tk_secret' });
    await raise(app, null, 'storage.full', 'data directory', said('Nichts passt mehr: €'));
    await tick();
    expect(asked).toHaveLength(1);
    expect([asked[0]!.method, asked[0]!.url, asked[0]!.headers.authorization]).toEqual([
      'POST',
      '/',
      'Bearer tk_secret',
    ]);
    expect(JSON.parse(asked[0]!.body)).toMatchObject({
      topic: 'my-topic',
      title: expect.stringMatching(/^Countinghouse .+: the disk is full$/),
      message: expect.stringContaining('• Nichts passt mehr: €'),
      priority: 5,
    });
  });

  it('Telegram: sendMessage of the bot', async () => {
    const { url, asked } = await httpServer();
    const keys = { 'alerts.telegram_api': url, 'alerts.telegram_token': '123:abc', 'alerts.telegram_chat': '-100200' };
    const { app, tick } = await service(keys);
    await raise(app, 'mainnet', 'backup.failed', '/mnt', said('The scheduled backup failed'));
    await tick();
    expect(asked.map((one) => one.url)).toEqual(['/bot123:abc/sendMessage']);
    expect(JSON.parse(asked[0]!.body)).toMatchObject({
      chat_id: '-100200',
      text: expect.stringMatching(/a backup failed\n\n• The scheduled backup failed\n/),
    });
  });

  it('a webhook: signed, so that the library of the specification takes it', async () => {
    const { url, asked } = await httpServer();
    const { app, bench, tick } = await service({ 'alerts.webhook': `${url}/in?x=1`, 'alerts.webhook_secret': SECRET });
    bench.at = Date.now();
    await raise(app, 'testnet', 'chain.away', 'testnet:BTC', said('gone'));
    await tick();
    const [{ url: path, headers, body }] = asked as [Asked];
    expect(path).toBe('/in?x=1');
    expect(new Webhook(SECRET).verify(body, headers as Record<string, string>)).toMatchObject({
      type: 'operator.alert',
      data: { raised: [{ kind: 'chain.away', network: 'testnet', ended_at: null }], ended: [] },
    });
    expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow();
  });

  it('e-mail: with a login, to each recipient, and no line of the alert becomes a header', async () => {
    const logins: string[] = [];
    const { port, mails } = await smtpServer({
      authOptional: false,
      onAuth(auth, _session, done) {
        logins.push(`${auth.username}:${auth.password}`);
        done(null, { user: 'x' });
      },
    });
    const { app, tick } = await service({
      'alerts.smtp': `smtp://me:p%40ss@127.0.0.1:${port}`,
      'alerts.email_from': 'shop@example.com',
      'alerts.email_to': 'a@example.com, b@example.com',
    });
    await raise(app, null, 'source.dropped', 'x', said('bad\r\nBcc: thief@example.com\r\n\r\nserver'));
    await tick();
    expect(logins).toEqual(['me:p@ss']);
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatchObject({ from: 'shop@example.com', to: ['a@example.com', 'b@example.com'] });
    expect(mails[0]!.data).toMatch(/^Subject: Countinghouse .*source dropped/m);
    expect(mails[0]!.data).not.toMatch(/^Bcc/m);
  });
});

describe('a channel that does not work', () => {
  it('is tried again less and less often, holds up none of the others, and is an alert on them', async () => {
    let status = 500;
    const bad = await httpServer(() => status);
    const good = await httpServer();
    const { app, tick, open } = await service({
      'alerts.ntfy': `${bad.url}/t`,
      'alerts.webhook': good.url,
      'alerts.webhook_secret': SECRET,
    });
    await raise(app, null, 'browser.full', 'a', said('full'));
    await tick();
    expect([bad.asked.length, good.asked.length]).toEqual([1, 1]);
    await tick(30_000);
    expect(bad.asked).toHaveLength(1);
    await tick(31_000);
    await tick(61_000);
    expect(bad.asked).toHaveLength(2);
    await tick(61_000);
    expect(bad.asked).toHaveLength(3);
    expect(open()).toContain('alert.undelivered');
    await tick();
    expect(good.asked.at(-1)!.body).toContain(
      `Alerts do not get out by ntfy: 127.0.0.1:${new URL(bad.url).port} answered 500`,
    );
    status = 200;
    await tick(5 * MINUTE);
    expect(titles(bad.asked)).toHaveLength(4);
    expect(bad.asked.at(-1)!.body).not.toContain('Alerts do not get out');
    expect(open()).not.toContain('alert.undelivered');
  });

  it('follows no redirect, which could carry the secret elsewhere', async () => {
    const { url, asked } = await httpServer(() => 302);
    const { worker } = await service({ 'alerts.ntfy': `${url}/t`, 'alerts.ntfy_token': 'tk' });
    expect(await worker.test()).toEqual([{ channel: 'ntfy', error: `${new URL(url).host} answered 302` }]);
    expect(asked).toHaveLength(1);
  });

  it('that hangs ends in time, and its words hold no secret', async () => {
    const silent = await listening(createTcp(() => {}));
    const { worker } = await service({
      'alerts.smtp': `smtp://user:hunter2@127.0.0.1:${silent}`,
      'alerts.email_from': 'a@example.com',
      'alerts.email_to': 'b@example.com',
      'alerts.telegram_api': 'http://127.0.0.1:1',
      'alerts.telegram_token': '1:hidden',
      'alerts.telegram_chat': '1',
    });
    const told = await worker.test();
    expect(told).toEqual([
      { channel: 'email', error: '127.0.0.1 did not answer in time' },
      { channel: 'telegram', error: expect.stringMatching(/^127\.0\.0\.1:1 could not be reached/) },
    ]);
    expect(JSON.stringify(told)).not.toMatch(/hunter2|hidden/);
  });

  it('refuses to send a password in the clear to another machine’s server', async () => {
    const { port } = await smtpServer();
    const keys = { 'alerts.email_from': 'a@example.com', 'alerts.email_to': 'b@example.com' };
    const { worker } = await service({ 'alerts.smtp': `smtp://u:p@127.0.0.2:${port}`, ...keys });
    expect((await worker.test())[0]!.error).toMatch(/^127\.0\.0\.2 /);
  });
});

it('every channel carries a deposit of the inbox, and that none waits any more; the sandbox raises nothing', async () => {
  const { url, asked } = await httpServer();
  const { port, mails } = await smtpServer();
  const { app, bench, tick, open } = await service({
    'alerts.ntfy': `${url}/topic`,
    'alerts.webhook': `${url}/hook`,
    'alerts.webhook_secret': SECRET,
    'alerts.telegram_api': url,
    'alerts.telegram_token': '1:a',
    'alerts.telegram_chat': '1',
    'alerts.smtp': `smtp://127.0.0.1:${port}`,
    'alerts.email_to': 'a@shop.test',
    'alerts.email_from': 'b@shop.test',
  });
  const target = bench.unassigned();
  await bench.tell({ blocks: 6, credits: () => [bench.credit(target, 50_000n, 5)] });
  const business = app.directory.business(bench.businessId);
  const list = vi.spyOn(app.directory, 'businesses').mockReturnValue([{ ...business, network: 'sandbox' }]);
  await tellInbox(app);
  expect(open()).toEqual([]);
  list.mockRestore();
  await tellInbox(app);
  await tick();
  const all = () => [...asked.map(({ body }) => body), ...mails.map(({ data }) => data.replaceAll('=\r\n', ''))];
  expect(all()).toHaveLength(4);
  for (const one of all()) {
    expect(one).toContain('money that counts for no invoice waits for you');
    expect(one).toContain('Shop: a deposit of 0.0005 BTC');
    expect(one).toContain('countinghouse inbox list');
  }
  await app.store.write((tx) => keepDeposit(app, tx, 1));
  await tellInbox(app);
  await tick(HOUR);
  expect(all()).toHaveLength(8);
  for (const { body } of asked.slice(3)) expect(body).toContain('✓ Over: Shop: a deposit of 0.0005 BTC');
});

describe('what is told when', () => {
  const channel = async (more: Record<string, string> = {}) => {
    const { url, asked } = await httpServer();
    return { ...(await service({ 'alerts.ntfy': `${url}/t`, ...more })), asked };
  };

  it('one thing an hour of a kind and subject, and its end', async () => {
    const { app, tick, asked } = await channel();
    await raise(app, 'mainnet', 'chain.away', 'mainnet:BTC', said('away'));
    await tick();
    await tick(MINUTE);
    expect(titles(asked)).toEqual([expect.stringMatching(/: a chain is away$/)]);
    // it goes and comes within the hour: nothing more is told, until the hour is over
    await end(app, 'chain.away', 'mainnet:BTC');
    await tick(MINUTE);
    await raise(app, 'mainnet', 'chain.away', 'mainnet:BTC', said('away again'));
    await raise(app, 'mainnet', 'chain.away', 'mainnet:LTC', said('another subject'));
    await tick(MINUTE);
    expect(asked).toHaveLength(2);
    expect(asked[1]!.body).toContain('another subject');
    await tick(HOUR);
    expect(asked).toHaveLength(3);
    expect(asked[2]!.body).toContain('away again');
    expect(asked[2]!.body).not.toContain('Over');
    await end(app, 'chain.away', 'mainnet:BTC');
    await tick(HOUR);
    expect(titles(asked).at(-1)).toMatch(/: Over: a chain is away$/);
    await tick(2 * HOUR);
    expect(asked).toHaveLength(4);
  });

  it('nothing that was over before it could be told, and no end of what the operator has seen', async () => {
    const { app, tick, asked } = await channel();
    await raise(app, null, 'backup.late', 'x', said('short'));
    await end(app, 'backup.late', 'x');
    await tick();
    expect(asked).toEqual([]);
    await raise(app, null, 'backup.late', 'y', said('seen'));
    await tick();
    const [alert] = app.store.all(openAlerts, { rank: 0, id: Number.MAX_SAFE_INTEGER, limit: 1 });
    await app.store.write((tx) => markSeen(app, [alert!.id], tx));
    await tick(2 * HOUR);
    expect(asked).toHaveLength(1);
  });

  it('what is still open once a channel works again after weeks, and nothing of what was over meanwhile', async () => {
    let status = 503;
    const { url, asked } = await httpServer(() => status);
    const { app, tick } = await service({ 'alerts.ntfy': `${url}/t` });
    await raise(app, 'mainnet', 'ledger.differs', 'mainnet:BTC', said('one coin is missing'));
    for (let n = 0; n < 300; n++) {
      await raise(app, null, 'backup.late', `${n}`, said('over by now'));
      await end(app, 'backup.late', `${n}`);
    }
    await raise(app, null, 'backup.failed', 'z', said('the target is full'));
    for (let day = 0; day < 20; day++) await tick(24 * HOUR);
    const before = asked.length;
    status = 200;
    await tick(24 * HOUR);
    await tick(24 * HOUR);
    const [{ body }, ...others] = asked.slice(before) as [Asked];
    expect(others).toEqual([]);
    expect((JSON.parse(body) as { message: string }).message).toMatch(
      /^• one coin is missing\n\n• the target is full\n\ncountinghouse alert list/,
    );
  });

  it('in quiet hours only what is urgent; the rest in one message when they end', async () => {
    const { app, bench, tick, asked } = await channel({ 'alerts.quiet_hours': '22:00-07:00' });
    bench.at = new Date(2026, 0, 2, 23, 30).getTime();
    expect(isQuiet(app)).toBe(true);
    await raise(app, null, 'backup.late', 'a', said('late'));
    await raise(app, null, 'browser.full', 'b', said('full'));
    await raise(app, null, 'storage.full', 'c', said('disk'));
    await tick();
    expect(titles(asked)).toEqual([expect.stringMatching(/the disk is full$/)]);
    await tick(7 * HOUR + 29 * MINUTE);
    expect(asked).toHaveLength(1);
    await tick(MINUTE);
    expect(titles(asked)[1]).toMatch(/: 2 alerts$/);
    bench.at = new Date(2026, 0, 3, 12).getTime();
    expect(isQuiet(app)).toBe(false);
  });

  it('another cause of an open alert once the hour is over, and its end; not a measure that grows', async () => {
    const { app, tick, asked, open } = await channel();
    const away = (minutes: number, reason: string) => message('chain.away', { chain: 'mainnet:BTC', minutes, reason });
    const raised = (text: Message) => raise(app, null, 'chain.away', 'mainnet:BTC', text);
    const texts = () => asked.map(({ body }) => /(Over: )?\S+ has been away for \d+ minutes[^:]*: \w+/.exec(body)![0]);
    await raised(away(5, 'refused'));
    await tick();
    for (let minutes = 6; minutes < 130; minutes++) {
      await raised(away(minutes, 'refused'));
      await tick(MINUTE);
    }
    expect(asked).toHaveLength(1);
    await raised(away(130, 'forged'));
    await tick();
    expect(texts()[1]).toContain('130 minutes, and payers are not offered it: forged');
    await raised(away(131, 'silent'));
    await raised(away(132, 'behind'));
    await tick(50 * MINUTE);
    expect(asked).toHaveLength(2);
    await tick(10 * MINUTE);
    expect(texts()[2]).toContain('132 minutes, and payers are not offered it: behind');
    expect(open()).toEqual(['chain.away']);
    // changed and over before the next message: only the end is news
    await raised(away(190, 'refused'));
    await end(app, 'chain.away', 'mainnet:BTC');
    await tick(61 * MINUTE);
    expect(texts().slice(3)).toEqual([expect.stringContaining('190 minutes')]);
    expect(asked.at(-1)!.body).toContain('Over: ');
    await tick(120 * MINUTE);
    expect(asked).toHaveLength(4);
  });

  it('a cause that is new though the alert is weeks old', async () => {
    const { app, tick, asked } = await channel();
    await raise(app, null, 'backup.failed', 'a', said('the disk is full'));
    await tick();
    await tick(21 * 24 * HOUR);
    await raise(app, null, 'backup.failed', 'a', {
      code: 'test',
      values: { text: 'the disk is gone', reason: 'gone' },
    });
    await tick();
    expect(asked).toHaveLength(2);
    expect(asked[1]!.body).toContain('the disk is gone');
  });

  it('an urgent alert, however many others wait for the end of their hour or of the night', async () => {
    const { app, bench, tick, asked } = await channel({ 'alerts.quiet_hours': '22:00-07:00' });
    bench.at = new Date(2026, 0, 2, 23, 30).getTime();
    for (let n = 0; n < 120; n++) await raise(app, null, 'browser.full', `${n}`, said('full'));
    await raise(app, null, 'storage.full', 'c', said('disk'));
    await tick();
    expect(titles(asked)).toEqual([expect.stringMatching(/the disk is full$/)]);
  });

  it('what was raised while the service was down, and nothing twice after a restart', async () => {
    const { app, tick, asked } = await channel();
    await raise(app, null, 'browser.full', 'a', said('first'));
    await tick();
    await raise(app, null, 'browser.full', 'b', said('second'));
    const again = new AlertWorker(app, () => 0);
    again.tick();
    await again.idle();
    expect(asked.map(({ body }) => /first|second/.exec(body)![0])).toEqual(['first', 'second']);
  });
});
