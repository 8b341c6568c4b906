/** The check of addresses at home: what an honest server shows, and each way in which a server that was taken over lies. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { contractOf, ethereumUri, paymentUri } from '../../../daemon/app/invoices/uri.ts';
import { deriveAddress } from '../../../daemon/chains/derive.ts';
import type { Call } from '../../../daemon/contract/operator.ts';
import type { Foreign, GivenAddress } from '../../../daemon/contract/signing-machine.ts';
import { ASSETS, assetOf, CHAINS, type ChainId, NETWORKS } from '../../../daemon/domain/assets.ts';
import { keepAccount, keepOthers, missingOf, readAccounts } from '../../../daemon/home/accounts.ts';
import { endAlarm, isOf, isStopped, raiseAlarm, readAlarm } from '../../../daemon/home/alarm.ts';
import { auditedIn, look } from '../../../daemon/home/auditor.ts';
import { openPage } from '../../../daemon/home/open-page.ts';
import { addressIn, readPage } from '../../../daemon/home/page-text.ts';
import { DEFAULT_LOCALE } from '../../../daemon/payment-page/locale.ts';
import type { InvoicePage } from '../../../daemon/payment-page/model.ts';
import { qrSvg } from '../../../daemon/payment-page/qr.ts';
import { renderPage } from '../../../daemon/payment-page/render.ts';
import { accountKey } from '../../../daemon/wallet/accounts.ts';
import { comparable, ownAddress } from '../../../daemon/wallet/own-address.ts';
import { SocksProxy } from '../../nodes/socks-proxy.ts';
import { undoAll } from '../../support/undo.ts';
import { codeOf, SEED } from '../wallet/signer-kit.ts';

const OTHER_SEED = new Uint8Array(64).fill(7);
const NOW = Date.parse('2026-03-04T05:06:07Z');
const keyOf = (chain: ChainId, seed: Uint8Array = SEED) => accountKey(seed, chain, 'regtest', 0);
const KEYS = Object.fromEntries(CHAINS.map((chain) => [chain, keyOf(chain)]));
const own = (chain: ChainId, index: number) => deriveAddress(chain, 'regtest', KEYS[chain]!, 0, index).address;
const foreign = (chain: ChainId, index = 0) =>
  deriveAddress(chain, 'regtest', keyOf(chain, OTHER_SEED), 0, index).address;

type Row = GivenAddress & { no: number; invoice: string };

/** A server's answers. Its lists may be changed at any time. */
class Fake {
  rows: Row[] = [];
  open: Row[] = [];
  /** Numbers that it leaves out, and the last number that it admits. */
  hides = new Set<number>();
  last: number | null = null;
  pages = 'http://127.0.0.1:9/pay/';
  asked = 0;
  /** Whether the connection ends once the list was told. */
  isCut = false;
  /** Where its unpaid invoices go on. */
  next: number | null = null;

  add(chain: ChainId, index: number, addresses = [own(chain, index)], more: Partial<Row> = {}): Row {
    const no = this.rows.length + 1;
    const row: Row = { no, invoice: `slug${no}`, network: 'regtest', chain, account_no: 0, index, addresses, ...more };
    this.rows.push(row);
    return row;
  }

  readonly call = (async (method: string, params: { from: number; limit: number }) => {
    if (method === 'address.open' && this.isCut) throw new Error('the connection ended');
    if (method === 'address.open') return { open: this.open, pages: this.pages, next: this.next };
    this.asked += 1;
    const { from, limit } = params;
    const last = this.last ?? this.rows.length;
    const given = this.rows.filter(({ no }) => no >= from && no <= last && !this.hides.has(no)).slice(0, limit);
    return { given, last };
  }) as unknown as Call;
}

let folder: string;
let server: Fake;
let undo: (() => unknown)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'));
  server = new Fake();
  undo = [];
  await keepAccount(folder, 'regtest', 0, KEYS);
});
afterEach(async () => {
  await undoAll([() => rm(folder, { recursive: true, force: true }), ...undo]);
});

const SERVICE = 'A'.repeat(87);
const audit = (url = 'http://127.0.0.1:8481', call = server.call, service = SERVICE) =>
  look(call, { url, service }, { folder, now: () => NOW, env: {}, signal: new AbortController().signal });

