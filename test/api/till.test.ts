/** A till on the shop's network: paired once, it sells for its business and does nothing else. */
import { connect } from 'node:net';
import type { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LinkEnded } from '../../daemon/contract/console-client.ts';
import { isMethod, OPERATOR, rulesOf } from '../../daemon/contract/operator.ts';
import { isLocalAddress, ownAddresses } from '../../daemon/kit/own-network.ts';
import { buildConsole } from '../support/console.ts';
import { ConsolePage, sendRaw } from '../support/console-page.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { refusal, strictCaller } from './operator-raw.ts';

let daemon: TestDaemon;
beforeAll(async () => {
  buildConsole();
  daemon = await startTestDaemon('[console]\nport = 0\n[till]\nhost = "127.0.0.1"\nport = 0\n');
});
afterAll(() => daemon.stop());

const call = () => strictCaller(daemon.dataDir);
const pair = async (): Promise<{ page: ConsolePage; url: string }> => {
  const { urls } = await call()('till.pair', { business: '1' });
  return { page: await ConsolePage.signIn(urls[0]!), url: urls[0]! };
};

describe('a paired till', () => {
  it('sells, and its link works once and for ten minutes', async () => {
    const { page, url } = await pair();
    const sold = await page.ask('/call/counter.sell', { business: 1, amount: '4.20', currency: 'EUR', note: null });
    expect(sold.status).toBe(200);
    await expect(ConsolePage.signIn(url)).rejects.toThrow(LinkEnded);
    const late = (await call()('till.pair', { business: '1' })).urls[0]!;
    daemon.advance(600_001);
    await expect(ConsolePage.signIn(late)).rejects.toThrow(LinkEnded);
  });

  it('is refused every method that is not the counter’s, and every other part of the console', async () => {
    const { page } = await pair();
    const others = Object.keys(OPERATOR)
      .filter(isMethod)
      .filter((method) => rulesOf(method).counter === undefined);
    expect(others.length).toBeGreaterThan(50);
    for (const method of others) {
      daemon.advance(100);
      expect([method, (await page.ask(`/call/${method}`)).status]).toEqual([method, 403]);
    }
    for (const path of ['/session/backup', '/session/upload', '/session/upload/x/0']) {
      expect([path, (await page.ask(path)).status]).toEqual([path, 404]);
    }
    expect((await page.ask('/session')).body).toMatchObject({ scope: 'counter' });
  });

  it('stays over a restart of the service, and is told by the console', async () => {
    const { page } = await pair();
    const before = await call()('console.list', {});
    expect(before.sessions.at(-1)).toMatchObject({ scope: 'counter', till: true });
    await daemon.restart();
    expect((await call()('console.list', {})).sessions.at(-1)).toEqual(before.sessions.at(-1));
    const urls = (await call()('reach.show', {})).till_urls;
    // another port, as if the shop’s network had the same address again
    const again = new ConsolePage(page.origin, page.login);
    again.way = (sent) => sendRaw(urls![0]!, { ...sent, headers: sent.headers });
    expect((await again.ask('/call/counter.show')).status).toBe(200);
  });
});

// other systems have one address of loopback
it.skipIf(process.platform !== 'linux')('a stranger on the network cannot keep tills from signing in', async () => {
  const { urls } = await call()('till.pair', { business: '1' });
  const { origin, host } = new URL(urls[0]!);
  const headers = { host, origin, 'content-type': 'application/json' };
  const flood = (path: string, n: number) =>
    Promise.all(
      Array.from({ length: n }, () => sendRaw(origin, { method: 'POST', path, headers, body: '{}' }, '127.0.0.9')),
    );
  const statuses = [...(await flood('/session/sign-in', 40)), ...(await flood('/session/hello', 700))].map(
    ({ status }) => status,
  );
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20);
  const page = await ConsolePage.signIn(urls[0]!).finally(() => daemon.advance(600_000));
  expect((await page.ask('/call/counter.show')).status).toBe(200);
});

it.skipIf(process.platform !== 'linux')(
  'a stranger on the network cannot take all connections of the tills',
  async () => {
    const { urls } = await call()('till.pair', { business: '1' });
    const { port } = new URL(urls[0]!);
    const opened = Array.from({ length: 250 }, (_, i) => {
      // their own share is less than all, so that some addresses are needed
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: `127.0.0.${10 + (i % 5)}` });
      // most are ended at once
      socket.on('error', () => {});
      return socket;
    });
    try {
      await Promise.all(
        opened.map((socket) => new Promise((done) => socket.once('connect', done).once('close', done))),
      );
      const page = await ConsolePage.signIn(urls[0]!);
      expect((await page.ask('/call/counter.show')).status).toBe(200);
    } finally {
      for (const socket of opened) socket.destroy();
    }
  },
);

