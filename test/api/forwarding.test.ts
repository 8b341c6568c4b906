/** Plans that send the takings on, in the sandbox: what they send, what they leave, when, and why not. */
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check, hex } from '@scure/base';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperatorError } from '../../daemon/contract/client.ts';
import type { Params, Result } from '../../daemon/contract/operator.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { forwardKeyOf } from '../../daemon/wallet/forward-key.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

type Terms = Params<'forwarding.set'>['terms'];
type Plan = Result<'forwarding.list'>['plans'][number];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const business = '1';
const COLD = stranger('LTC', 700);
const OTHER = stranger('LTC', 701);
const VAULT = stranger('ETH', 702);
/** The account m/84h/1h/0h of "abandon … about", with SLIP-132's version bytes and with BIP-32's; its words' private key; and one of mainnet. */
const VPUB =
  'vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc';
const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const VPRV =
  'xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu';
const ltc = { business, crypto: 'LTC' };
const terms: Terms = { address: COLD, every: 'reached', fee_share: '0.05', fee_day: '1' };

let service: TestDaemon;
let operator: Operator;
const base58check = createBase58check(sha256);
/** A key with other version bytes. */
const withVersion = (key: string, version: string): string => {
  const bytes = base58check.decode(key);
  bytes.set(hex.decode(version));
  return base58check.encode(bytes);
};
const units = (text: string | null): bigint => parseDecimal(text ?? '', 8) ?? -1n;
const plans = async (): Promise<Plan[]> => (await operator.call('forwarding.list', { business })).plans;
const mine = (crypto = 'LTC') => service.call('POST', '/sandbox/mine', { crypto, blocks: 12 });
const set = (change: Partial<Terms> = {}, ref = ltc) =>
  operator.call('forwarding.set', { ...ref, terms: { ...terms, ...change } });
const available = async (crypto = 'LTC'): Promise<string> => {
  const { body } = await service.call<Record<string, number>>('GET', '/balance');
  return body[crypto]!.toFixed(8);
};
const refusal = async (call: Promise<unknown>): Promise<string> => {
  const settled = await call.then(
    () => null,
    (error: OperatorError) => error,
  );
  return settled?.code ?? '';
};
const forwarded = async () => {
  const { withdrawals } = await operator.call('withdrawal.list', { business });
  return withdrawals.filter(({ origin }) => origin === 'forward');
};
/** The next payment that a plan forwards after so many, once it is on the chain. */
const next = async (count: number) => {
  await until(`payment ${count + 1} is forwarded`, async () => {
    const [newest, ...others] = await forwarded();
    return others.length === count && newest?.state === 'broadcast';
  });
  return (await forwarded())[0]!;
};
const problem = (code: string) =>
  until(`the plan says ${code}`, async () => (await plans())[0]?.problem?.code === code);

beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
  await operator.call('policy.set', { business, mode: 'manual' });
  for (const [chain, address, label] of [
    ['LTC', COLD, 'Cold storage'],
    ['LTC', OTHER, 'Another one'],
    ['ETH', VAULT, 'Vault'],
  ] as const)
    await operator.call('addressBook.add', { business, chain, address, label });
  await deposit(service, 'LTC', 400);
});
afterAll(() => service.stop());

