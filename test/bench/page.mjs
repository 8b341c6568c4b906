/**
 * The payment page in a real browser on the built daemon: how much it loads, how soon it is seen, how soon it shows a
 * payment, and what many open pages cost the service. Browser, pages and service share this machine.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { median } from './report.mjs';
import { dropFolder, residentMb, runTool, scratch, startDaemon, workFolder } from './servers.mjs';
import { poolFull } from './stores.mjs';

const PROGRAM = '/usr/bin/chromium';
const WAIT_MS = 120_000;
/** For what a page asks once it runs, and for a service to become quiet. */
const SETTLE_MS = 1_000;
const READS_MS = 5_000;
const READS_WARMUP = 2_000;
/** Reads at a time: a shop that is busy, not one that is saturated. */
const READERS = 4;
const OPENED_AT_ONCE = 20;
/** Below what one address may have open. */
const PAGES_PER_ADDRESS = 20;
/** How often an open page asks although it has a stream. */
const SAFETY_NET_MS = 30_000;
const NETS_PER_SECOND = 10;
/** Visitors come from addresses of their own, which the daemon believes a proxy on this machine. */
const SETTINGS = 'trusted_proxies = ["127.0.0.1"]\n';
const addressOf = (n) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

const percentile = (values, part) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
};

/** Calls of the merchant API. */
function merchant({ url, api_key }) {
  return async (path, body) => {
    const response = await fetch(`${url}/api/v1/merchant${path}`, {
      method: 'POST',
      headers: { 'mb-api-key': api_key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
}

async function requested(call) {
  const { id } = await call('/invoice', { amount: 60, crypto: 'LTC' });
  await call(`/invoice/rp/${id}`, {});
  return id;
}

const TRANSFERRED = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, entry) => sum + entry.transferSize, 0)`;
const PAINTED = `new Promise((resolve) => {
  const look = (list) => {
    const [paint] = list.getEntriesByName('first-contentful-paint');
    if (paint) resolve(paint.startTime);
  };
  new PerformanceObserver(look).observe({ type: 'paint', buffered: true });
})`;

/** A first visit, with nothing kept from an earlier one. */
async function visit(browser, url, n) {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    extraHTTPHeaders: { 'x-forwarded-for': addressOf(n) },
  });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  let requests = 0;
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests++;
  });
  await page.goto(url);
  const paintMs = await page.evaluate(PAINTED);
  await pause(SETTLE_MS);
  const bytes = await page.evaluate(TRANSFERRED);
  await context.close();
  return { paintMs, requests, bytes };
}

/** First visits, each beside one to a bare page, which is what this machine's browser needs for anything at all. */
async function measureLoads(browser, url, call, samples) {
  const slug = await requested(call);
  const bare = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>A page</p>'));
  await new Promise((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const visits = [];
  try {
    // one more, which warms service and browser up
    for (let n = 0; n <= samples; n++) {
      const { paintMs: bareMs } = await visit(browser, `http://127.0.0.1:${bare.address().port}/`, n);
      visits.push({ bareMs, ...(await visit(browser, `${url}/pay/${slug}`, n)) });
    }
  } finally {
    bare.closeAllConnections();
    bare.close();
  }
  return visits.slice(1);
}

/** Notes when the page shows that a payment was found: in the frame that is about to be drawn with it. */
const WATCH = `(() => {
  const view = () => document.getElementById('view');
  window.shownAt = new Promise((resolve) => {
    const look = () => view().dataset.state === 'detected' && requestAnimationFrame(() => resolve(Date.now()));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
})()`;

/** From the payment's being sent, and from its being in the chain for certain, to the page showing it. */
async function measureNews(browser, url, call, payments) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const news = [];
  for (let n = 0; n < payments; n++) {
    const slug = await requested(call);
    await context.setExtraHTTPHeaders({ 'x-forwarded-for': addressOf(0x10000 + n) });
    const streaming = page.waitForResponse((response) => response.url().endsWith('/events'));
    await page.goto(`${url}/pay/${slug}`);
    await streaming;
    await page.evaluate(WATCH);
    const sentAt = Date.now();
    await call('/sandbox/pay', { invoice_id: slug });
    const knownAt = Date.now();
    const shownAt = await page.evaluate('window.shownAt');
    news.push({ fromSent: shownAt - sentAt, fromKnown: Math.max(0, shownAt - knownAt) });
  }
  await context.close();
  return news;
}

/** Pages without a browser: each has its stream, and asks at first and then every half minute. */
class OpenPages {
  #url;
  #slugs;
  #streams = [];
  #agent = new Agent({ keepAlive: true, maxSockets: OPENED_AT_ONCE });
  #nets;
  #next = 0;

  constructor(url, slugs) {
    this.#url = url;
    this.#slugs = slugs;
  }