describe('addresses from keys at home', () => {
  it('are those that the server derives, on every chain and network', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CHAINS),
        fc.constantFrom(...NETWORKS),
        fc.integer({ min: 0, max: 2 ** 31 - 1 }),
        (chain, network, index) => {
          const key = accountKey(SEED, chain, network, 3);
          const { address } = deriveAddress(chain, network, key, 0, index);
          expect(ownAddress(key, chain, network, index)).toBe(address);
          expect(comparable(address, chain, network)).not.toBeNull();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are compared without case and prefix where a payer may see both', () => {
    const cash = own('BCH', 1);
    expect(comparable(cash.replace('bchreg:', ''), 'BCH', 'regtest')).toBe(comparable(cash, 'BCH', 'regtest'));
    expect(comparable(own('LTC', 1).toUpperCase(), 'LTC', 'regtest')).toBe(comparable(own('LTC', 1), 'LTC', 'regtest'));
    expect(comparable(own('LTC', 1), 'BTC', 'regtest')).toBeNull();
    expect(comparable(own('ETH', 1).toLowerCase(), 'ETH', 'regtest')).toBe(comparable(own('ETH', 1), 'ETH', 'regtest'));
  });
});

it('are derived of a bounded number of businesses at once, however many a server names', async () => {
  const named = Array.from({ length: 10_000 }, (_, account_no) => ({
    network: 'regtest' as const,
    account_no,
    watch_only: [],
  }));
  const missing = await missingOf(folder, named);
  expect([missing.length, missing[0]?.account_no]).toEqual([100, 1]);
  const derived: number[] = [];
  await keepOthers(folder, named, async (_, no) => {
    derived.push(no);
    return {};
  });
  expect(derived).toHaveLength(100);
});

it('are kept of every account, though two are kept at the same time', async () => {
  await Promise.all([1, 2, 3].map((no) => keepAccount(folder, 'regtest', no, KEYS)));
  expect(Object.keys(await readAccounts(folder))).toEqual(['regtest/0', 'regtest/1', 'regtest/2', 'regtest/3']);
});

