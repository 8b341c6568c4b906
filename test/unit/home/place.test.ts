/** The folder of a server at home. */
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addressOf, readServer, writeServer } from '../../../daemon/home/place.ts';

const SERVER = {
  url: 'https://pay.shop.example',
  service: 'key',
  name: 'home',
  machine: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' },
};

it.skipIf(process.platform === 'win32')('keeps the private key for its owner alone, whatever was there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'place-'));
  try {
    const file = join(folder, 'server.json');
    await writeFile(file, 'cut off');
    await chmod(file, 0o644);
    await writeServer(folder, SERVER);
    expect(await readServer(folder)).toEqual(SERVER);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['server.json']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('is of the time when it was joined first, until another server takes its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'place-'));
  try {
    const [first, later] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'];
    await writeServer(folder, { ...SERVER, joined: first });
    await writeServer(folder, { ...SERVER, url: 'https://elsewhere.example', joined: later });
    expect(await readServer(folder)).toEqual({ ...SERVER, url: 'https://elsewhere.example', joined: first });
    await writeServer(folder, { ...SERVER, service: 'another key', joined: later });
    expect(await readServer(folder)).toMatchObject({ joined: later });
    // one that an earlier release joined is as old as can be
    await writeServer(folder, SERVER);
    await writeServer(folder, { ...SERVER, joined: later });
    expect(await readServer(folder)).toEqual(SERVER);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it.each([
  ['pay.shop.example', 'https://pay.shop.example'],
  ['pay.shop.example:8481', 'https://pay.shop.example:8481'],
  // a tunnel has no certificate
  ['127.0.0.1:8481', 'http://127.0.0.1:8481'],
  ['localhost:8481', 'http://localhost:8481'],
  ['[::1]:8481', 'http://[::1]:8481'],
  ['localhost', 'http://localhost'],
  ['https://localhost:8481', 'https://localhost:8481'],
])('of the address %s is %s', (typed, url) => {
  expect(addressOf(typed).url).toBe(url);
});

it('has no address without https but on this computer', () => {
  expect(() => addressOf('http://pay.shop.example')).toThrow('without https');
  for (const typed of ['localhost.shop.example', '127.0.0.1.shop.example']) {
    expect(addressOf(typed).url).toBe(`https://${typed}`);
  }
});
