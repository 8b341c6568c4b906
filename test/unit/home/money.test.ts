/** What a foreign address means for the money: by this computer's own record, and by the word of a server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OperatorError } from '../../../daemon/contract/client.ts';
import type { Call } from '../../../daemon/contract/operator.ts';
import type { Alarm, Foreign } from '../../../daemon/contract/signing-machine.ts';
import { invoicesOf, signedAround, toldBy } from '../../../daemon/home/money.ts';
import { Money } from '../../../main/money.ts';

const FOUND = '2026-03-04T05:06:07.000000Z';
const foundMs = Date.parse(FOUND);
const HOUR_MS = 3_600_000;
const seen = (invoice: string | null, at = FOUND): Foreign => ({
  at,
  where: 'page',
  invoice,
  network: 'mainnet',
  chain: 'LTC',
  account_no: 0,
  index: 7,
  shown: 'ltc1theirs',
  own: 'ltc1ours',
});
const alarmOf = (...all: Foreign[]): Alarm => ({ seen: all, more: 0 });

describe('the record of this computer', () => {
  let folder: string;
  const record = (...lines: object[]) =>
    writeFile(
      join(folder, 'signer-journal.jsonl'),
      lines.map((line) => `${'0'.repeat(64)} ${JSON.stringify(line)}\n`).join(''),
    );
  const signed = (txid: string, at: number, entry: object = {}) => ({
    kind: 'sign',
    at,
    purpose: 'pay',
    txid,
    fee: '100',
    inputs: [`${txid}:0`],
    entries: [{ uuid: `uuid of ${txid}`, identity: 'x', feeMax: '100', ...entry }],
  });
  const start = { kind: 'start', at: 0, fingerprint: '73c5da0a', sealed: true, epoch: 'a'.repeat(32) };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'money-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('says what was signed in the day before the first foreign address and since, and what of it without a new approval', async () => {
    const spent = { spent: { subject: 'mainnet/0/LTC', units: '5' } };
    const fast = { ...signed('faster', foundMs - HOUR_MS), entries: signed('approved', 0).entries };
    await record(
      start,
      signed('older', foundMs - 25 * HOUR_MS),
      signed('approved', foundMs - 23 * HOUR_MS),
      { ...signed('policy', foundMs - 2 * HOUR_MS, { feeMax: '0', byPolicy: true }), ...spent },
      fast,
      // a second time, as after a break
      fast,
      signed('later', foundMs),
    );
    const later = new Date(foundMs + HOUR_MS).toISOString();
    expect(await signedAround(folder, alarmOf(seen('b', later), seen('a')))).toEqual({
      before: { all: 3, unasked: 2 },
      since: { all: 1, unasked: 0 },
    });
  });

  it('says nothing where it was never written, and does not guess where it cannot be read', async () => {
    const none = { all: 0, unasked: 0 };
    expect(await signedAround(folder, alarmOf(seen('a')))).toEqual({ before: none, since: none });
    await record(start, { kind: 'of another release', at: foundMs });
    expect(await signedAround(folder, alarmOf(seen('a')))).toBeNull();
    await record(start);
    // a damaged file of the alarm
    expect(await signedAround(folder, alarmOf())).toBeNull();
    expect(await signedAround(folder, alarmOf(seen('a', 'some time')))).toBeNull();
  });
});

const business = (id: number, network: string, balances: [string, string, string?][], watched: string[] = []) => ({
  id,
  network,
  watch_only: watched,
  balances: balances.map(([crypto, amount, withheld = null]) => ({ crypto, amount, withheld })),
});
const invoice = (amount: string, currency: string, payment: object | null) => ({ amount, currency, payment });

const gone = new OperatorError(404, { code: 'invoice.not_found', message: 'There is no such invoice' });

function serverSaying(businesses: object[], invoices: Record<string, object>, asked: string[] = []): Call {
  return (async (method: string, params: { invoice: string }) => {
    asked.push(method === 'invoice.show' ? params.invoice : method);
    if (method === 'business.list') return { businesses };
    if (method === 'invoice.counts') return { unpaid: 7 };
    if (!invoices[params.invoice]) throw gone;
    return { invoice: invoices[params.invoice] };
  }) as unknown as Call;
}

describe('the word of the server', () => {
  it('is added up by coin, currency and network, without play money and without keys in another wallet', async () => {
    const call = serverSaying(
      [
        business(1, 'sandbox', [['LTC', '999']]),
        business(2, 'mainnet', [
          ['LTC', '1.5'],
          ['USDT_ERC20', '20', 'a source is away'],
        ]),
        business(
          3,
          'mainnet',
          [
            ['LTC', '0.00000001'],
            ['BTC', '3'],
            ['NEW', '4'],
          ],
          ['BTC'],
        ),
        business(4, 'regtest', [['LTC', '2']]),
      ],
      {
        a: invoice('60', 'EUR', { crypto: 'LTC', received: '0.7' }),
        b: invoice('0.5', 'EUR', { crypto: 'LTC', received: '0.25' }),
        c: invoice('9', 'USD', null),
      },
    );
    const alarm = alarmOf(seen('a'), seen('a'), seen(null), seen('b'), seen('c'), seen('gone'));
    expect(invoicesOf(alarm)).toEqual(['a', 'b', 'c', 'gone']);
    expect(await toldBy(call, alarm, foundMs)).toEqual({
      at: FOUND,
      unpaid: 21,
      covers: 3,
      asked: [
        { unit: 'EUR', amount: '60.5' },
        { unit: 'USD', amount: '9' },
      ],
      received: [{ unit: 'LTC', amount: '0.95' }],
      balances: [
        { network: 'mainnet', crypto: 'LTC', amount: '1.50000001', atLeast: false },
        { network: 'mainnet', crypto: 'USDT_ERC20', amount: '20', atLeast: true },
        { network: 'regtest', crypto: 'LTC', amount: '2', atLeast: false },
      ],
    });
  });

  it('is asked of a bounded number of invoices', async () => {
    const asked: string[] = [];
    const names = Array.from({ length: 50 }, (_, at) => `slug${at}`);
    await toldBy(serverSaying([], {}, asked), alarmOf(...names.map((name) => seen(name))), foundMs);
    expect(asked).toEqual(['business.list', ...names.slice(0, 20)]);
  });

  it('is kept when the server is switched off', async () => {
    let [isOff, breaks] = [false, false];
    const on = serverSaying([business(1, 'mainnet', [['LTC', '1']])], {
      a: invoice('60', 'EUR', { crypto: 'LTC', received: '0.7' }),
    });
    const call = (async (...asked: Parameters<Call>) => {
      if (isOff || (breaks && asked[0] === 'invoice.show')) throw new Error('it does not answer');
      return on(...asked);
    }) as Call;
    const money = new Money('/nowhere', call);
    const alarm = alarmOf(seen('a'));
    expect((await money.known(alarm)).told).toBeNull();
    await money.ask(alarm);
    isOff = true;
    await money.ask(alarm);
    isOff = false;
    breaks = true;
    await money.ask(alarm);
    const told = { asked: [{ unit: 'EUR', amount: '60' }], covers: 1, balances: [{ crypto: 'LTC', amount: '1' }] };
    expect((await money.known(alarm)).told).toMatchObject(told);
    // another one in its place has not said it
    const next = new Money('/nowhere', call, money);
    const grown = alarmOf(...alarm.seen, seen('b'));
    expect((await next.known(grown)).told).toMatchObject(told);
    expect((await next.known(alarmOf(seen('b')))).told).toBeNull();
  });

  it('is of no other alarm, where it comes after the operator has looked', async () => {
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>();
    const call = (async (...asked: Parameters<Call>) => {
      await answers;
      return serverSaying([], {})(...asked);
    }) as Call;
    const money = new Money('/nowhere', call);
    const asked = money.ask(alarmOf(seen('a')));
    answer();
    await asked;
    expect((await money.known(alarmOf(seen('b')))).told).toBeNull();
  });
});