  #ask(n, what, onResponse) {
    const headers = { 'x-forwarded-for': addressOf(0x20000 + Math.floor(n / PAGES_PER_ADDRESS)) };
    const agent = what === '/events' ? false : this.#agent;
    return new Promise((resolve, reject) => {
      get(`${this.#url}/pay/${this.#slugs[n]}${what}`, { headers, agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`a page's ${what} answered ${response.statusCode}`));
        else onResponse(response, resolve);
      }).on('error', reject);
    });
  }

  #read = (response, resolve) => response.resume().once('end', resolve);

  #each(work) {
    let next = 0;
    const worker = async () => {
      while (next < this.#slugs.length) await work(next++);
    };
    return Promise.all(Array.from({ length: OPENED_AT_ONCE }, worker));
  }

  /** What a page loads, so that nothing is new to the service when it is measured. */
  load() {
    return this.#each(async (n) => {
      await this.#ask(n, '', this.#read);
      await this.#ask(n, '/status', this.#read);
    });
  }

  async open() {
    await this.#each(async (n) => {
      await this.#ask(n, '/events', (response, resolve) => {
        this.#streams.push(response);
        response.on('error', () => {});
        response.once('data', resolve);
      });
      await this.#ask(n, '/status', this.#read);
    });
    const each = Math.ceil((this.#slugs.length * 1_000) / SAFETY_NET_MS / NETS_PER_SECOND);
    this.#nets = setInterval(() => {
      for (let i = 0; i < each; i++)
        this.#ask(this.#next++ % this.#slugs.length, '/status', this.#read).catch(() => {});
    }, 1_000 / NETS_PER_SECOND);
  }

  get count() {
    return this.#streams.filter((stream) => !stream.destroyed && !stream.complete).length;
  }

  close() {
    clearInterval(this.#nets);
    for (const stream of this.#streams) stream.destroy();
    this.#agent.destroy();
  }
}

/** What is added by so many open pages: memory, and time to read an invoice. */
async function measureCrowd(server, call, pages) {
  const slugs = [];
  const make = async () => {
    while (slugs.length < pages) slugs.push(await requested(call));
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, make));
  slugs.length = pages;
  const file = join(scratch, 'open-pages');
  writeFileSync(file, slugs.join('\n'));
  const { url, api_key: apiKey, pid } = server;
  const job = { kind: 'reads', url, path: '/api/v1/merchant/invoice/', apiKey, slugs: file, pid };
  const reads = () => runTool('load.mjs', { ...job, connections: READERS, warmup: READS_WARMUP, ms: READS_MS });
  const crowd = new OpenPages(url, slugs);
  await crowd.load();
  const before = await reads();
  await pause(SETTLE_MS);
  const memoryBefore = residentMb(pid);
  await crowd.open();
  await pause(SETTLE_MS);
  const memoryOpen = residentMb(pid);
  const meanwhile = await reads();
  const memoryBusy = residentMb(pid);
  const open = crowd.count;
  crowd.close();
  if (open !== pages) throw new Error(`of ${pages} pages ${open} were open at the end`);
  return { pages, addedMb: memoryOpen - memoryBefore, addedBusyMb: memoryBusy - memoryBefore, before, meanwhile };
}

/** Everything about the page; null where there is no Chromium. */
export async function measurePage({ dist, nodeFlags, say, samples, payments, pages }) {
  if (!existsSync(PROGRAM)) {
    say('There is no Chromium (apt-get install chromium): the page is not measured.');
    return null;
  }
  const dataDir = workFolder();
  const pool = payments + pages + OPENED_AT_ONCE;
  const server = await startDaemon(dist, dataDir, pool, nodeFlags, SETTINGS);
  await poolFull(dataDir, pool);
  const call = merchant(server);
  const browser = await chromium.launch({
    executablePath: PROGRAM,
    timeout: WAIT_MS,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
  try {
    say('Payment page, first visits …');
    const loads = await measureLoads(browser, server.url, call, samples);
    say('Payment page, payments …');
    const news = await measureNews(browser, server.url, call, payments);
    await browser.close();
    say(`Payment page, ${pages} open at once …`);
    return { loads, news, crowd: await measureCrowd(server, call, pages) };
  } finally {
    await browser.close();
    await server.stop();
    dropFolder(dataDir);
  }
}

const of = (rows, name) => rows.map((row) => row[name]);
const count = (value) => value.toLocaleString('en-US');

/** For the table of values. */
export function pageLines({ loads, news, crowd }) {
  const open = `${count(crowd.pages)} pages open`;
  const after = (name, field) => [
    [`${name}, p50`, percentile(of(news, field), 0.5), 'ms'],
    [`${name}, p99`, percentile(of(news, field), 0.99), 'ms'],
  ];
  return [
    ['payment page, transferred on a first visit', median(of(loads, 'bytes')) / 1_000, 'kB'],
    ['payment page, requests, the stream and the first question included', median(of(loads, 'requests')), ''],
    ['payment page, first contentful paint', median(of(loads, 'paintMs')), 'ms'],
    ['a bare page beside it, first contentful paint', median(of(loads, 'bareMs')), 'ms'],
    ...after('payment in the chain, to the page showing it', 'fromKnown'),
    ...after('payment being sent, to the page showing it', 'fromSent'),
    [`memory added, ${open}`, crowd.addedMb, 'MB'],
    [`memory added, ${open}, after reads`, crowd.addedBusyMb, 'MB'],
    ['get p50, no page open', crowd.before.p50, 'ms'],
    ['get p99, no page open', crowd.before.p99, 'ms'],
    [`get p50, ${open}`, crowd.meanwhile.p50, 'ms'],
    [`get p99, ${open}`, crowd.meanwhile.p99, 'ms'],
  ];
}

/** For the table of aims. */
export function pageAims({ loads, news, crowd }) {
  return [
    ['payment page, transferred, kB', median(of(loads, 'bytes')) / 1_000, '<', 60],
    ['payment page, first contentful paint, ms', median(of(loads, 'paintMs')), '<', 200],
    ['payment shown on the page, p99, ms', percentile(of(news, 'fromKnown'), 0.99), '<', 300],
    [`memory added by ${count(crowd.pages)} open pages, MB`, crowd.addedMb, '<', 100],
  ];
}
