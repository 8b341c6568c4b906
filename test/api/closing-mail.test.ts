/** The e-mail about a closed day: what it says, that it goes out once, and what happens when it cannot. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { textOf } from '../../daemon/domain/messages.ts';
import { copied } from '../support/copied.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';
import { refusal, strictCaller } from './operator-raw.ts';

type Mail = { to: string[]; data: string };
const RATES = '[networks.sandbox.rates]\nLTC = "80"\nEUR = "0.92"\n';
const NAME = '\u202ECafé Kaffee';
const BOOKS = 'books@cafe.example';
const mails: Mail[] = [];
/** How the server answers to a text; `silent`: it takes it, says nothing and hangs up; `waits`: until somebody hangs up. */
let answer: 'takes' | 'later' | 'never' | 'silent' | 'waits' = 'takes';
let smtp: SMTPServer;
let daemon: TestDaemon;
let shop: string;
let config: string;
const call = () => strictCaller(daemon.dataDir);

beforeAll(async () => {
  smtp = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onRcptTo({ address }, _session, done) {
      done(
        answer === 'never' && address === BOOKS
          ? Object.assign(new Error('no such mailbox'), { responseCode: 550 })
          : null,
      );
    },
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        // an alert
        if (!session.envelope.rcptTo.some(({ address }) => address === BOOKS)) return done();
        if (answer === 'later') return done(Object.assign(new Error('not now'), { responseCode: 451 }));
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          data: Buffer.concat(parts).toString('utf8'),
        });
        if (answer === 'waits') return;
        if (answer === 'silent') return hangUp();
        done();
      });
    },
    logger: false,
  });
  smtp.on('error', () => undefined);
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as AddressInfo;
  config = `${RATES}[closing]\nmail = ["${BOOKS}"]\n[alerts]\nsmtp = "smtp://127.0.0.1:${port}"\nemail_from = "till@cafe.example"\nemail_to = ["me@cafe.example"]\n`;
  daemon = await startTestDaemon(config);
  const key = { name: 'key', scopes: ['invoices'] as ['invoices'] };
  const made = await call()('business.add', { name: NAME, network: 'sandbox', time_zone: 'Asia/Tokyo', key });
  shop = `${made.business.id}`;
  await call()('business.brand', { business: shop, currency: 'EUR' });
});
afterAll(async () => {
  await daemon?.stop();
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
});
beforeEach(() => {
  answer = 'takes';
  mails.length = 0;
});

function hangUp(): void {
  for (const connection of smtp.connections) (connection as { _socket: { destroy(): void } })._socket.destroy();
}

/** Sells a coffee, marks it as paid, and closes the day. */
async function closed(language: 'en' | 'de' = 'en'): Promise<number> {
  const lines = [{ item: null, price: '2.40', quantity: 1, vat: 700 }];
  const sale = { amount: '2.40', currency: 'EUR', note: null, tip: '0', request: randomUUID(), lines };
  const { invoice } = await call()('counter.sell', { business: Number(shop), ...sale });
  await call()('invoice.markPaid', { invoice });
  const { number } = (await call()('closing.next', { business: shop })).closing;
  await call()('closing.make', { business: shop, number, language });
  return number;
}
const mailOf = async (number: number) => {
  const { closings } = await call()('closing.list', { business: shop });
  return closings.find((one) => one.number === number)!.mail!;
};
/** The open alerts about the message of a closing. */
const alertsOf = async (number: number): Promise<string[]> =>
  (await call()('alert.list', { limit: 50 })).alerts
    .filter(({ kind }) => kind === 'closing.unsent')
    .map((one) => textOf(one.message))
    .filter((text) => text.includes(`closing ${number} `));
const stateOf = async (number: number): Promise<string> => (await mailOf(number)).state;

/** The parts of a message that are text, decoded. */
const textsIn = ({ data }: Mail): string[] =>
  data.split(/\r\n--[^\r\n]+\r\n/).map((part) => {
    const [head = '', body = ''] = part.split(/\r\n\r\n([\s\S]*)/);
    if (/base64/.test(head)) return Buffer.from(body, 'base64').toString('utf8');
    const bytes = body
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  });

