/** Whatever anybody sends to the browser API is answered in its own words: no request is a bug. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anyCharacter } from '../support/characters.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { NO_LIMITS, type PageCall, pageOf } from './client-kit.ts';

let service: TestDaemon;
let call: PageCall;
beforeAll(async () => {
  service = await startTestDaemon(NO_LIMITS);
  call = pageOf(service, service.clientId, 'null');
});
afterAll(() => service.stop());

const RUNS = 150;
const hostile = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('<script>alert(1)</script>', '\u202egnp.exe', '💸'.repeat(300), '\u0000', '1e400', '-0', '__proto__'),
  fc.constantFrom(Number.MAX_VALUE, -1, 1e-300, 10.005, 25),
);

it('bodies of createInvoice and requestPayment', async () => {
  const fields = [
    'amount',
    'currency',
    'crypto',
    'due_date',
    'close_url',
    'redirect_url',
    'automatic_redirect',
    'webhook_url',
  ];
  const { id } = (await call<{ id: string }>('POST', '/invoice', { amount: 20 })).body;
  const body = fc
    .dictionary(fc.constantFrom(...fields), hostile)
    .map((given): Record<string, unknown> => ({ amount: 25, ...given }));
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const made = await call('POST', '/invoice', given);
      expect([201, 422]).toContain(made.status);
      if (made.status === 422) expect(Object.keys(made.body)).toEqual(['message', 'errors']);
      const asked = await call('POST', `/invoice/rp/${id}`, { crypto: given.crypto ?? 7 });
      expect([201, 400, 422]).toContain(asked.status);
    }),
    { numRuns: RUNS },
  );
});

it('texts that are no JSON, and slugs that are none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 60 }), async (text) => {
      const made = await call('POST', '/invoice', `{"amount":${text}`);
      expect([201, 400, 422]).toContain(made.status);
      const got = await call('GET', `/invoice/${encodeURIComponent(text.toWellFormed())}`);
      expect(got.status).toBe(404);
    }),
    { numRuns: RUNS },
  );
});

it('headers', async () => {
  const value = fc.stringMatching(/^[ -~]{0,80}$/);
  await fc.assert(
    fc.asyncProperty(value, value, async (origin, clientId) => {
      const answer = await pageOf(service, clientId, origin)('GET', '/cryptos');
      expect(answer.status).toBe(401);
      const own = await pageOf(service, service.clientId, origin)('GET', '/cryptos');
      expect(own.status).toBe(200);
    }),
    { numRuns: RUNS },
  );
});
