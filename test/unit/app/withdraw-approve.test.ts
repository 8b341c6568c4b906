/** What an approval must be, what it may raise, and what it binds. */
import { describe, expect, it } from 'vitest';
import { holderOf } from '../../../daemon/app/spends/plan.ts';
import {
  approve,
  checkApproval,
  type GivenApproval,
  heldWithin,
  previewWithdrawal,
  reject,
} from '../../../daemon/app/withdrawals/approve.ts';
import { message, textOf } from '../../../daemon/domain/messages.ts';
import { APPROVAL_HOLDS_MS } from '../../../daemon/domain/withdrawal.ts';
import type { WithdrawalRow } from '../../../daemon/store/queries/withdrawals.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { PayChain } from './pay-chain.ts';

/** By how much the operator's clock may be ahead, milliseconds. */
const AHEAD_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

async function funded(units: readonly bigint[] = [COIN]): Promise<CoinBench> {
  const pay = await PayBench.open();
  await pay.deposits(units);
  return pay;
}

/** Of another wallet's keys. */
async function watched(): Promise<CoinBench> {
  const network = new PayChain('BTC');
  Object.assign(network, { account: { ...network.account, watch: { form: 'p2wpkh', origin: null } } });
  const pay: CoinBench = await PayBench.on(network);
  await pay.deposits([COIN]);
  return pay;
}

/** As if so much had been held for the fee when it was asked for. */
const hold = (pay: CoinBench, units: bigint): Promise<unknown> =>
  pay.app.store.write((tx) => tx.run({ sql: `UPDATE withdrawal SET fee_held = '${units}'`, bind: () => [] }, {}));

const given = (pay: CoinBench, over: Partial<GivenApproval> = {}): GivenApproval => ({
  feeMax: 1_000n,
  units: null,
  until: pay.app.now() + DAY_MS,
  mac: 'mac',
  ...over,
});

const approved = (pay: CoinBench, id: number, over: Partial<GivenApproval> = {}): Promise<WithdrawalRow> =>
  pay.app.store.write((tx) => approve(pay.app, tx, `${id}`, given(pay, over)));

describe('an approval', () => {
  it.each([
    ['ends now', 0, 'until'],
    ['has ended', -1, 'until'],
    ['ends in a moment', 1, null],
    ['holds for seven days, by a clock that is an hour ahead', APPROVAL_HOLDS_MS + AHEAD_MS, null],
    ['holds for longer than that', APPROVAL_HOLDS_MS + AHEAD_MS + 1, 'until'],
  ])('that %s', async (_, ms, field) => {
    const pay = await funded();
    const id = await pay.request(COIN / 4n);
    const made = approved(pay, id, { until: pay.app.now() + ms });
    if (field === null) return expect(made).resolves.toMatchObject({ state: 'approved' });
    await expect(made).rejects.toMatchObject({
      code: 'withdrawal.approval',
      field,
      message: 'An approval holds for up to seven days from now',
    });
    expect(pay.row(id).state).toBe('requested');
  });

  it('of real money bears the MAC of the passphrase, except where another wallet signs', async () => {
    const [pay, other] = [await funded(), await watched()];
    const [id, apart] = [await pay.request(COIN / 4n), await other.request(COIN / 4n)];
    await expect(approved(pay, id, { mac: null })).rejects.toMatchObject({
      code: 'withdrawal.approval',
      field: 'mac',
      message: "The operator's approval is missing: it needs the wallet's passphrase",
    });
    expect(await approved(other, apart, { mac: null })).toMatchObject({ state: 'approved', approval: null });
    const { business, account } = holderOf(pay.app, pay.stored(id));
    const sandbox = { business: { ...business, network: 'sandbox' as const }, account };
    expect(() => checkApproval(pay.app, sandbox, given(pay, { mac: null }))).not.toThrow();
  });

  it('is stored with what it binds, and ends the reason why the withdrawal waited', async () => {
    const pay = await funded();
    const id = await pay.request(COIN / 4n);
    const held = pay.row(id).fee_held;
    const until = pay.app.now() + DAY_MS;
    await approved(pay, id, { feeMax: held - 1n, until });
    expect(pay.row(id)).toMatchObject({
      state: 'approved',
      fee_held: held - 1n,
      approved_by: 'operator',
      approved_at: pay.app.now(),
      deadline_at: until,
      problem: null,
    });
    expect(JSON.parse(pay.row(id).approval!)).toEqual({ until, mac: 'mac' });
  });

  it('of everything names the most that it may give, which is stored', async () => {
    const pay = await funded();
    const id = await pay.request(null);
    await expect(approved(pay, id)).rejects.toMatchObject({
      code: 'withdrawal.approval',
      field: 'units',
      message: 'The approval of a sweep names the most that it may give',
    });
    const until = pay.app.now() + DAY_MS;
    await approved(pay, id, { units: COIN, until });
    expect(JSON.parse(pay.row(id).approval!)).toEqual({ until, mac: 'mac', units: `${COIN}` });
  });

  it('raises the fee as far as the balance has it beside the amount, and no further', async () => {
    const pay = await funded();
    const id = await pay.request(COIN - 50_000n);
    await expect(approved(pay, id, { feeMax: 50_001n })).rejects.toMatchObject({
      code: 'withdrawal.insufficient',
      field: 'fee_max',
      message: 'Insufficient balance for so high a fee',
    });
    expect(await approved(pay, id, { feeMax: 50_000n })).toMatchObject({ fee_held: 50_000n });
  });

  it('of everything takes its fee from the amount', async () => {
    const pay = await funded();
    const id = await pay.request(null);
    expect(await approved(pay, id, { feeMax: COIN / 2n, units: COIN })).toMatchObject({ fee_held: COIN / 2n });
  });

  it('is not made twice, but made anew where the first cannot be carried out', async () => {
    const pay = await funded();
    const id = await pay.request(COIN / 4n);
    await approved(pay, id, { feeMax: 1n });
    await expect(approved(pay, id)).rejects.toMatchObject({ code: 'withdrawal.state' });
    // blocks ask for more than was approved
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'approved', spend_id: null, problem: expect.any(String) });
    expect(await approved(pay, id)).toMatchObject({ state: 'approved', problem: null });
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('wakes the worker', async () => {
    const pay = await funded();
    const id = await pay.request(COIN / 4n);
    const woken: string[] = [];
    pay.app.wake.withdrawals = (chain) => void woken.push(chain);
    await approved(pay, id);
    expect(woken).toEqual([pay.bench.chain.key]);
  });
});

