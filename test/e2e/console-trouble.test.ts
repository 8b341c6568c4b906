/** The console when things go wrong, in a real browser: a full disk, a flood of events, a hostile page, a service that is killed. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Database from 'better-sqlite3';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { OperatorEvents } from '../../daemon/app/notifications/operator-events.ts';
import { Reserve } from '../../daemon/store/reserve.ts';
import { freePort } from '../nodes/litecoind.ts';
import { Victim } from '../scenario/victim.ts';
import { chromiumTitle, hasChromium } from '../support/chromium.ts';
import { until } from '../support/daemon.ts';
import { catching } from '../unit/store/opened.ts';
import { busyClock, Console } from './console-kit.ts';

const EVENTS_PER_SECOND = 1_000;
const FLOOD_MS = 3_000;
const TICK_MS = 10;
/** Of the time of the flood, what the page's thread may use the processor: the other half is left for the user. */
const BUSY_MAX = 0.5;
const HEAP_BYTES_MAX = 10_000_000;
const CALLS_PER_SECOND_MAX = 40;
const ORDER = { amount: 10 };

/** What a page elsewhere can try against the console at `at`, run there; returns what became of each. */
const ATTACK = `async (at) => {
  const told = {};
  const attempt = async (name, work) => {
    told[name] = await work().catch((error) => error.name);
  };
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const body = JSON.stringify({ business: '1', amount: '5', currency: 'EUR' });
  const call = at + '/call/invoice.create';
  const withCookie = { method: 'POST', credentials: 'include', body };
  const json = { 'content-type': 'application/json' };
  await attempt('read', async () => (await fetch(at + '/', { credentials: 'include' })).text());
  await attempt('json', async () => (await fetch(call, { ...withCookie, headers: json })).text());
  await attempt('text', async () => (await fetch(call, withCookie)).text());
  await attempt('blind', async () => (await fetch(call, { ...withCookie, mode: 'no-cors' })).type);
  await attempt('upload', async () => (await fetch(at + '/session/upload/x/0', { ...withCookie, mode: 'no-cors' })).type);
  navigator.sendBeacon(call, new Blob([body], { type: 'text/plain' }));
  const frame = document.querySelector('iframe');
  await attempt('frame', async () => {
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    frame.src = at + '/';
    await loaded;
    return frame.contentDocument === null ? 'closed' : frame.contentDocument.body.innerText;
  });
  await attempt('window', async () => {
    const other = open(at + '/#/home');
    // the empty page that it begins with belongs to the opener
    for (let n = 0; n < 600 && other?.closed === false && other.location.href === 'about:blank'; n++) await pause(50);
    return other === null || other.closed ? 'closed' : other.document.title;
  });
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: call, target: 'frame', enctype: 'text/plain' });
  form.append(Object.assign(document.createElement('input'), { name: body, value: '' }));
  document.body.append(form);
  form.submit();
  await pause(300);
  return told;
}`;