describe('the two listeners', () => {
  it('each take their own links and sessions alone', async () => {
    const { page: till, url } = await pair();
    const link = (await call()('console.open', {})).url;
    const console = await ConsolePage.signIn(link);
    const [tillOrigin, consoleOrigin] = [new URL(url).origin, new URL(link).origin];
    const codeOf = (text: string): string => new URL(text).hash.replace('#sign-in=', '');
    const wrong = new ConsolePage(tillOrigin);
    await expect(wrong.client.signIn(codeOf((await call()('console.open', {})).url))).rejects.toThrow(LinkEnded);
    const other = new ConsolePage(consoleOrigin);
    const tillLink = (await call()('till.pair', { business: '1' })).urls[0]!;
    await expect(other.client.signIn(codeOf(tillLink))).rejects.toThrow(LinkEnded);
    // the same key, and the same open channel, at the other listener
    expect((await new ConsolePage(tillOrigin, console.login).ask('/call/status')).status).toBe(401);
    expect((await new ConsolePage(consoleOrigin, till.login).ask('/call/counter.show')).status).toBe(401);
    await console.ask('/call/status');
    const { host } = new URL(tillOrigin);
    const answers: number[] = [];
    console.way = async (sent) => {
      const answer = await sendRaw(tillOrigin, { ...sent, headers: { ...sent.headers, host, origin: tillOrigin } });
      answers.push(answer.status);
      return answer;
    };
    await console.ask('/call/status');
    expect(answers[0]).toBe(401);
  });

  it('the till’s closes with its last session', async () => {
    const { url } = await pair();
    await call()('console.end', {});
    expect((await call()('reach.show', {})).till_urls).toBeNull();
    const { origin, host } = new URL(url);
    const ask = sendRaw(origin, { method: 'GET', path: '/', headers: { host }, body: '' });
    await expect(ask).rejects.toThrow('ECONNREFUSED');
  });

  it.each([
    ['a name that points here', { host: 'evil.example:80' }, 403],
    ['a public address', { host: '8.8.8.8:8482' }, 403],
    ['another name of this computer', { host: 'localhost:8482' }, 403],
    ['its address', {}, 200],
  ])('the till’s page at %s', async (_name, headers, status) => {
    const { url } = await pair();
    const { origin, host } = new URL(url);
    const page = await sendRaw(origin, { method: 'GET', path: '/', headers: { host, ...headers }, body: '' });
    expect(page.status).toBe(status);
  });

  it('the till’s needs a business', async () => {
    expect(await refusal(daemon.dataDir, 'till.pair', { business: '99' })).toMatchObject({ status: 404 });
  });
});

it('the console is an app that browsers can install: in full screen, with icons that are there, and it opens the counter', async () => {
  const { origin, host } = new URL((await call()('console.open', {})).url);
  const get = (path: string) => sendRaw(origin, { method: 'GET', path, headers: { host }, body: '' });
  const { status, headers, bytes } = await get('/manifest.webmanifest');
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'application/manifest+json',
    'no-store',
  ]);
  expect(String(headers['content-security-policy'])).toContain("manifest-src 'self'");
  type Icon = { src: string; sizes: string; type: string; purpose: string };
  const manifest = JSON.parse(Buffer.from(bytes).toString()) as Record<string, string> & { icons: Icon[] };
  const { start_url, scope, display } = manifest;
  expect({ start_url, scope, display }).toEqual({ start_url: '/#/counter', scope: '/', display: 'fullscreen' });
  const kinds = manifest.icons.map(({ sizes, type, purpose }) => `${sizes} ${type} ${purpose}`).sort();
  expect(kinds).toEqual([
    '192x192 image/png any',
    '512x512 image/png any',
    '512x512 image/png maskable',
    'any image/svg+xml any',
  ]);
  for (const { src, sizes, type } of manifest.icons) {
    const icon = await get(src);
    expect([icon.status, icon.headers['content-type']]).toEqual([200, type]);
    if (type !== 'image/png') continue;
    // the width and the height of a PNG are its bytes 16 to 23
    const [width, height] = [Buffer.from(icon.bytes).readUInt32BE(16), Buffer.from(icon.bytes).readUInt32BE(20)];
    expect(`${width}x${height}`).toBe(sizes);
  }
});

describe('own addresses', () => {
  const of = (name: string, address: string, family = 'IPv4', internal = false): NodeJS.Dict<object[]> => ({
    [name]: [{ address, family, internal }],
  });
  type Interfaces = ReturnType<typeof networkInterfaces>;
  it('are private ones, those of the network before those of containers', () => {
    const all = {
      ...of('lo', '127.0.0.1', 'IPv4', true),
      ...of('docker0', '172.17.0.1'),
      ...of('eth0', '192.168.1.20'),
      ...of('eth1', '203.0.113.7'),
      ...of('eth2', 'fd00::1', 'IPv6'),
    };
    expect(ownAddresses(all as Interfaces)).toEqual(['192.168.1.20', '172.17.0.1']);
  });

  it.each([
    ['10.0.0.1', true],
    ['::ffff:192.168.1.4', true],
    ['fe80::1', true],
    ['100.64.0.1', true],
    ['8.8.8.8', false],
    ['2001:4860:4860::8888', false],
    ['shop.example', false],
    ['', false],
  ])('%j is local: %s', (address, expected) => {
    expect(isLocalAddress(address)).toBe(expected);
  });
});