describe('a closed day', () => {
  it('is sent to the books, with its figures as a file', async () => {
    expect((await call()('closing.next', { business: shop })).mail_to).toEqual(['books@cafe.example']);
    const number = await closed();
    await until('it is sent', async () => (await stateOf(number)) === 'sent');
    expect(mails.map(({ to }) => to)).toEqual([['books@cafe.example']]);
    const text = textsIn(mails[0]!).join('\n');
    expect(text).toContain(`Café Kaffee, closing ${number}`);
    expect(text).not.toContain('\u202E');
    expect(text).toContain('(Asia/Tokyo)');
    expect(text).toContain('Taken: €2.40');
    expect(text).toContain('7 %: net €2.24, tax €0.16, gross €2.40');
    expect(text).toContain(`EUR,tax,7 %,,2.24,0.16,2.4\r\n`);
    expect(await mailOf(number)).toMatchObject({ to: ['books@cafe.example'], problem: null, next_at: null });
  });

  // before the clock is moved, which the second life does not know
  it('is not sent again by a service that was killed while it sent it, and says so', async () => {
    answer = 'waits';
    const number = await closed();
    await until('the server has the text', async () => mails.length === 1);
    const killed = await mkdtemp(join(tmpdir(), 'countinghouse-killed-'));
    await copied(daemon.dataDir, killed);
    hangUp();
    await until('its end is stored', async () => (await stateOf(number)) === 'unknown');
    answer = 'takes';
    const next = await startTestDaemon(config, killed);
    try {
      const { closings } = await until('the next life has looked', async () => {
        const list = await strictCaller(next.dataDir)('closing.list', { business: shop });
        return list.closings.find((one) => one.number === number)!.mail!.state !== 'sending' && list;
      });
      const { state, problem } = closings.find((one) => one.number === number)!.mail!;
      expect([state, problem!.code, mails.length]).toEqual(['unknown', 'mail.ended', 1]);
    } finally {
      await next.stop();
      await rm(killed, { recursive: true, force: true });
    }
  });

  it('is told in the language of who closes it, and sent once more when asked', async () => {
    const number = await closed('de');
    await until('it is sent', async () => (await stateOf(number)) === 'sent');
    expect(textsIn(mails[0]!).join('\n')).toMatch(/Eingenommen: 2,40\s€/);
    const { out } = await cli(daemon.dataDir, ['closing', 'mail', `${number}`, '--business', shop]);
    expect(out).toContain('books@cafe.example');
    await until('it is sent again', async () => mails.length === 2);
    await until('that is stored', async () => (await stateOf(number)) === 'sent');
    expect(textsIn(mails[1]!).join('\n')).toContain('Taken: €2.40');
    const none = { business: shop, number: 999 };
    expect(await refusal(daemon.dataDir, 'closing.mail', none)).toMatchObject({
      status: 404,
      code: 'closing.not_found',
    });
  });

  it('is tried again while the server says later, and says why', async () => {
    answer = 'later';
    const number = await closed();
    await until('a try failed', async () => (await mailOf(number)).problem !== null);
    const waits = await mailOf(number);
    expect([waits.state, waits.problem!.code, waits.next_at !== null]).toEqual(['waiting', 'mail.message', true]);
    expect(await alertsOf(number)).toEqual([]);
    const again = { business: shop, number };
    expect(await refusal(daemon.dataDir, 'closing.mail', again)).toMatchObject({ code: 'closing.mail_waits' });
    answer = 'takes';
    daemon.advance(2 * 60_000);
    await until('it is sent', async () => (await stateOf(number)) === 'sent');
    expect(mails).toHaveLength(1);
  });

  it('is given up after a day', async () => {
    answer = 'later';
    const number = await closed();
    await until('a try failed', async () => (await mailOf(number)).problem !== null);
    daemon.advance(25 * 3_600_000);
    await until('it was given up', async () => (await stateOf(number)) === 'failed');
    expect(await mailOf(number)).toMatchObject({ problem: { code: 'mail.message' }, next_at: null });
    expect(await alertsOf(number)).toHaveLength(1);
    expect(mails).toEqual([]);
  });

  it('is given up at once where the server has no such mailbox', async () => {
    answer = 'never';
    const number = await closed();
    await until('it was given up', async () => (await stateOf(number)) === 'failed');
    expect((await mailOf(number)).problem).toEqual({ code: 'mail.people', values: { server: '127.0.0.1' } });
    const reason = '127.0.0.1 refused the sender or a recipient';
    expect(await alertsOf(number)).toEqual([
      `${NAME}: the e-mail about closing ${number} was not sent to books@cafe.example: ${reason}`,
    ]);
    answer = 'takes';
    await call()('closing.mail', { business: shop, number });
    await until('it is sent', async () => (await stateOf(number)) === 'sent');
    expect(await alertsOf(number)).toEqual([]);
  });

  it('is not sent again where the server had the text and said nothing', async () => {
    answer = 'silent';
    const number = await closed();
    await until('its end is not known', async () => (await stateOf(number)) === 'unknown');
    expect((await mailOf(number)).problem!.code).toBe('mail.maybe');
    expect(await alertsOf(number)).toEqual([expect.stringContaining('so it may have arrived')]);
    answer = 'takes';
    daemon.advance(20 * 60_000);
    const next = await closed();
    await until('the next one is sent', async () => (await stateOf(next)) === 'sent');
    expect(mails).toHaveLength(2);
  });
});