describe('a plan', () => {
  it.each<[string, Partial<Terms>, string]>([
    ['to an address that is in no address book', { address: stranger('LTC', 9) }, 'forward.destination'],
    [
      'to an address of another network',
      { address: 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq' },
      'forward.destination',
    ],
    ['to an address of another chain', { address: VAULT }, 'forward.destination'],
    ['without a limit of a fee', { fee_share: null }, 'forward.fee'],
    ['with no fees of a day', { fee_day: '0' }, 'forward.fee'],
    ['with a share above everything', { fee_share: '1.1' }, 'forward.fee'],
    ['with half of a smallest unit', { keep: '0.000000001' }, 'forward.amount'],
    ['of a week without its day', { every: 'week' }, 'forward.schedule'],
    ['of a day with a day of the week', { every: 'day', weekday: 'monday' }, 'forward.schedule'],
    ['of a chain whose gas nobody measures, for a cheap hour', { cheap: true }, 'forward.schedule'],
    ['at a time that no day has', { every: 'day', at: '24:00' }, 'params'],
  ])('%s is refused', async (_, change, code) => {
    expect(await refusal(set(change))).toBe(code);
    expect(await refusal(operator.call('forwarding.preview', { ...ltc, terms: { ...terms, ...change } }))).toBe(code);
    expect(await plans()).toEqual([]);
  });

  it.each(['skip', 'send', 'end', 'preview'] as const)('that is not there has nothing to %s', async (what) => {
    expect(await refusal(operator.call(`forwarding.${what}`, ltc))).toBe('forward.not_found');
  });

  it('sends what the preview said, keeps what it is told to, and leaves what an open withdrawal needs', async () => {
    const before = units(await available());
    const { body: open } = await service.call<Shown>('POST', '/withdraw', {
      amount: '0.3',
      crypto: 'LTC',
      address: OTHER,
    });
    const left = units(await available());
    expect(left).toBeLessThan(before - 30_000_000n);
    const keep = '0.25';
    const told = await operator.call('forwarding.preview', { ...ltc, terms: { ...terms, keep } });
    expect(units(told.amount) + units(told.fee)).toBe(units(told.free));
    expect(units(told.kept)).toBeGreaterThanOrEqual(25_000_000n);
    expect(Number(told.fee_share)).toBeLessThan(0.05);
    await set({ keep });
    const sent = await next(0);
    expect(sent).toMatchObject({ address: COLD, amount: told.amount, approved_by: 'forward', crypto: 'LTC' });
    await mine();
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
    const now = units(await available());
    expect(now).toBeGreaterThanOrEqual(25_000_000n);
    expect(now).toBeLessThan(25_000_000n + units(told.fee));
    expect((await operator.show(open.id)).state).toBe('requested');
    await operator.call('withdrawal.reject', { id: open.id });
    expect(await forwarded()).toHaveLength(1);
  });

  it('sends again at once when the sum is there, and not while its payment is under way', async () => {
    await set({ least: '2' });
    await deposit(service, 'LTC', 400);
    const sent = await next(1);
    expect(units(sent.amount)).toBeGreaterThan(190_000_000n);
    expect(await refusal(operator.call('forwarding.send', ltc))).toBe('forward.amount');
    await mine();
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
  });

  it('of each day waits for its hour, leaves one out, and a second plan replaces it', async () => {
    const { plan } = await set({ every: 'day', at: '03:30' });
    const first = Date.parse(plan.next_at!);
    expect(first).toBeGreaterThan(service.now());
    expect(first - service.now()).toBeLessThanOrEqual(DAY);
    await deposit(service, 'LTC', 400);
    const { plan: skipped } = await operator.call('forwarding.skip', ltc);
    expect(Date.parse(skipped.next_at!)).toBe(first + DAY);
    service.advance(first + HOUR - service.now());
    expect(await forwarded()).toHaveLength(2);
    await set({ every: 'day', at: '03:30', address: OTHER });
    expect((await plans()).map(({ address, label }) => [address, label])).toEqual([[OTHER, 'Another one']]);
    service.advance(DAY);
    expect((await next(2)).address).toBe(OTHER);
    expect(Date.parse((await plans())[0]!.next_at!)).toBeGreaterThan(service.now());
    await mine();
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
    await set();
    expect(await refusal(operator.call('forwarding.skip', ltc))).toBe('forward.schedule');
  });

  it('says why it cannot send, and goes on when that is over', async () => {
    await set({ fee_max: '0.00000001' });
    await deposit(service, 'LTC', 400);
    await problem('forward.dear');
    const told = await operator.call('forwarding.preview', ltc);
    expect([told.amount, told.problem?.code]).toEqual([null, 'forward.dear']);
    expect(await refusal(operator.call('forwarding.send', ltc))).toBe('forward.fee');
    const book = await operator.call('addressBook.list', { business });
    const { id, label, chain } = book.addresses.find(({ address }) => address === COLD)!;
    await set();
    const sent = await next(3);
    await operator.call('addressBook.remove', { id, grants: [] });
    await mine();
    await until('it is paid', async () => (await operator.show(sent.id)).state === 'completed');
    await deposit(service, 'LTC', 400);
    await problem('forward.address');
    expect(await refusal(operator.call('forwarding.send', ltc))).toBe('forward.destination');
    await operator.call('addressBook.add', { business, chain: chain as 'LTC', address: COLD, label });
    await next(4);
    expect((await plans())[0]?.problem).toBe(null);
    await mine();
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
  });

  it('sends by hand below its least sum, with the events and the entries of a withdrawal, and nothing after its end', async () => {
    await set({ least: '1000' });
    await deposit(service, 'LTC', 400);
    await operator.call('endpoint.add', { business, url: 'https://shop.invalid/events' });
    const { withdrawal } = await operator.call('forwarding.send', ltc);
    expect(withdrawal).toMatchObject({ origin: 'forward', state: 'approved', address: COLD });
    const sent = await next(5);
    await mine();
    await until('it is completed', async () => (await operator.show(sent.id)).state === 'completed');
    const { deliveries } = await operator.call('delivery.list', {});
    const told = deliveries.filter(({ subject }) => subject === `withdrawal ${sent.id}`).map(({ type }) => type);
    expect(told.reverse()).toEqual(['withdrawal.pending', 'withdrawal.completed']);
    const { amount, fee, tx_id } = await operator.show(sent.id);
    const { rows } = await operator.call('export.page', { business, from: '2020-01-01', to: '2100-01-01' });
    const entries = rows.filter((row) => row.tx_id === tx_id).map((row) => [row.kind, row.amount]);
    expect(entries.sort()).toEqual([
      ['fee', fee],
      ['withdrawal', amount],
    ]);
    const { plan } = await operator.call('forwarding.end', ltc);
    expect(plan?.crypto).toBe('LTC');
    expect(await plans()).toEqual([]);
    expect(await refusal(operator.call('forwarding.end', ltc))).toBe('forward.not_found');
  });
});

describe('to an extended public key', () => {
  const { text, at } = forwardKeyOf(VPUB, 'LTC', 'sandbox');

  it.each<[string, Partial<Terms>, string, string]>([
    ['a private key', { address: VPRV }, 'LTC', 'account.private'],
    ['a key with a wrong character', { address: `${VPUB.slice(0, -1)}d` }, 'LTC', 'account.checksum'],
    ['a key that does not say its addresses', { address: withVersion(VPUB, '043587cf') }, 'LTC', 'account.script'],
    ['a key of mainnet', { address: ZPUB }, 'LTC', 'account.network'],
    ['a key for a coin that has none', { address: VPUB, fee_share: null, fee_max: '0.001' }, 'ETH', 'account.key'],
    ['an index that no key has', { address: VPUB, from: 2 ** 31 }, 'LTC', 'params'],
  ])('%s is refused, and not kept', async (_, change, crypto, code) => {
    expect(await refusal(set(change, { business, crypto }))).toBe(code);
    expect(await plans()).toEqual([]);
  });

  it('is compared by its next addresses, and each payment goes to the next one', async () => {
    const paid = (await forwarded()).length;
    const told = await operator.call('forwarding.preview', { ...ltc, terms: { ...terms, address: VPUB, from: 4 } });
    expect(told).toMatchObject({ address: text, addresses: [at(4), at(5), at(6)], problem: null });
    const { plan } = await set({ address: VPUB, from: 4 });
    expect(plan).toMatchObject({ address: text, next_index: 4, next_address: at(4) });
    /** The addresses of its payments, oldest first, once so many are there and each has its end. */
    const sent = async (count: number): Promise<string[]> => {
      await deposit(service, 'LTC', 400);
      await until(`${count} payments are forwarded`, async () => (await forwarded()).length >= paid + count);
      await until('each has its end', async () => {
        await mine();
        const one = (await plans())[0];
        return one?.withdrawal === null && one.next_index === 4 + (await forwarded()).length - paid;
      });
      return (await forwarded()).map(({ address }) => address).toReversed();
    };
    const first = await sent(1);
    const { plan: same } = await set({ address: text, from: 0 });
    expect(same.next_index).toBe(4 + first.length - paid);
    const all = await sent(first.length - paid + 1);
    expect(all.slice(paid)).toEqual(all.slice(paid).map((_, i) => at(4 + i)));
    await operator.call('forwarding.end', ltc);
  });
});

describe('on an account chain', () => {
  const eth = { business, crypto: 'ETH' };
  it('each deposit address sends what it has, and a share limits no fee in another coin', async () => {
    const share = { address: VAULT };
    const tether = { business, crypto: 'USDT_ERC20' };
    expect(await refusal(set(share, tether))).toBe('forward.fee');
    for (const usd of [300, 500]) await deposit(service, 'ETH', usd, 40);
    const before = (await forwarded()).length;
    const { plan } = await set({ ...share, cheap: true }, eth);
    expect(plan.cheap).toBe(true);
    const first = await next(before);
    await mine('ETH');
    const second = await next(before + 1);
    expect([first.address, second.address]).toEqual([VAULT, VAULT]);
    expect(Number(first.amount)).toBeGreaterThan(Number(second.amount));
    await mine('ETH');
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
    expect(Number(await available('ETH'))).toBeLessThan(0.01);
  });

  it('has one sum for a run: from it on every address is emptied, as the preview counts it', async () => {
    await operator.call('forwarding.end', eth);
    for (const usd of [300, 500]) await deposit(service, 'ETH', usd, 40);
    const wanted: Terms = { ...terms, address: VAULT, fee_share: '0.5' };
    const { free } = await operator.call('forwarding.preview', { ...eth, terms: wanted });
    // more than the larger address has, and less than both have together
    const least = (Number(free) * 0.8).toFixed(6);
    const told = await operator.call('forwarding.preview', { ...eth, terms: { ...wanted, least } });
    expect(told.payments).toBe(2);
    const before = (await forwarded()).length;
    await set({ address: VAULT, fee_share: '0.5', least }, eth);
    await next(before);
    await mine('ETH');
    await next(before + 1);
    await mine('ETH');
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
    const [second, first] = (await forwarded()).map(({ amount }) => parseDecimal(amount, 18)!);
    expect(first).toBeGreaterThan(second!);
    expect(first! + second!).toBe(parseDecimal(told.amount!, 18));
    // what comes after the run waits for the sum again
    const db = new Database(join(service.dataDir, 'countinghouse.db'), { readonly: true });
    const running = db.prepare("SELECT run_at FROM forward_plan WHERE asset = 'ETH'").pluck();
    await until('the run is over', async () => running.get() === null);
    db.close();
    await deposit(service, 'ETH', 200, 40);
    const rest = await operator.call('forwarding.preview', eth);
    expect([rest.amount, rest.payments, rest.problem]).toEqual([null, 0, null]);
    expect(await forwarded()).toHaveLength(before + 2);
    await operator.call('forwarding.end', eth);
  });

  it('leaves the gas in the tank that tokens on other addresses need', async () => {
    const desk = { business, chain: 'ETH' } as const;
    const tank = async () => {
      const { desks } = await operator.call('gas.status', { business });
      return desks.find(({ chain }) => chain === 'ETH')!;
    };
    const now = service.now();
    const plan = {
      begins_at: now,
      ends_at: now + DAY,
      daily: null,
      min_usd: '1',
      fee_max: `${10n ** 17n}`,
      signed: null,
    };
    await operator.call('gas.collect', { ...desk, ...plan });
    await until('the takings are in the tank', async () => {
      await mine('ETH');
      return Number((await tank()).tank.amount) > 0.01;
    });
    await operator.call('gas.stop', { ...desk, signed: null });
    await deposit(service, 'USDT_ERC20', 100, 40);
    const before = (await forwarded()).length;
    await set({ address: VAULT, fee_share: '0.5' }, eth);
    const sent = await next(before);
    await mine('ETH');
    await until('the plan has seen its end', async () => (await plans())[0]?.withdrawal === null);
    const left = (await tank()).tank.amount;
    const { cost, needs, worth } = await operator.call('gas.forecast', { ...desk, min_usd: '1' });
    expect([worth, needs]).toEqual([1, null]);
    expect(Number(left)).toBeGreaterThanOrEqual(Number(cost));
    expect(Number(left)).toBeLessThan(Number(sent.amount) / 2);
    expect(await forwarded()).toHaveLength(before + 1);
    expect(await operator.call('forwarding.preview', eth)).toMatchObject({ amount: null, payments: 0, problem: null });
  });
});
