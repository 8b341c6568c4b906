/** The payments of a plan that do not come about, and a plan that is changed while a pass looks at it. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { passForwards } from '../../../daemon/app/forwarding/pass.ts';
import { closePayment } from '../../../daemon/app/forwarding/payments.ts';
import { sendNow } from '../../../daemon/app/forwarding/plans.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { toIso } from '../../../daemon/domain/calendar.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { message, textIn } from '../../../daemon/domain/messages.ts';
import { forwardPlanById } from '../../../daemon/store/queries/forwarding.ts';
import { saveSetting } from '../../../daemon/store/queries/settings.ts';
import type { WithdrawalRow } from '../../../daemon/store/queries/withdrawals.ts';
import { forwardKeyOf } from '../../../daemon/wallet/forward-key.ts';
import { planned } from './forward-kit.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';

const MINUTE_MS = 60_000;
/** BIP-84's account of "abandon … about". */
const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';

/** A shop with two coins, and a plan that sends them to an address of its book. */
async function shopWithPlan(): Promise<{ pay: CoinBench; id: number }> {
  const pay = await PayBench.open();
  const { app, bench } = pay;
  await pay.deposits([2n * COIN], 6);
  bench.rate('60000');
  Object.assign(bench.chain, { syncs: 1, syncedAt: bench.at });
  const id = await planned(app, bench.businessId, 'BTC', {
    address: pay.recipient(),
    account_id: bench.accountId,
    chain_key: bench.chain.key,
    asset: 'BTC',
    keep: COIN / 2n,
    least: 0n,
    fee_share_ppm: 100_000,
    fee_max: null,
    fee_day: COIN,
  });
  return { pay, id };
}

const planOf = ({ app }: CoinBench, id: number) => app.store.get(forwardPlanById, { id })!;
const forwarded = ({ app }: CoinBench): WithdrawalRow[] =>
  app.store.all({ sql: "SELECT * FROM withdrawal WHERE origin = 'forward' ORDER BY id", bind: () => [] } as never, {});
const states = (pay: CoinBench) => forwarded(pay).map(({ id }) => pay.stored(id).state);