describe('a preview', () => {
  it.each([
    ['the held fee where that is more than twice the one of now', 9_999n, 9_999n],
    ['twice the one of now where less is held', 563n, 564n],
  ])('allows %s', async (_, held, feeMax) => {
    const pay = await funded();
    const id = await pay.request(COIN / 4n);
    await hold(pay, held);
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    expect([preview!.fee, preview!.feeMax]).toEqual([282n, feeMax]);
    expect(preview!.intents).toMatchObject([{ units: `${COIN / 4n}`, feeMax: `${feeMax}` }]);
  });

  it('allows no more than the balance has beside the amount', async () => {
    const pay = await funded();
    const id = await pay.request(COIN - 500n);
    await hold(pay, 1n);
    // the rest is less than change is worth, and goes to the miners
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    expect([preview!.fee, preview!.feeMax]).toEqual([500n, 500n]);
  });

  it('of everything binds what the coins of now have', async () => {
    const pay = await funded([COIN, 2n * COIN]);
    const id = await pay.request(null);
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    expect(preview!.intents).toMatchObject([{ sweep: true, units: `${3n * COIN}` }]);
    expect(preview!.outputs.map(({ units }) => units)).toEqual([3n * COIN - preview!.fee]);
    expect(preview!.feeMax).toBeGreaterThanOrEqual(preview!.fee);
  });

  it('says until when it holds and who signs', async () => {
    const [pay, other] = [await funded(), await watched()];
    const [id, apart] = [await pay.request(COIN / 4n), await other.request(COIN / 4n)];
    const [own, outside] = [await previewWithdrawal(pay.app, `${id}`), await previewWithdrawal(other.app, `${apart}`)];
    expect([own.preview!.until, own.preview!.outside]).toEqual([pay.app.now() + APPROVAL_HOLDS_MS, false]);
    expect([outside.preview!.outside, outside.preview!.purpose]).toEqual([true, 'pay']);
    expect(own.preview).toMatchObject({ asset: 'BTC', feeAsset: 'BTC', usdRate: 6_000_000_000_000n });
  });
});

describe('a rejection', () => {
  it('says why, where the operator said it', async () => {
    const pay = await funded();
    const [plain, told] = [await pay.request(COIN / 4n), await pay.request(COIN / 4n)];
    await pay.reject(plain);
    await pay.app.store.write((tx) => reject(pay.app, tx, `${told}`, 'asked twice'));
    expect(pay.row(plain)).toMatchObject({
      state: 'rejected',
      reason: textOf(message('ended.rejected')),
      deadline_at: null,
      problem: null,
    });
    expect(pay.row(told).reason).toBe(textOf(message('ended.rejected_why', { reason: 'asked twice' })));
    await expect(approved(pay, plain)).rejects.toMatchObject({ code: 'withdrawal.state' });
    await expect(pay.reject(plain)).rejects.toMatchObject({ code: 'withdrawal.state' });
  });
});

it('counts a held fee only below the limits', () => {
  const row = { fee_held: 500n } as WithdrawalRow;
  expect([heldWithin(row, 500n), heldWithin(row, 501n), heldWithin(row, 499n)]).toEqual([500n, 500n, 0n]);
});