describe.skipIf(!hasChromium)(chromiumTitle('the console in trouble'), () => {
  let shop: Console;
  let db: Database.Database;
  let events: OperatorEvents;
  beforeAll(async () => {
    const { next } = OperatorEvents.prototype;
    vi.spyOn(OperatorEvents.prototype, 'next').mockImplementation(function (this: OperatorEvents, ...given) {
      events = this;
      return next.apply(this, given);
    });
    shop = await Console.start(async (start) => {
      const { made, db: connection } = await catching(start);
      db = connection;
      return made;
    });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await shop.stop();
  });

  it('says that the disk is full, keeps what was typed, and makes it once there is room', async () => {
    const page = await shop.open('invoices/new');
    const make = page.getByRole('button', { name: 'Make the invoice' });
    const free = vi.spyOn(Reserve.prototype, 'freeBytes').mockReturnValue(0);
    db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
    await until('nothing more is stored', async () => {
      const close_url = `https://x.test/${'x'.repeat(900)}`;
      const { status } = await shop.daemon.call('POST', '/invoice', { ...ORDER, close_url });
      return status === 503;
    });
    // the operator's own writes may still fit into the pages that are left
    let refused = 0;
    while (refused === 0) {
      refused += await shop.call('invoice.create', { business: '1', amount: '9', currency: 'EUR' }).then(
        () => 0,
        () => 1,
      );
    }
    const made = async () => (await shop.call('invoice.find', { text: 'table 9' })).invoices.length;
    await page.getByRole('textbox', { name: 'Amount' }).fill('12.40');
    await page.getByLabel('Reference, if you like').fill('table 9');
    await make.click();
    await page.getByRole('alert').getByText('the disk is full').waitFor();
    expect([await page.getByRole('textbox', { name: 'Amount' }).inputValue(), await made()]).toEqual(['12.40', 0]);
    await shop.go(page, 'alerts');
    await page.getByText('Free some room').first().waitFor();
    await page.goBack();
    free.mockRestore();
    db.pragma('max_page_count = 1000000');
    await page.getByRole('textbox', { name: 'Amount' }).fill('12.40');
    await page.getByLabel('Reference, if you like').fill('table 9');
    await make.click();
    await page.getByText('The customer has not chosen a coin.').waitFor();
    expect(await made()).toBe(1);
    await page.context().close();
    // the operator's writes come first; the shop's follow at the next look at the disk
    await until(
      'the shop is served again',
      async () => (await shop.daemon.call('POST', '/invoice', ORDER)).status === 201,
    );
  });

  it(`stays usable with ${EVENTS_PER_SECOND} events a second, and asks little of the service`, async () => {
    const page = await shop.open('invoices');
    await page.locator('.invoice-row').first().waitFor();
    const session = await page.context().newCDPSession(page);
    const heap = async (): Promise<number> => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    let calls = 0;
    let isRefused = false;
    page.on('response', (response) => {
      calls++;
      isRefused ||= response.status() === 429;
    });
    const busyMs = await busyClock(page);
    const before = await heap();
    const idle = await busyMs();
    const from = performance.now();
    let told = 0;
    const flood = setInterval(() => {
      const due = ((performance.now() - from) * EVENTS_PER_SECOND) / 1_000;
      for (; told < due; told++) events.tell(told % 2 ? 'invoice' : 'withdrawal', `${told}`);
    }, TICK_MS);
    await new Promise((resolve) => setTimeout(resolve, FLOOD_MS / 2));
    await page.getByRole('link', { name: 'Inbox' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await new Promise((resolve) => setTimeout(resolve, FLOOD_MS / 2));
    clearInterval(flood);
    const tookMs = performance.now() - from;
    const busy = (await busyMs()) - idle;
    const grown = (await heap()) - before;
    process.stdout.write(
      `console: ${told} events in ${Math.round(tookMs)} ms: ${calls} calls, ${Math.round(busy)} ms of processor time, heap ${(grown / 1e6).toFixed(1)} MB more\n`,
    );
    expect(await page.locator('.offline-bar').count()).toBe(0);
    expect([isRefused, grown < HEAP_BYTES_MAX]).toEqual([false, true]);
    expect((calls * 1_000) / tookMs).toBeLessThan(CALLS_PER_SECOND_MAX);
    expect(busy).toBeGreaterThan(0);
    expect(busy / tookMs).toBeLessThan(BUSY_MAX);
    // what came last is on the screen
    const slug = await shop.invoice(33, null);
    await shop.go(page, 'invoices');
    await page.locator(`[data-slug="${slug}"]`).waitFor();
    await page.context().close();
  });

  describe('and a hostile page on the same machine', () => {
    let server: Server;
    let evil: string;
    beforeAll(async () => {
      server = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end('<!doctype html><title>evil</title><iframe name="frame"></iframe>');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      // the same host, which browsers call the same site
      evil = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    });
    afterAll(() => server.close());

    it('reads and changes nothing', async () => {
      const page = await shop.open('home');
      const { origin } = new URL(page.url());
      const thief = await page.context().newPage();
      await thief.goto(evil);
      const sent: string[] = [];
      thief.on('request', (request) => {
        if (request.url().startsWith(origin)) sent.push(request.url());
      });
      const before = await shop.call('invoice.list', {});
      const tried = (await thief.evaluate(`(${ATTACK})('${origin}')`)) as Record<string, unknown>;
      const closed = expect.stringMatching(/^(?:closed|SecurityError)$/);
      const refused = {
        read: 'TypeError',
        json: 'TypeError',
        text: 'TypeError',
        blind: 'TypeError',
        upload: 'TypeError',
      };
      expect(tried).toEqual({ ...refused, frame: closed, window: closed });
      expect(sent.length).toBeGreaterThan(4);
      expect(await shop.call('invoice.list', {})).toEqual(before);
      await page.getByRole('heading', { name: 'Home' }).waitFor();
      await page.context().close();
    });
  });

  describe('and a service that is killed in the middle of an approval', () => {
    let victim: Victim;
    let page: Page;
    beforeAll(async () => {
      const config = `[console]\nport = ${await freePort()}\n[networks.sandbox.rates]\nLTC = "84"\nEUR = "0.92"`;
      victim = new Victim({ port: 1 } as never, null, undefined, config);
      const { url } = await victim.alive(() => victim.operator('console.open', {}));
      page = await (await shop.browser.newContext({ reducedMotion: 'reduce' })).newPage();
      await page.goto(url);
      await page.locator('.frame').waitFor();
    });
    afterAll(() => victim.destroy());

    const merchant = async <Body>(path: string, body: object): Promise<Body> =>
      JSON.parse((await victim.call('POST', path, body)).text) as Body;

    /** A withdrawal that waits, on its screen, ready to be approved. */
    async function waiting(): Promise<string> {
      const { id: invoice } = await merchant<{ id: string }>('/invoice', { amount: 50, crypto: 'LTC' });
      const { address } = await merchant<{ address: string }>(`/invoice/rp/${invoice}`, {});
      await merchant('/sandbox/pay', { invoice_id: invoice });
      await merchant('/sandbox/mine', { crypto: 'LTC', blocks: 12 });
      await victim.operator('policy.set', { business: '1', mode: 'manual', grants: [] });
      await until('the money is there', async () =>
        (await victim.operator('business.list', {})).businesses[0]!.balances.some(
          ({ crypto, amount }) => crypto === 'LTC' && amount !== '0',
        ),
      );
      const asked = { business: '1', crypto: 'LTC', address, amount: '0.1' };
      const { id } = (await victim.operator('withdrawal.add', asked)).withdrawal;
      await page.goto(`${new URL(page.url()).origin}/#/withdrawals/${id}/approve`);
      await page.getByLabel(/I compared all \d+ groups/).check();
      return `${id}`;
    }
    const approve = () => page.getByRole('button', { name: 'Approve and send 0.1 LTC' }).click();
    const found = async (id: string) => (await victim.operator('withdrawal.show', { id })).withdrawal;

    it('before it has it: nothing was approved, and the next try sends it once', async () => {
      const id = await waiting();
      await page.route('**/call/withdrawal.approve', async (route) => {
        await victim.kill();
        await route.continue();
      });
      await approve();
      await page.getByText('Countinghouse stopped in the middle of it').waitFor();
      await page.unroute('**/call/withdrawal.approve');
      await victim.alive(() => victim.operator('status', {}));
      await page.getByText('Your approval did not arrive').waitFor();
      expect((await found(id)).state).toBe('requested');
      await page.reload();
      await page.getByLabel(/I compared all \d+ groups/).check();
      await approve();
      await page.getByText('It is on the way').waitFor();
      expect((await found(id)).versions).toHaveLength(1);
    });

    it('and whose port another program takes: that gets nothing it can read, and the page goes on by itself', async () => {
      await page.goto(`${new URL(page.url()).origin}/#/invoices`);
      await page.getByRole('heading', { name: 'Invoices' }).waitFor();
      await victim.kill();
      const got: string[] = [];
      const thief = createServer(async (request, response) => {
        let body = '';
        for await (const part of request) body += (part as Buffer).toString('latin1');
        got.push(`${request.url} ${JSON.stringify(request.headers)} ${body}`);
        response.writeHead(401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { code: 'session', message: 'ended' }, key: 'x'.repeat(87), box: 'x' }));
      });
      thief.listen(Number(new URL(page.url()).port), '127.0.0.1');
      await once(thief, 'listening');
      const search = page.getByRole('searchbox').first();
      await search.fill('a customer of ours');
      await search.press('Enter');
      await until('the page asks who answers', async () => got.some((text) => text.startsWith('/session/hello')));
      await until('the page asks the other program', async () => got.some((text) => text.startsWith('/call/')));
      const [, key] = /"page":"([\w-]{87})"/.exec(got.join('\n'))!;
      expect(got.join('\n')).not.toMatch(/a customer of ours|cookie|"cursor"/);
      // what the page says is the same at each greeting, but for random text: its public key, which opens nothing
      expect(got.filter((text) => text.startsWith('/session/hello')).every((text) => text.includes(key!))).toBe(true);
      expect(await page.getByText('You are not signed in here').count()).toBe(0);
      thief.closeAllConnections();
      thief.close();
      await once(thief, 'close');
      await victim.alive(() => victim.operator('status', {}));
      await search.fill('');
      await search.press('Enter');
      const { id } = await merchant<{ id: string }>('/invoice', { amount: 50, crypto: 'LTC' });
      await page.locator(`[data-slug="${id}"]`).waitFor();
    });

    it('as it is stored: the screen says that it arrived, and it is sent once', async () => {
      const id = await waiting();
      let readAgain = 0;
      page.on('request', (request) => {
        if (request.url().endsWith('/call/withdrawal.propose')) readAgain++;
      });
      const { deaths } = victim;
      victim.doom();
      await approve();
      await page.getByText('Countinghouse stopped in the middle of it').waitFor();
      // the page sees the connection break before the end of the process is known here
      await until('it died', async () => victim.deaths === deaths + 1);
      await victim.alive(() => victim.operator('status', {}));
      await page.getByText('Your approval arrived', { exact: true }).waitFor();
      await until('it is sent', async () => ['broadcast', 'completed'].includes((await found(id)).state));
      expect((await found(id)).versions).toHaveLength(1);
      // the service came back, and nothing that was read for this approval was read anew
      expect(readAgain).toBe(0);
      // a second approval finds nothing to approve
      await page.reload();
      await page.getByText('is decided already').waitFor();
      await page.context().close();
    });
  });
});
