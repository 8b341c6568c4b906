/** Paying out on a disk that fills up while something is signed, on one that became read-only, and by a clock that jumps. */
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SignerClient } from '../../daemon/wallet/signer/client.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger, withdrawal } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

/**
 * One of each kind of chain. `usd`: a deposit that pays all of them. `amount`: of each payment. `signsOffline`: whether it is
 * planned without its source; an account chain asks it for the nonce.
 */
const FAMILIES = [
  { crypto: 'LTC', usd: 1_200, amount: '0.5', signsOffline: true },
  { crypto: 'ETH', usd: 3_000, amount: '0.05', signsOffline: false },
  { crypto: 'XMR', usd: 1_200, amount: '0.5', signsOffline: true },
] as const;
type Family = (typeof FAMILIES)[number];

const DAY = 24 * 3_600_000;

let service: TestDaemon;
let operator: Operator;
let db: Database.Database;

beforeAll(async () => {
  const seen: Database.Database[] = [];
  const { prepare } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql) {
    seen.push(this);
    return prepare.call(this, sql);
  });
  service = await startTestDaemon();
  spy.mockRestore();
  db = seen.find(({ name }) => name.endsWith('countinghouse.db'))!;
  operator = new Operator(service.dataDir);
  for (const { crypto, usd } of FAMILIES) await deposit(service, crypto, usd);
});
afterAll(() => service.stop());
afterEach(() => {
  vi.restoreAllMocks();
  heal();
});

const pages = (): number => db.pragma('page_count', { simple: true }) as number;
const fill = (): unknown => db.pragma(`max_page_count = ${pages()}`);
const heal = (): void => {
  db.pragma('query_only = OFF');
  db.pragma(`max_page_count = ${pages() + 1_000_000}`);
};

let recipients = 200;
const mine = ({ crypto }: Family, blocks = 1) => service.call('POST', '/sandbox/mine', { crypto, blocks });
const request = ({ crypto, amount }: Family, address: string) =>
  service.call<Shown>('POST', '/withdraw', { amount, crypto, address });
const paidTo = (address: string): number => {
  const { length } = db
    .prepare(`SELECT 1 FROM sandbox_output o JOIN withdrawal w ON w.address = ? AND o.units = w.units
      JOIN spend_payout p ON p.withdrawal_id = w.id JOIN spend_version v ON v.id = p.version_id
      JOIN sandbox_tx t ON t.id = o.tx_id AND t.txid = v.txid`)
    .all(address);
  return length;
};

async function completes(family: Family, id: string, address: string): Promise<void> {
  await until('it is completed', async () => {
    // what comes back on Monero is locked for ten blocks
    await mine(family, 10);
    return (await withdrawal(service, id)).status === 'completed';
  });
  expect((await operator.show(id)).versions).toHaveLength(1);
  expect(paidTo(address)).toBe(1);
}

describe.each(FAMILIES)('$crypto: a disk', (family) => {
  it.each<[how: string, break_: () => unknown]>([
    ['full', fill],
    ['read-only', () => db.pragma('query_only = ON')],
  ])(
    'that becomes %s while a withdrawal is signed: the same bytes are stored and sent once it is well',
    async (how, break_) => {
      const { sign } = SignerClient.prototype;
      const signed: string[] = [];
      vi.spyOn(SignerClient.prototype, 'sign').mockImplementation(async function (this: SignerClient, order) {
        const spend = await sign.call(this, order);
        signed.push(spend.raw);
        if (signed.length === 1) break_();
        return spend;
      });
      const address = stranger(family.crypto, recipients++);
      const { body } = await request(family, address);
      await until('it was signed', async () => signed.length > 0);
      if (how === 'read-only') {
        // nothing was stored, so nothing was sent; requests are told to come back
        const refused = await request(family, stranger(family.crypto, recipients++));
        expect(refused).toMatchObject({ status: 503, body: { status: 'error' } });
        expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
        expect((await operator.show(body.id)).versions[0]).toMatchObject({ tx_id: null, sent_at: null });
        expect(paidTo(address)).toBe(0);
      }
      heal();
      await completes(family, body.id, address);
      expect(new Set(signed).size).toBe(1);
    },
  );
});

describe.each(FAMILIES)('$crypto: a clock', (family) => {
  it.each([
    ['forward', 30 * DAY],
    ['back', -45 * DAY],
  ])('that jumps %s while a withdrawal is under way changes nothing about it', async (_, ms) => {
    const address = stranger(family.crypto, recipients++);
    const outage = (down: boolean) => service.call('POST', '/sandbox/outage', { crypto: family.crypto, down });
    if (family.signsOffline) await outage(true);
    const { body } = await request(family, address);
    await until('its bytes are stored', async () => (await withdrawal(service, body.id)).fee !== null);
    service.advance(ms);
    await outage(false);
    await completes(family, body.id, address);
  });
});
