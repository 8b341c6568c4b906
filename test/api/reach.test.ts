/** The test of the public address: a page that takes no payment, opened once by whoever scans its code. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

let daemon: TestDaemon;
const PUBLIC = 'https://pay.example.com';
beforeAll(async () => {
  daemon = await startTestDaemon(`public_url = "${PUBLIC}"\ntrusted_proxies = ["127.0.0.1"]\n[console]\nport = 0\n`);
});
afterAll(() => daemon.stop());

const call = () => strictCaller(daemon.dataDir);
const show = () => call()('reach.show', {});
/** As the proxy passes on what a device asks it. */
const open = (url: string, from: string, more: RequestInit & { language?: string } = {}) =>
  fetch(url.replace(PUBLIC, daemon.url), {
    ...more,
    headers: { 'x-forwarded-for': from, 'accept-language': more.language ?? 'en' },
  });
const begin = async (): Promise<string> => (await call()('reach.test', {})).url;

describe('a test', () => {
  it.each([
    ['203.0.113.7', 'internet', 'the internet'],
    ['192.168.1.33', 'own', 'the shop’s own network'],
  ])('tells that %s opened it', async (from, network, words) => {
    const url = await begin();
    expect((await show()).test).toMatchObject({ url, opened: null });
    const page = await open(url, from);
    const text = await page.text();
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(text).toContain('This phone reaches the shop');
    expect(text).toContain('pay.example.com');
    expect(text).toContain(words);
    expect(text).not.toContain('<script');
    const shown = await show();
    expect(shown.test?.opened).toMatchObject({ network });
    expect(shown.tested).toEqual(shown.test?.opened);
    // a second device changes nothing
    await open(url, '10.0.0.9');
    expect((await show()).test).toEqual(shown.test);
  });

  it('is German on a German phone', async () => {
    const page = await open(await begin(), '203.0.113.7', { language: 'de-AT' });
    expect(await page.text()).toContain('Dieses Telefon erreicht den Shop');
  });

  it('is opened by no look ahead, no other code, and not after ten minutes', async () => {
    const url = await begin();
    expect((await open(url, '203.0.113.7', { method: 'HEAD' })).status).toBe(404);
    const other = await begin();
    expect((await open(url, '203.0.113.7')).status).toBe(404);
    for (const code of ['x', '%ff', `${'A'.repeat(22)}`]) {
      expect((await open(`${PUBLIC}/pay/reach/${code}`, '203.0.113.7')).status).toBe(404);
    }
    expect((await open(other, '203.0.113.7', { method: 'POST' })).status).toBe(405);
    expect((await show()).test).toMatchObject({ opened: null });
    daemon.advance(600_001);
    expect((await open(other, '203.0.113.7')).status).toBe(404);
    expect((await show()).test).toBeNull();
  });

  it('stays over a restart', async () => {
    await open(await begin(), '203.0.113.7');
    const before = await show();
    await daemon.restart();
    expect(await show()).toEqual({ ...before, own_url: expect.any(String) });
    expect(before.reach).toBe('everybody');
    expect(before.test?.url.startsWith(`${PUBLIC}/pay/reach/`)).toBe(true);
  });
});
