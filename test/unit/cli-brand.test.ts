/** `countinghouse business brand` against a running service. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { cli } from './cli-kit.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let service: TestDaemon;
let logo: string;
beforeAll(async () => {
  service = await startTestDaemon();
  logo = join(service.dataDir, 'logo.png');
  await writeFile(logo, PNG);
});
afterAll(() => service.stop());

const brand = (...argv: string[]) => cli(service.dataDir, ['business', 'brand', '1', ...argv]);

it('sets what is named, keeps the rest, and takes back what is said to go', async () => {
  const all = await brand('--name', 'Rosa & Co', '--accent', '#B03060', '--logo', logo);
  expect(all).toMatchObject({ code: 0, err: '' });
  expect(all.out).toMatch(/Rosa & Co[\s\S]*#b03060[\s\S]*yes/);
  const one = await brand('--no-accent', '--json');
  expect(JSON.parse(one.out).business.brand).toEqual({
    name: 'Rosa & Co',
    accent: null,
    logo: expect.stringMatching(/^[0-9a-f]{32}$/),
    contact: null,
    favourites: [],
    currency: null,
  });
  expect((await brand('--no-name', '--no-logo')).out).toMatch(/Sandbox[\s\S]*the usual one[\s\S]*none/);
});

it('sets whom payers ask, and the coins that they see first', async () => {
  const set = await brand('--contact', 'rosa@shop.example', '--favourites', 'XMR,LTC');
  expect(set.out).toMatch(/rosa@shop.example[\s\S]*XMR, LTC/);
  const made = await service.call<{ id: string }>('POST', '/invoice', { amount: 50, crypto: 'ALL' });
  const page = await (await fetch(`${service.url}/pay/${made.body.id}`)).text();
  const keys = [...page.matchAll(/<li data-key="(\w+)"/g)].map(([, key]) => key);
  expect(keys.slice(0, 3)).toEqual(['XMR', 'LTC', 'BTC']);
  expect(page).toContain('<dt>Contact</dt><dd><bdi class="clip">rosa@shop.example</bdi></dd>');
  expect((await brand('--no-contact', '--no-favourites')).out).toMatch(/Contact +none\nFirst +the usual order/);
  expect((await brand('--currency', 'CHF')).out).toMatch(/^Currency +CHF$/m);
  expect((await brand('--currency', 'chf')).out).toMatch(/^Currency +CHF$/m);
  expect((await brand('--currency', 'chfs')).err).toContain('CHFS is no currency that invoices can have');
  expect((await brand('--no-currency')).out).toMatch(/^Currency +none chosen$/m);
});

it.each([
  [[], /nothing to change/],
  [['--accent', 'red'], /red is no colour/],
  [['--contact', ' '], /A contact has 1 to 200 characters/],
  [['--favourites', 'ltc,doge'], /DOGE is no cryptocurrency/],
  [['--logo', '/nowhere/logo.png'], /cannot be read/],
])('refuses %j', async (argv, words) => {
  const { code, err } = await brand(...argv);
  expect(code).not.toBe(0);
  expect(err).toMatch(words);
});

it('is named by commands that need one where only the sandbox is there', async () => {
  for (const command of [
    ['statement', '--month', '2026-10'],
    ['closing', 'list'],
  ]) {
    const { code, err } = await cli(service.dataDir, command);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'error: there is no business but the sandbox: name it with --business: Sandbox\n',
    });
  }
});

it('refuses a file that is no picture, and one that is far too large', async () => {
  const text = join(service.dataDir, 'logo.svg');
  await writeFile(text, '<svg/>');
  expect((await brand('--logo', text)).err).toMatch(/PNG, JPEG or WebP/);
  await writeFile(text, Buffer.alloc(300_000));
  expect((await brand('--logo', text)).err).toMatch(/too large/);
});