describe('a payment of a plan', () => {
  afterEach(() => vi.restoreAllMocks());

  it('that cannot be planned gives way to another one after 15 minutes, and not before', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    await passForwards(app, bench.chain);
    const first = planOf(pay, id).withdrawal_id!;
    const { units, fee_held } = pay.stored(first);
    expect(units + fee_held).toBe((3n * COIN) / 2n);
    await app.store.write((tx) => tx.run({ sql: "UPDATE withdrawal SET fee_held = '1'", bind: () => [] }, {}));
    await pay.round();
    expect(pay.row(first)).toMatchObject({ state: 'approved', spend_id: null });
    expect(pay.row(first).problem).toContain('fee');
    bench.advance(14 * MINUTE_MS);
    await passForwards(app, bench.chain);
    expect(states(pay)).toEqual(['approved']);
    bench.advance(2 * MINUTE_MS);
    await passForwards(app, bench.chain);
    expect(states(pay)).toEqual(['rejected']);
    expect(textIn(planOf(pay, id).problem)).toContain('fee');
    await passForwards(app, bench.chain);
    await pay.round();
    expect(states(pay)).toEqual(['rejected', 'broadcast']);
    const second = pay.stored(planOf(pay, id).withdrawal_id!);
    expect([second.units, planOf(pay, id).problem]).toEqual([units, null]);
  });

  it('leaves coins that are worth less than their fee, however many strangers send', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    pay.chain.feeRate = 20_000n;
    for (let i = 0; i < 20; i++) await pay.deposit(1_000n);
    await pay.chain.mine(6);
    await pay.sync();
    await app.store.write((tx) => {
      tx.run({ sql: "UPDATE inbox SET state = 'kept'", bind: () => [] }, {});
      tx.run({ sql: "UPDATE forward_plan SET keep = '0'", bind: () => [] }, {});
    });
    await passForwards(app, bench.chain);
    await pay.round();
    const [{ units, fee_held, state }] = forwarded(pay).map(({ id: one }) => pay.stored(one)) as [WithdrawalRow];
    expect([state, units + fee_held]).toEqual(['broadcast', 2n * COIN]);
    await pay.chain.mine();
    await pay.sync();
    for (let i = 0; i < 2; i++) await passForwards(app, bench.chain);
    expect([states(pay), planOf(pay, id).problem]).toEqual([['completed'], null]);
  });

  it('waits for no deposit of which no block brought anything into the balance', async () => {
    const { pay } = await shopWithPlan();
    await pay.deposit(9n * COIN);
    await pay.sync();
    await passForwards(pay.app, pay.bench.chain);
    expect(forwarded(pay).map(({ units, fee_held }) => units + fee_held)).toEqual([(3n * COIN) / 2n]);
    await pay.chain.mine(6);
    await pay.round();
    // what nobody decided about stays
    await passForwards(pay.app, pay.bench.chain);
    expect(states(pay)).toHaveLength(1);
  });

  it.each<[string, string]>([
    ['changed', 'UPDATE forward_plan SET updated_at = updated_at + 1'],
    ['given another time', 'UPDATE forward_plan SET next_at = next_at + 60000'],
    ['ended', 'DELETE FROM forward_plan'],
  ])('begins none of a plan that is %s while a pass looks at it', async (_, sql) => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const { spending } = pay.chain.adapter;
    const rate = await pay.feeRate();
    const asked = vi.spyOn(spending!, 'feeRate').mockImplementation(async () => {
      await app.store.write((tx) => tx.run({ sql, bind: () => [] }, {}));
      return rate;
    });
    await passForwards(app, bench.chain);
    expect(asked).toHaveBeenCalledTimes(1);
    expect(forwarded(pay)).toEqual([]);
    expect(app.store.get(forwardPlanById, { id })?.withdrawal_id ?? null).toBe(null);
  });

  const change = ({ app }: CoinBench, sql: string, ...values: (number | string)[]) =>
    app.store.write((tx) => tx.run({ sql, bind: () => values as never }, {}));

  it('goes to the next address of an extended public key, and to the one that the signer names after a restore', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const { text, at } = forwardKeyOf(ZPUB, 'BTC', 'mainnet');
    await change(pay, 'UPDATE forward_plan SET address = ?, key_index = 2', text);
    await passForwards(app, bench.chain);
    expect(forwarded(pay).map(({ address }) => address)).toEqual([at(2)]);
    pay.signer.refuses = ({ withdrawals }) =>
      withdrawals[0]!.intent.address === at(7) ? null : new Rejected('signer.index', 'Refused to sign: number 7', '7');
    await pay.round();
    expect([states(pay), planOf(pay, id).key_index, planOf(pay, id).withdrawal_id]).toEqual([['rejected'], 7, null]);
    await passForwards(app, bench.chain);
    await pay.round();
    expect(states(pay)).toEqual(['rejected', 'broadcast']);
    expect(pay.stored(planOf(pay, id).withdrawal_id!).address).toBe(at(7));
    await change(pay, "UPDATE withdrawal SET state = 'completed' WHERE state = 'broadcast'");
    await passForwards(app, bench.chain);
    expect(planOf(pay, id).key_index).toBe(8);
  });

  it.each(['the pass', 'the operator'])('goes to the index behind the one before, begun by %s', async (who) => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const { text, at } = forwardKeyOf(ZPUB, 'BTC', 'mainnet');
    await change(pay, 'UPDATE forward_plan SET address = ?, key_index = 2', text);
    await passForwards(app, bench.chain);
    await pay.round();
    await pay.chain.mine(6);
    await pay.deposits([COIN], 6);
    await change(pay, "UPDATE inbox SET state = 'kept'");
    expect(states(pay)).toEqual(['completed']);
    if (who === 'the pass') for (let i = 0; i < 2; i++) await passForwards(app, bench.chain);
    else await sendNow(app, app.directory.business(bench.businessId), assetOf('BTC'));
    expect(forwarded(pay).map(({ address }) => address)).toEqual([at(2), at(3)]);
    expect(planOf(pay, id).key_index).toBe(3);
  });

  it('stays the one under way when a reorganisation undoes it while a pass looks at it', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    await passForwards(app, bench.chain);
    await pay.round();
    const before = planOf(pay, id);
    await app.store.write((tx) => closePayment(app, tx, id));
    expect([states(pay), planOf(pay, id)]).toEqual([['broadcast'], before]);
  });

  it('that is refused for the index that it has is not begun again at once', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    await change(pay, 'UPDATE forward_plan SET address = ?, key_index = 7', forwardKeyOf(ZPUB, 'BTC', 'mainnet').text);
    pay.signer.refuses = () => new Rejected('signer.index', 'Refused to sign: number 7', '7');
    for (let i = 0; i < 4; i++) {
      await passForwards(app, bench.chain);
      await pay.round();
    }
    expect([states(pay), planOf(pay, id).key_index]).toEqual([['rejected'], 7]);
    expect(textIn(planOf(pay, id).problem)).toContain('number 7');
  });

  it('waits for a day at most, and not for a year, once a clock that was ahead is set right', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const ahead = bench.at + 365 * 24 * 60 * MINUTE_MS;
    await change(pay, 'UPDATE forward_plan SET next_at = ?, run_at = ?', ahead, ahead);
    await passForwards(app, bench.chain);
    expect([planOf(pay, id).next_at, forwarded(pay)]).toEqual([bench.at, []]);
    await passForwards(app, bench.chain);
    expect([states(pay), planOf(pay, id).run_at]).toEqual([['approved'], null]);
  });

  it('of each day has its next hour again once a clock that was ahead is set right, and keeps what was left out', async () => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const day = 24 * 60 * MINUTE_MS;
    await change(pay, "UPDATE forward_plan SET every = 'day', minute = 180, next_at = ?", bench.at + 40 * day);
    await passForwards(app, bench.chain);
    const { next_at } = planOf(pay, id);
    expect(next_at).toBeGreaterThan(bench.at);
    expect(next_at).toBeLessThanOrEqual(bench.at + day);
    const later = next_at + 2 * day;
    await change(pay, 'UPDATE forward_plan SET next_at = ?, left_out = 2', later);
    await passForwards(app, bench.chain);
    expect([planOf(pay, id).next_at, forwarded(pay)]).toEqual([later, []]);
  });

  it.each(['in it', 'a day later'])('waits for a cheap hour, says so without an alert, and begins %s', async (when) => {
    const { pay, id } = await shopWithPlan();
    const { app, bench } = pay;
    const hour = 60 * MINUTE_MS;
    const rate = await pay.feeRate();
    /** A quarter of the hours of a week had this price, and the others ten times as much. */
    const week = async (price: bigint) => {
      const at = bench.at - (bench.at % hour);
      const hours = Array.from({ length: 168 }, (_, i) => {
        const low = i % 4 === 0 ? price : price * 10n;
        return [at - (167 - i) * hour, `${low}`, `${low}`];
      });
      const row = { key: `gas_prices:${bench.chain.key}`, value: JSON.stringify(hours), updated_at: bench.at };
      await app.store.write((tx) => tx.run(saveSetting, row));
    };
    const pass = async () => {
      await passForwards(app, bench.chain);
      return [states(pay), planOf(pay, id).problem, planOf(pay, id).cheap_since];
    };
    await change(pay, 'UPDATE forward_plan SET cheap = 1');
    await week(rate - 1n);
    const since = bench.at;
    const why = message('forward.cheap', { until: toIso(since + 24 * hour) });
    expect(await pass()).toEqual([[], why, since]);
    bench.advance(24 * hour - 1);
    expect(await pass()).toEqual([[], why, since]);
    expect(app.store.all({ sql: 'SELECT kind FROM alert', bind: () => [] } as never, {})).toEqual([]);
    if (when === 'in it') await week(rate);
    else bench.advance(1);
    expect(await pass()).toEqual([['approved'], null, null]);
  });
});
