/** Addresses that were made to be mistaken for a known one, as a policy and the operator meet them. */
import { bech32 } from '@scure/base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lookalikeKeyOf } from '../../daemon/domain/policy.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, type Shown, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const WITNESS_WORDS = 32;
const TRIES_MAX = 2_000_000;
/** Words after the version that the key compares. */
const COMPARED_WORDS = 3;

/** Another address with the same beginning and end. About one in 2^15 has the same end. */
function lookalikeOf(address: string): string {
  const { prefix, words } = bech32.decode(address as `${string}1${string}`);
  for (let number = 1; number < TRIES_MAX; number++) {
    const other = [...words];
    for (let at = 0; at < 5; at++) other[1 + COMPARED_WORDS + at] = (number >> (5 * at)) & 31;
    const made = bech32.encode(prefix, other);
    if (made !== address && lookalikeKeyOf(made) === lookalikeKeyOf(address)) return made;
  }
  throw new Error(`no address of ${WITNESS_WORDS} words looks like ${address}`);
}

let service: TestDaemon;
let operator: Operator;
const known = stranger('LTC', 1);
const fake = lookalikeOf(known);

beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
  for (const usd of [900, 900, 900]) await deposit(service, 'LTC', usd);
});
afterAll(() => service.stop());

/** The policy of the business, which lets 20 USD go. */
const automatic = (): Promise<unknown> =>
  operator.call('policy.set', { business: '1', mode: 'automatic', per_withdrawal_usd: '20', per_day_usd: '100' });

async function ask(amount: string, address: string): Promise<string> {
  const { status, body } = await service.call<Shown>('POST', '/withdraw', { amount, crypto: 'LTC', address });
  expect(status).toBe(201);
  return body.id;
}
const completed = async (id: string): Promise<void> => {
  await until(`withdrawal ${id} is sent`, async () => (await operator.show(id)).state === 'broadcast');
  await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 1 });
  await until(`withdrawal ${id} is completed`, async () => (await operator.show(id)).state === 'completed');
};
const recipient = (address: string) => operator.call('withdrawal.recipient', { business: '1', crypto: 'LTC', address });
const stored = async (id: string) => (await operator.call('withdrawal.show', { id })).withdrawal;
/** The codes and texts that the operator reads before an approval. */
async function said(id: string): Promise<{ warnings: string[]; notes: string[] }> {
  const { warnings, notes } = await operator.preview(id);
  return { warnings: warnings.map((one) => one.text.code), notes: notes.map((one) => one.code) };
}

it('a payment by the policy makes no address known', async () => {
  await automatic();
  await completed(await ask('0.2', fake));
  expect(await recipient(fake)).toMatchObject({ paid: 0, unasked: 1, last: null, first_approved_at: null });
  const again = await ask('2', fake);
  expect(await said(again)).toEqual({ warnings: ['warning.unasked_address'], notes: [] });
  await operator.call('withdrawal.reject', { id: again });
});

it('an address that looks like a paid one is not paid by the policy', async () => {
  const id = await ask('0.2', known);
  expect(await stored(id)).toMatchObject({ state: 'requested', problem: { code: 'ask.lookalike' } });
  expect(await said(id)).toEqual({ warnings: ['warning.new_address', 'warning.lookalike'], notes: [] });
  await operator.approve(id);
  await completed(id);
});

it('one that the operator has approved is the same again, and the other one looks like it', async () => {
  const first = (await operator.call('withdrawal.list', { state: 'completed' })).withdrawals.find(
    ({ address }) => address === known,
  );
  expect(await recipient(known)).toMatchObject({
    paid: 1,
    unasked: 0,
    last: { address: known },
    lookalikes: [],
    first_approved_at: first!.approved_at,
  });
  expect(await recipient(fake)).toMatchObject({ paid: 0, unasked: 1, lookalikes: [{ address: known }] });
  const [large, theft] = [await ask('2', known), await ask('2', fake)];
  expect(await said(large)).toEqual({ warnings: [], notes: ['note.first_approved'] });
  expect(await said(theft)).toEqual({ warnings: ['warning.unasked_address', 'warning.lookalike'], notes: [] });
  // neither by the policy any more, nor while it only waits, is it anything that speaks against the known one
  const small = await ask('0.2', fake);
  expect(await stored(small)).toMatchObject({ problem: { code: 'ask.lookalike' } });
  await completed(await ask('0.2', known));
  for (const id of [large, theft, small]) await operator.call('withdrawal.reject', { id });
});

it('no approval and no label takes the warning from an address that looks like a trusted one', async () => {
  await operator.call('addressBook.add', { business: '1', chain: 'LTC', address: fake, label: 'Roastery' });
  await operator.call('addressBook.add', { business: '1', chain: 'LTC', address: known, label: 'Roastery' });
  const id = await ask('2', fake);
  expect((await said(id)).warnings).toEqual(['warning.lookalike']);
  await operator.approve(id);
  await completed(id);
  expect(await recipient(fake)).toMatchObject({ label: 'Roastery', lookalikes: [{ address: known }] });
  expect(await recipient(known)).toMatchObject({ label: 'Roastery', lookalikes: [{ address: fake }] });
});

it('one that shares the beginning alone is named more quietly, and the policy lets it go', async () => {
  const { prefix, words } = bech32.decode(known as `${string}1${string}`);
  const beginsAlike = bech32.encode(
    prefix,
    words.map((word, at) => (at === 1 + COMPARED_WORDS ? word ^ 1 : word)),
  );
  expect(lookalikeKeyOf(beginsAlike).slice(0, 3)).toBe(lookalikeKeyOf(known).slice(0, 3));
  const id = await ask('2', beginsAlike);
  const { warnings } = await operator.preview(id);
  expect(warnings.map(({ text: { code } }) => code)).toEqual(['warning.new_address', 'warning.one_end']);
  expect(`${warnings[1]!.text.values.addresses}`.split(', ').sort()).toEqual([known, fake].sort());
  expect(await recipient(beginsAlike)).toMatchObject({ lookalikes: [] });
  const small = await ask('0.2', beginsAlike);
  expect((await operator.show(small)).problem).toBeNull();
  await completed(small);
  await operator.call('withdrawal.reject', { id });
});
