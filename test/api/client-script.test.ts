/** The files that a shop's pages load from the service, and the example shop. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';

let service: TestDaemon;
beforeAll(async () => {
  service = await startTestDaemon();
});
afterAll(() => service.stop());

type Raw = { status: number; headers: Record<string, string | string[] | undefined>; bytes: number };

/** Without what `fetch` does by itself: unpacking, and asking for packed answers. */
const raw = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<Raw>((resolve, reject) => {
    const call = request(`${service.url}${path}`, { headers, method }, (response) => {
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes }));
    });
    call.once('error', reject);
    call.end();
  });

describe.each([
  ['/js/sdk.js', 'text/javascript; charset=utf-8'],
  ['/js/sdk.mjs', 'text/javascript; charset=utf-8'],
  ['/js/sdk.d.ts', 'application/typescript; charset=utf-8'],
  ['/js/sdk.d.mts', 'application/typescript; charset=utf-8'],
])('%s', (path, type) => {
  it('may be loaded by any page, as what it is', async () => {
    const { status, headers } = await raw(path, { origin: 'null' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': type,
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
    });
  });

  it('is sent once, and packed to those who can unpack it', async () => {
    const [plain, packed] = [await raw(path), await raw(path, { 'accept-encoding': 'br, gzip;q=0.5' })];
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers.vary).toBe('Accept-Encoding');
    expect(packed.bytes).toBeLessThan(plain.bytes / 2);
    const etag = packed.headers.etag as string;
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    expect(await raw(path, { 'if-none-match': etag })).toMatchObject({ status: 304, bytes: 0 });
    expect(await raw(path, { 'if-none-match': '"other"' })).toMatchObject({ status: 200 });
    const head = await raw(path, {}, 'HEAD');
    expect([head.status, head.bytes, head.headers['content-length']]).toEqual([200, 0, String(plain.bytes)]);
  });

  it('takes no other method', async () => {
    expect(await raw(path, {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });
});

it('the declarations declare the global too', async () => {
  const text = await (await fetch(`${service.url}/js/sdk.d.ts`)).text();
  expect(text).toContain('export declare function init(');
  expect(text).toMatch(/\nexport as namespace Countinghouse;\n$/);
});

it.each(['/js', '/js/', '/js/sdk.ts', '/js/..%2f..%2fpackage.json', '/js/sdk.js/x'])('%s is nothing', async (path) => {
  expect((await raw(path)).status).toBe(404);
});