describe('the list of addresses', () => {
  it('is compared once, from where the last look ended', async () => {
    for (let i = 0; i < 450; i++) server.add(CHAINS[i % 3]!, i);
    expect(await audit()).toEqual({ checked: 450, pages: 0, more: false, held: false, found: [], notes: [] });
    expect(server.asked).toBe(3);
    expect(await audit()).toMatchObject({ checked: 0, found: [] });
    server.add('XMR', 7);
    server.add('ETH', 8);
    expect(await audit()).toMatchObject({ checked: 2, found: [], notes: [] });
    expect((await auditedIn(folder, SERVICE))?.last).toEqual({ no: 452, address: own('ETH', 8) });
    expect(await isStopped(folder)).toBe(false);
  });

  it.each([...CHAINS])('shows a foreign address of %s: signing stops until the operator has looked', async (chain) => {
    server.add(chain, 4);
    server.add(chain, 5, [own(chain, 5), foreign(chain, 5)]);
    const { found } = await audit();
    expect(found).toMatchObject([{ where: 'list', chain, index: 5, shown: foreign(chain, 5), own: own(chain, 5) }]);
    expect(await isStopped(folder)).toBe(true);
    expect((await readAlarm(folder))?.seen).toEqual(found);
    await endAlarm(folder, { shown: 50, now: 'now' });
    expect(await isStopped(folder)).toBe(false);
    // the same one, listed again after a restore, raises it no more; another one does
    await rm(join(folder, 'audit.json'));
    server.add(chain, 6, [foreign(chain, 6)]);
    expect((await audit()).found).toMatchObject([{ index: 6, shown: foreign(chain, 6) }]);
    expect((await readAlarm(folder))?.seen).toHaveLength(1);
  });

  it('has no account that this computer did not make, no index out of range, and no other network', async () => {
    const mainnet = deriveAddress('LTC', 'mainnet', keyOf('LTC'), 0, 3).address;
    server.add('LTC', 1, [own('LTC', 1)], { account_no: 9 });
    server.add('LTC', 2, [own('LTC', 2)], { network: 'mainnet' });
    server.add('LTC', 2 ** 31, [own('LTC', 2)]);
    server.add('LTC', 3, [mainnet]);
    server.add('LTC', 4, [own('LTC', 5)]);
    server.add('LTC', 4, ['no address']);
    const { found } = await audit();
    expect(
      found.map(({ account_no, network, index, own: mine }) => [account_no, network, index, mine === null]),
    ).toEqual([
      [9, 'regtest', 1, true],
      [0, 'mainnet', 2, true],
      [0, 'regtest', 2 ** 31, true],
      [0, 'regtest', 3, false],
      [0, 'regtest', 4, false],
      [0, 'regtest', 4, false],
    ]);
  });

  it('may hide nothing: a number that is left out is asked for until it comes', async () => {
    for (let i = 0; i < 5; i++) server.add('LTC', i);
    server.rows[2]!.addresses = [foreign('LTC')];
    server.hides.add(3);
    const hidden = await audit();
    expect(hidden).toMatchObject({
      held: true,
      checked: 0,
      found: [],
      notes: [expect.stringContaining('from number 1 on')],
    });
    const heldSince = async () => (await auditedIn(folder, SERVICE))?.heldSince;
    expect(await heldSince()).toBe('2026-03-04T05:06:07.000000Z');
    expect((await audit()).notes).toHaveLength(1);
    server.hides.clear();
    expect((await audit()).found).toMatchObject([{ shown: foreign('LTC'), invoice: 'slug3' }]);
    expect(await heldSince()).toBeNull();
  });

  it('is compared anew when it goes back, also if it has grown past the old end meanwhile', async () => {
    for (let i = 0; i < 6; i++) server.add('LTC', i);
    await audit();
    server.rows.length = 3;
    server.add('LTC', 30);
    expect(await audit()).toMatchObject({ checked: 4, notes: [expect.stringContaining('ended with number 6')] });
    expect(await audit()).toMatchObject({ checked: 0, notes: [] });
    server.rows.length = 1;
    server.add('LTC', 40, [foreign('LTC')]);
    for (let i = 0; i < 6; i++) server.add('LTC', 50 + i);
    const grown = await audit();
    expect(grown).toMatchObject({ checked: 8, notes: [expect.stringContaining('compared anew')] });
    expect(grown.found).toMatchObject([{ index: 40, shown: foreign('LTC') }]);
  });

  it('is compared with the keys of accounts that were made since the look began', async () => {
    const key = accountKey(SEED, 'LTC', 'regtest', 1);
    server.add('LTC', 0, [ownAddress(key, 'LTC', 'regtest', 0)], { account_no: 1 });
    const call = (async (method: 'address.given', params: never) => {
      await keepAccount(folder, 'regtest', 1, { LTC: key });
      return server.call(method, params);
    }) as unknown as Call;
    expect(await audit(undefined, call)).toMatchObject({ checked: 1, found: [] });
    expect(await isStopped(folder)).toBe(false);
  });

  it('takes bounded work a look, and goes on where it ended', async () => {
    const same = [own('LTC', 1)];
    for (let i = 0; i < 2_100; i++) server.add('LTC', 1, same);
    expect(await audit()).toMatchObject({ checked: 2_000, more: true });
    expect(await audit()).toMatchObject({ checked: 100, more: false });
  });

  it('is not compared with nothing: without public keys that is said, and no number is passed', async () => {
    await rm(join(folder, 'accounts.json'));
    server.add('LTC', 1);
    expect(await audit()).toMatchObject({ checked: 0, notes: [expect.stringContaining('signer audit')] });
    await keepAccount(folder, 'regtest', 0, KEYS);
    expect(await audit()).toMatchObject({ checked: 1, notes: [] });
  });

  const seen = (index: number): Foreign => ({
    at: 'now',
    where: 'list',
    invoice: null,
    network: 'regtest',
    chain: 'LTC',
    account_no: 0,
    index,
    shown: `foreign ${index}`,
    own: null,
    service: SERVICE,
  });
  const indexes = async () => (await readAlarm(folder))?.seen.map(({ index }) => index);

  it('keeps what is seen while the operator ends the alarm about others', async () => {
    await raiseAlarm(folder, [seen(0), seen(1)], { service: SERVICE });
    expect(await codeOf(endAlarm(folder, { shown: 1, now: 'now' }))).toBe('signer.foreign_address');
    expect(await indexes()).toEqual([0, 1]);
    await endAlarm(folder, { shown: 2, now: 'now' });
    expect(await isStopped(folder)).toBe(false);
    for (let index = 2; index < 102; index += 2) {
      await raiseAlarm(folder, [seen(index)], { service: SERVICE });
      const ended = endAlarm(folder, { shown: 1, now: 'now' }).then(
        () => true,
        () => false,
      );
      await raiseAlarm(folder, [seen(index + 1)], { service: SERVICE });
      await ended;
      expect(await indexes()).toContain(index + 1);
      await endAlarm(folder, { shown: 2, now: 'now' });
      expect(await isStopped(folder)).toBe(false);
    }
  });

  it('loses no address that is seen beside many others, whoever comes first', async () => {
    const many = Array.from({ length: 50 }, (_, index) => seen(index));
    await raiseAlarm(folder, many, { service: SERVICE });
    const raised = raiseAlarm(folder, [seen(50)], { service: SERVICE });
    const ended = endAlarm(folder, { shown: 50, now: 'now' });
    expect((await raised).map(({ index }) => index)).toEqual([50]);
    expect(await codeOf(ended)).toBe('signer.foreign_address');
    expect(await readAlarm(folder)).toEqual({ seen: many, more: 1, of: [SERVICE] });
    await Promise.all([
      raiseAlarm(folder, [seen(51)], { service: SERVICE }),
      raiseAlarm(folder, [seen(52)], { service: SERVICE }),
    ]);
    expect(await readAlarm(folder)).toEqual({ seen: many, more: 3, of: [SERVICE] });
  });

  it('ends once, though the operator ends it twice at once', async () => {
    await raiseAlarm(folder, [seen(0)], { service: SERVICE });
    const looked = { shown: 1, now: 'now' };
    await Promise.all([endAlarm(folder, looked), endAlarm(folder, looked)]);
    expect(await isStopped(folder)).toBe(false);
    expect((await readFile(join(folder, 'foreign-addresses-looked-at.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(
      1,
    );
    expect(await raiseAlarm(folder, [seen(0)], { service: SERVICE })).toEqual([]);
  });

  it('says what it found, though the server ends the connection as soon as it has named it', async () => {
    server.add('LTC', 1, [foreign('LTC')]);
    server.isCut = true;
    expect(await audit()).toMatchObject({ found: [{ index: 1 }], notes: ['the connection ended'] });
    server.rows = [];
    expect(await audit().catch((error: Error) => error.message)).toBe('the connection ended');
  });

  it('raises the alarm again for an address that the operator has looked at in another place', async () => {
    const theirs = foreign('LTC');
    server.add('LTC', 1, [theirs], { invoice: '' });
    await audit();
    await endAlarm(folder, { shown: 1, now: 'now' });
    server.add('LTC', 2, [theirs], { invoice: '' });
    expect((await audit()).found).toMatchObject([{ index: 2, shown: theirs }]);
    await endAlarm(folder, { shown: 1, now: 'now' });
    server.rows = server.rows.slice(0, 1);
    expect((await audit()).found).toEqual([]);
  });

  it('stops signing though what the operator looked at cannot be read', async () => {
    await mkdir(join(folder, 'foreign-addresses-looked-at.jsonl'));
    server.add('LTC', 1, [foreign('LTC')]);
    expect((await audit()).found).toHaveLength(1);
    expect(await isStopped(folder)).toBe(true);
  });

  it('stops signing if the file of an alarm is damaged', async () => {
    await writeFile(join(folder, 'foreign-address.json'), '{');
    expect(await isStopped(folder)).toBe(true);
    expect(await readAlarm(folder)).toEqual({ seen: [], more: 0 });
  });
});

describe('the page of an unpaid invoice', () => {
  const pageServer = async (answer: (path: string) => string | null): Promise<void> => {
    const http: Server = createServer((request, response) => {
      const html = answer(request.url ?? '');
      if (html === null) response.writeHead(302, { location: 'http://127.0.0.1:1/' });
      response.end(html ?? '');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    undo.push(() => http.close());
    server.pages = `http://127.0.0.1:${(http.address() as AddressInfo).port}/pay/`;
  };
  /** As payment-page/pay.ts writes it. */
  const page = ({ text, copy = text, link = text, code = `litecoin:${text}?amount=0.1` }: Record<string, string>) =>
    `<p>Order for <b>${foreign('LTC', 9)}</b></p><a class="main" href="litecoin:${link}?amount=0.1">Open</a>` +
    `<p class="address mono" data-part="address">${(text ?? '').replace(/.{4}/g, '<span>$&</span><wbr>')}</p>` +
    `<button data-copy="0.1"></button><button data-copy="${copy}"></button>${qrSvg(code, 'code', 'LTC')}`;
  const mine = own('LTC', 5);
  const other = foreign('LTC', 5);

  it.each([
    ['what it shows', { text: other }, 'page'],
    ['what its button copies', { text: mine, copy: other }, 'page'],
    ['what its link opens', { text: mine, link: other, code: `litecoin:${mine}?amount=0.1` }, 'page'],
    ['what its QR code holds', { text: mine, code: `litecoin:${other}?amount=0.1` }, 'code'],
  ])('raises the alarm if %s is foreign', async (_, tampered, where) => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => page(tampered));
    const { found } = await audit();
    expect(found.map((one) => one.where)).toContain(where);
    expect(found.every((one) => one.invoice === 'slug1' && one.own === mine)).toBe(true);
    expect(await isStopped(folder)).toBe(true);
  });

  const whole = (text: string, more = '') => page({ text }).replace('<button', `${more}<button`);
  const contract = ASSETS.find(({ symbol }) => symbol === 'USDT_ERC20')!.contract!;
  it.each([
    [
      'a link whose parameter is ours, and which pays another address',
      `<a href="litecoin:${other}?address=${mine}">Open</a>`,
    ],
    ['a link with a second payee', `<a href="litecoin:${mine}?amount=0.1&amp;lightning=lnbc1thief">Open</a>`],
    ['a link in other quotes', `<a href='litecoin:${other}?amount=0.1'>Open</a>`],
    ['a link without quotes', `<a href=litecoin:${other}?amount=0.1>Open</a>`],
    ['a link without quotes after what looks like the end of its tag', `<a title=">" href=litecoin:${other}>Open</a>`],
    ['a link after a quote that opens nothing', `<a name=a"b title=">" href=litecoin:${other}>Open</a>`],
    ['a link whose scheme is broken by a line end', `<a href="lite\ncoin:${other}">Open</a>`],
    ['a link whose scheme is broken by an entity', `<a href="lite&Tab;coin:${other}">Open</a>`],
    ['a link after a control character', `<a href="\u0001litecoin:${other}">Open</a>`],
    ['a link with an entity that does not end', `<a href="litecoin&#0000000058${other}">Open</a>`],
    ['a link whose scheme is written as an entity', `<a href="&#108;itecoin:${other}?amount=0.1">Open</a>`],
    ['a link of another scheme', `<a href="wallet:pay?to=${other}">Open</a>`],
    [
      'a link after many others',
      `${'<a href="/help">Help</a>'.repeat(60)}<a href="litecoin:${other}?amount=0.1">Open</a>`,
    ],
    ['a button that copies a link', `<button data-copy="litecoin:${other}?amount=0.1"></button>`],
    [
      'a button that copies an address of another form',
      '<button data-copy="1BoatSLRHtKNngkdXEeobR76b53LETtpyT"></button>',
    ],
    [
      'a button after many others',
      `${Array.from({ length: 60 }, (_, n) => `<button data-copy="${n}"></button>`).join('')}<button data-copy="${other}"></button>`,
    ],
    ['a second address', `<p class="address" data-part="address">${other}</p>`],
  ])('raises the alarm for %s beside what is ours', async (_, more) => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => whole(mine, more));
    expect((await audit()).found[0]).toMatchObject({ where: 'page', invoice: 'slug1', own: mine });
    expect(await isStopped(folder)).toBe(true);
  });

  it.each([
    ['that is drawn after many others', () => `${qrSvg(mine, 'code', 'LTC')}`.repeat(60) + qrSvg(other, 'code', 'LTC')],
    [
      'beside a link that no code could hold',
      () => `<a href="litecoin:${mine}?amount=${'1'.repeat(3_000)}"></a>${qrSvg(other, 'code', 'LTC')}`,
    ],
  ])('raises the alarm for a foreign QR code %s', async (_, codes) => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => whole(mine, codes()));
    expect((await audit()).found.length).toBeGreaterThan(0);
    expect(await isStopped(folder)).toBe(true);
  });

  it('raises the alarm for what it copies, links to or draws, also while its text has no address', async () => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => `<p>${other}</p><button data-copy="${other}"></button>`);
    expect((await audit()).found).toMatchObject([{ where: 'page', shown: other, own: mine }]);
  });

  it.each([
    ['is paid', () => ({ open: [], pages: server.pages, next: null })],
    ['cannot be asked for', () => Promise.reject(new Error('the database is busy'))],
  ])('raises the alarm if the invoice %s as soon as its page was opened', async (_, then) => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => page({ text: other }));
    const honest = server.call;
    let asked = 0;
    const call = (async (method: 'address.open', params: object) =>
      method === 'address.open' && ++asked > 1 ? then() : honest(method, params)) as unknown as Call;
    expect((await audit('http://127.0.0.1:8481', call)).found).toMatchObject([{ where: 'page', shown: other }]);
    expect(asked).toBe(2);
  });

  it.each(ASSETS.map(({ symbol }) => symbol))('is no alarm as this program itself shows it in %s', async (symbol) => {
    const asset = assetOf(symbol);
    const address = own(asset.chain, 5);
    server.open = [server.add(asset.chain, 5)];
    const way = {
      address,
      uri: paymentUri(asset, address, 123_456_789n),
      ethereumUri: ethereumUri(asset, 'mainnet', address, 123_456_789n),
      contract: contractOf(asset, 'mainnet'),
    };
    const funds = {
      asset,
      received: 0n,
      confirmations: 0,
      required: 3,
      transactions: [],
      overpaid: false,
      late: false,
      expectedSeconds: 450,
    };
    // a payer may write the order's texts
    const free = `${other} href=litecoin:${other} data-copy=${other} > href="litecoin:${other}" <a href='litecoin:${other}'>`;
    const state = {
      is: 'waiting' as const,
      funds,
      way,
      remaining: 123_456_789n,
      rate: 8_000_000_000n,
      quotedAt: NOW,
      quoteEndsAt: NOW + 3_600_000,
    };
    const model: InvoicePage = {
      page: 'invoice',
      root: '../pay/',
      query: '',
      slug: 'slug1',
      business: { name: 'Shop', accent: null, logo: null, contact: free },
      order: { id: free, description: free },
      network: 'mainnet',
      amount: 4_990_000_000n,
      currency: 'USD',
      dueAt: NOW + 86_400_000,
      now: NOW,
      others: [],
      changing: false,
      watching: false,
      mail: null,
      notice: null,
      state,
      payableUntil: null,
      behind: false,
      backUrl: `https://shop.example/cart?a=1&b=2&href=litecoin:${other}`,
      credits: [],
      sandbox: null,
    };
    await pageServer(() => renderPage(model, DEFAULT_LOCALE, 'nonce'));
    expect(await audit()).toMatchObject({ pages: 1, found: [], notes: [] });
  });

  it('is no alarm if the payer changed the coin and paid while it was opened', async () => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => {
      server.add('LTC', 6, undefined, { invoice: 'slug1' });
      server.open = [];
      return page({ text: own('LTC', 6) });
    });
    expect(await audit()).toMatchObject({ pages: 1, found: [], notes: [] });
  });

  it('takes time and memory by its length alone, whatever it holds', () => {
    const marks = [
      'data-part="address">',
      '<svg class="qr',
      '<svg class="qr"><path d="',
      'href="',
      "href='",
      'data-copy=',
      '<',
      '&#',
    ];
    const before = process.cpuUsage();
    for (const mark of marks) readPage(mark.repeat(1_000_000 / mark.length));
    const run = `<svg class="qr"><path d="${'M0 0h185v1h-185z'.repeat(60_000)}"/></svg>`;
    expect(readPage(run).codes).toEqual([null]);
    const { user } = process.cpuUsage(before);
    expect(user / 1_000).toBeLessThan(4_000);
  });

  it('is compared, whatever stands in the free texts that strangers may write', async () => {
    server.open = [server.add('LTC', 5)];
    await pageServer((path) => (path === '/pay/slug1' ? page({ text: mine }) : 'no'));
    expect(await audit()).toMatchObject({ pages: 1, found: [], notes: [] });
    expect(await auditedIn(folder, SERVICE)).toMatchObject({ pages: 1 });
  });

  it('says when it shows no address, cannot be opened, sends elsewhere or never ends; none of it is an alarm', async () => {
    server.open = [server.add('LTC', 5)];
    expect((await audit()).notes).toEqual([expect.stringContaining('could not be opened')]);
    await pageServer(() => '<p>Paid</p>');
    expect(await audit()).toMatchObject({ pages: 0, notes: [] });
    await pageServer(() => null);
    expect((await audit()).notes).toEqual([expect.stringContaining('it answered 302')]);
    await pageServer(() => 'x'.repeat(1_100_000));
    expect((await audit()).notes).toEqual([expect.stringContaining('it does not end')]);
    server.pages = 'http://127.0.0.1:9/admin?';
    expect((await audit()).notes).toEqual([expect.stringContaining('names no payment page')]);
    expect(await isStopped(folder)).toBe(false);
  });

  it('is not asked for on this network for a server of the internet', async () => {
    server.open = [server.add('LTC', 5)];
    let asked = 0;
    await pageServer(() => page({ text: `${asked++}` }));
    const { notes } = await audit('https://pay.shop.example');
    expect(notes).toEqual([expect.stringContaining('the address is on this network')]);
    server.pages = server.pages.replace('127.0.0.1', 'localhost');
    expect((await audit('https://pay.shop.example')).notes).toEqual([expect.stringContaining('on this network')]);
    for (const here of ['0.0.0.0', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]']) {
      server.pages = server.pages.replace(/\/\/[^/]+(?=:\d)/, `//${here}`);
      const { notes: told } = await audit('https://pay.shop.example');
      expect([here, told]).toEqual([here, [expect.stringContaining('the address is on this network')]]);
    }
    expect(asked).toBe(0);
  });

  it('goes through the proxy that this computer is set to, which is asked for the page alone', async () => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      seen.push(`${request.url} ${Object.keys(request.headers).includes('cookie')}`);
      response.end(page({ text: mine }));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    undo.push(() => proxy.close());
    const env = { http_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const signal = new AbortController().signal;
    const html = await openPage('http://pay.shop.example/pay/slug1', { local: false, env, signal });
    expect(readPage(html).addresses).toEqual([mine]);
    expect(seen).toEqual(['http://pay.shop.example/pay/slug1 false']);
  });

  it('goes through the proxy by which the server is reached', async () => {
    server.open = [server.add('LTC', 5)];
    await pageServer(() => page({ text: own('LTC', 5) }));
    const proxy = await SocksProxy.to(Number(new URL(server.pages).port));
    undo.push(() => proxy.close());
    server.pages = 'http://pay.shop.example/pay/';
    const reached = { url: 'https://console.shop.example', service: SERVICE, proxy: proxy.url };
    const options = { folder, now: () => NOW, env: {}, signal: new AbortController().signal };
    expect(await look(server.call, reached, options)).toMatchObject({ pages: 1, found: [], notes: [] });
    expect(proxy.asked).toEqual(['pay.shop.example:80']);
  });

  it('has links of every kind, in which the address is found, and a link of no other kind pays it', () => {
    const [cash, eth] = [own('BCH', 2), own('ETH', 2)];
    const cases: [string, string | null][] = [
      [`bitcoin:${own('BTC', 2)}?amount=1`, own('BTC', 2)],
      [`${cash}?amount=1`, cash],
      [`monero:${own('XMR', 2)}?tx_amount=1`, own('XMR', 2)],
      [`ethereum:${eth}@1?value=5`, eth],
      [`ethereum:${contract}@1/transfer?address=${eth}&uint256=5`, eth],
      [`ethereum:${foreign('ETH')}@1/transfer?address=${eth}&uint256=5`, null],
      [`ethereum:${foreign('ETH')}@1?value=5&address=${eth}`, null],
      [`bitcoin:${own('BTC', 2)}?amount=1&r=https://thief.example`, null],
      [`bitcoin:?address=${own('BTC', 2)}`, null],
      ['bitcoin:', null],
    ];
    for (const [link, address] of cases) expect(addressIn(link)).toBe(address);
  });
});

