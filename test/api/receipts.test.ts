/** Receipts by e-mail: who can have one, what it says, and what nobody can do with it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';

type Mail = { to: string[]; data: string };
const mails: Mail[] = [];
let refuses = false;
let smtp: SMTPServer;
let daemon: TestDaemon;

beforeAll(async () => {
  smtp = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onRcptTo({ address }, _session, done) {
      done(address.startsWith('nobody') ? Object.assign(new Error('no such mailbox'), { responseCode: 550 }) : null);
    },
    onData(stream, session, done) {
      let data = '';
      stream.on('data', (part: Buffer) => {
        data += part.toString('utf8');
      });
      stream.on('end', () => {
        if (refuses) return done(new Error('not now'));
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), data });
        done();
      });
    },
  });
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as AddressInfo;
  daemon = await startTestDaemon(
    `[payments]\nemail_receipts = true\n[alerts]\nsmtp = "smtp://127.0.0.1:${port}"\nemail_from = "shop@shop.example"\nemail_to = ["me@shop.example"]\n[sandbox]\nblock_seconds = 0\npublic = true\n`,
  );
});
afterAll(async () => {
  await daemon?.stop();
  await new Promise<void>((resolve) => smtp.close(() => resolve()));
});

async function made(isPaid: boolean): Promise<string> {
  const body = { amount: 60, crypto: 'LTC', description: 'Buy at spam.example', order_id: 'spam.example' };
  const { id } = (await daemon.call<{ id: string }>('POST', '/invoice', body)).body;
  // a chain is followed again a moment after the clock was moved
  await until('the payment is requested', async () => {
    return (await daemon.call('POST', `/invoice/rp/${id}`, {})).status === 201;
  });
  if (!isPaid) return id;
  await daemon.call('POST', '/sandbox/pay', { invoice_id: id });
  await daemon.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 12 });
  await until(
    'it is paid',
    async () => (await daemon.call<{ status: string }>('GET', `/invoice/${id}`)).body.status === 'paid',
  );
  return id;
}

const page = async (slug: string): Promise<string> => (await fetch(`${daemon.url}/pay/${slug}?lang=de`)).text();
const ask = (slug: string, email: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${daemon.url}/pay/${slug}/receipt?lang=de`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ email }),
  });
const stored = (): unknown[] => {
  const db = new DatabaseSync(join(daemon.dataDir, 'countinghouse.db'), { readOnly: true });
  try {
    return db.prepare('SELECT email, body, asked FROM receipt WHERE email IS NOT NULL OR body IS NOT NULL').all();
  } finally {
    db.close();
  }
};

it('is sent to who asks for it, in his language, and the address is forgotten', async () => {
  const slug = await made(true);
  expect(await page(slug)).toContain('Beleg per E-Mail an');
  const answer = await ask(slug, 'payer@home.example');
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `../../pay/${slug}?lang=de`]);
  await until('the receipt is sent', async () => mails.length === 1);
  const [mail] = mails;
  expect(mail!.to).toEqual(['payer@home.example']);
  const text = decodeURIComponent(
    mail!.data
      .replace(/=\r?\n/g, '')
      .replace(/%/g, '%25')
      .replace(/=([0-9A-F]{2})/g, '%$1'),
  );
  expect(text).toContain('0,75 LTC');
  expect(text).toContain(slug);
  // whoever makes an invoice in a browser writes these
  expect(mail!.data).not.toContain('spam');
  await until('nothing of the payer is stored', async () => stored().length === 0);
});

it('is sent for money alone, to one address, and three times at most', async () => {
  const unpaid = await made(false);
  expect((await ask(unpaid, 'a@b.example')).status).toBe(422);
  const marked = (await daemon.call<{ id: string }>('POST', '/invoice', { amount: 5 })).body.id;
  expect(await page(marked)).not.toContain('name="email"');
  const slug = await made(true);
  const before = mails.length;
  const lists = [
    'a@b.example,c@d.example',
    'a@b.example c@d.example',
    'A <a@b.example>',
    '"a"@b.example',
    'a@b',
    'x',
    '',
  ];
  for (const wrong of [...lists, 'a@b.example\r\nBcc: c@d.example', `${'a'.repeat(250)}@b.example`]) {
    const answer = await ask(slug, wrong);
    expect([wrong, answer.status]).toEqual([wrong, 422]);
    expect(await answer.text()).toContain('Bitte geben Sie eine E-Mail-Adresse ein.');
    // the limit of an address by the minute
    daemon.advance(10_000);
  }
  for (const n of [1, 2, 3]) {
    expect((await ask(slug, `payer${n}@home.example`)).status).toBe(303);
    await until(`receipt ${n} is sent`, async () => mails.length === before + n && stored().length === 0);
    daemon.advance(60_000);
  }
  expect((await ask(slug, 'payer4@home.example')).status).toBe(422);
  expect(await page(slug)).not.toContain('name="email"');
  expect(mails.slice(before).map(({ to }) => to)).toEqual([1, 2, 3].map((n) => [`payer${n}@home.example`]));
});

it('is tried again while the server refuses it, then forgotten', async () => {
  const slug = await made(true);
  refuses = true;
  expect((await ask(slug, 'payer@home.example')).status).toBe(303);
  expect(await page(slug)).toContain('Der Beleg ist per E-Mail unterwegs.');
  await until('it was given up', async () => {
    daemon.advance(30 * 60_000);
    return stored().length === 0;
  });
  refuses = false;
  expect(mails.filter(({ data }) => data.includes(slug))).toEqual([]);
});

it('is not sent for money of the sandbox to who asks from elsewhere', async () => {
  const slug = await made(true);
  const before = mails.length;
  expect((await ask(slug, 'stranger@home.example', { 'x-forwarded-for': '198.51.100.7' })).status).toBe(422);
  expect([stored(), mails.length]).toEqual([[], before]);
});

it('is given up at once where the server refuses the address for good', async () => {
  const slug = await made(true);
  expect((await ask(slug, 'nobody@home.example')).status).toBe(303);
  await until('it was given up', async () => stored().length === 0);
});

it('is sent to one address three times a day, however it is written', async () => {
  const slugs = [await made(true), await made(true)];
  daemon.advance(60_000);
  const answers: number[] = [];
  for (const [i, email] of [
    'often@home.example',
    'Often@Home.example',
    'OFTEN@home.example',
    'often@home.example',
  ].entries()) {
    answers.push((await ask(slugs[i % 2]!, email)).status);
    await until('it is sent', async () => stored().length === 0);
    daemon.advance(60_000);
  }
  expect(answers).toEqual([303, 303, 303, 422]);
});