describe('a server in the place of another one', () => {
  const OTHER = { service: 'B'.repeat(87), joined: '2026-03-01T00:00:00.000Z' };
  const auditOther = () => audit(undefined, undefined, OTHER.service);
  const seen = (index: number, more: Partial<Foreign> = {}): Foreign => ({
    at: '2026-02-01T00:00:00.000Z',
    where: 'list',
    invoice: null,
    network: 'regtest',
    chain: 'LTC',
    account_no: 0,
    index,
    shown: `foreign ${index}`,
    own: null,
    ...more,
  });

  it('is told of though it shows the same foreign address, in an alarm that stands or was looked at', async () => {
    server.add('LTC', 4, [foreign('LTC')]);
    await audit();
    expect(isOf((await readAlarm(folder))!, OTHER)).toBe(false);
    expect((await auditOther()).found).toMatchObject([{ index: 4, service: OTHER.service }]);
    const alarm = (await readAlarm(folder))!;
    expect(alarm.seen.map(({ service }) => service)).toEqual([SERVICE, OTHER.service]);
    expect([isOf(alarm, { service: SERVICE }), isOf(alarm, OTHER)]).toEqual([true, true]);
    await endAlarm(folder, { shown: 2, now: 'now' });
    expect((await auditOther()).found).toEqual([]);
    expect((await audit(undefined, undefined, 'C'.repeat(87))).found).toHaveLength(1);
    expect(await isStopped(folder)).toBe(true);
  });

  it('is told of though more addresses were seen before than are kept', async () => {
    const many = Array.from({ length: 50 }, (_, index) => seen(index));
    await raiseAlarm(folder, many, { service: SERVICE });
    server.add('LTC', 4, [foreign('LTC')]);
    await auditOther();
    const alarm = (await readAlarm(folder))!;
    expect([alarm.seen.length, alarm.more, isOf(alarm, OTHER)]).toEqual([50, 1, true]);
  });

  it('is not taken for the one of an alarm that an earlier release raised before it was joined', async () => {
    const [before, since] = [seen(1), seen(2, { at: '2026-03-02T00:00:00.000Z' })];
    expect(isOf({ seen: [before], more: 0 }, OTHER)).toBe(false);
    expect(isOf({ seen: [before, since], more: 0 }, OTHER)).toBe(true);
    // of those that an earlier release did not keep, nobody knows
    expect(isOf({ seen: [before], more: 1 }, OTHER)).toBe(true);
    expect(isOf({ seen: [before], more: 1, of: [SERVICE] }, OTHER)).toBe(false);
    expect(isOf({ seen: [before], more: 0 }, { service: SERVICE })).toBe(true);
    await writeFile(join(folder, 'foreign-address.json'), JSON.stringify({ seen: [before, since], more: 0 }));
    expect(await raiseAlarm(folder, [before, since], { service: SERVICE })).toEqual([]);
    expect(await raiseAlarm(folder, [before, since], OTHER)).toMatchObject([{ index: 1 }]);
  });

  it('has its whole list compared, whatever was compared of the other one', async () => {
    for (let i = 0; i < 4; i++) server.add('LTC', i);
    await audit();
    server.rows[1]!.addresses = [foreign('LTC')];
    expect(await auditedIn(folder, OTHER.service)).toBeNull();
    expect(await auditOther()).toMatchObject({ checked: 4, notes: [], found: [{ index: 1 }] });
    expect(await auditedIn(folder, OTHER.service)).toMatchObject({ checked: 4, service: OTHER.service });
  });

  it('was compared as a whole once its list ended and its unpaid invoices were all looked at', async () => {
    const wholeAt = async () => (await auditedIn(folder, SERVICE))?.wholeAt;
    for (let i = 0; i < 3; i++) server.add('LTC', i);
    server.isCut = true;
    await audit().catch(() => {});
    expect([await wholeAt(), (await auditedIn(folder, SERVICE))?.checked]).toEqual([null, 3]);
    server.isCut = false;
    server.next = 2;
    await audit();
    expect(await wholeAt()).toBeNull();
    server.next = null;
    server.add('LTC', 3);
    server.hides.add(4);
    await audit();
    expect(await wholeAt()).toBeNull();
    server.hides.clear();
    await audit();
    expect(await wholeAt()).toBe('2026-03-04T05:06:07.000000Z');
  });
});

it('keeps public keys and a memory of the look, and nothing that spends', async () => {
  server.add('LTC', 1);
  await audit();
  const kept = JSON.parse(await readFile(join(folder, 'accounts.json'), 'utf8'));
  expect(kept['regtest/0'].LTC).toEqual(keyOf('LTC'));
  expect(JSON.stringify(kept)).not.toContain('privateSpendKey');
});
