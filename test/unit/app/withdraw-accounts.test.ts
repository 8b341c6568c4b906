/** What only account chains have: nonces in order, fees below the highest one, failed transactions, refunds from any address. */

import { randomUUIDv7 } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NOBODY } from '../../../daemon/app/addresses/skipped.ts';
import { ownTarget, watchList } from '../../../daemon/app/addresses/watch.ts';
import { ownSpends, replaceStuck } from '../../../daemon/app/gas/stuck.ts';
import { fundsOf } from '../../../daemon/app/spends/address-funds.ts';
import { tankOf } from '../../../daemon/app/spends/change-address.ts';
import { claimTransfer, ownIntent, prepareOwn } from '../../../daemon/app/spends/own.ts';
import { previewWithdrawal } from '../../../daemon/app/withdrawals/approve.ts';
import { refundDeposit } from '../../../daemon/app/withdrawals/inbox.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { textOf } from '../../../daemon/domain/messages.ts';
import { formatUnits } from '../../../daemon/domain/money.ts';
import { nonceOf } from '../../../daemon/domain/spend.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { ZERO_ADDRESS } from '../../../daemon/sandbox/simulated-accounts.ts';
import { insertTarget, targetById } from '../../../daemon/store/queries/credits.ts';
import { inboxBelow } from '../../../daemon/store/queries/inbox.ts';
import { insertSpend, versionsOf } from '../../../daemon/store/queries/withdrawals.ts';
import type { PayBench } from './pay-bench.ts';
import { ETH, TOKEN } from './pay-families.ts';

const LAST_ID = 2 ** 31;

const nonce = (pay: PayBench, id: number): bigint | undefined => nonceOf(pay.spend(id).conflict_key)?.nonce;

/** The simulated chain takes the whole highest fee. A real one takes what is used of it. */
function thirdOfFees({ chain: { adapter } }: PayBench): void {
  const { sync } = adapter;
  adapter.sync = async (since, signal) => {
    const update = await sync(since, signal);
    for (const debit of update?.debits ?? []) if (debit.kind === 'fee') debit.amount.units /= 3n;
    return update;
  };
}

describe.each([ETH, TOKEN])('$name: nonces', (family) => {
  async function ofTwo() {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin]);
    const ids = [await pay.withdraw(coin / 4n), await pay.withdraw(coin / 4n)] as const;
    return { pay, ids };
  }

  it('are signed in order: none before the one below it', async () => {
    const { pay, ids } = await ofTwo();
    const first = pay.row(ids[0]).uuid;
    const locked = new Rejected('signer.locked', 'the wallet is locked');
    pay.signer.refuses = ({ withdrawals }) => (withdrawals.some(({ intent }) => intent.uuid === first) ? locked : null);
    await pay.pass();
    // the second was planned with the next nonce, and is planned again
    expect([nonce(pay, ids[0]), pay.row(ids[1]).spend_id]).toEqual([0n, null]);
    expect(pay.signer.orders).toEqual([]);
    pay.signer.refuses = () => null;
    await pay.round();
    expect(ids.map((id) => nonce(pay, id))).toEqual([0n, 1n]);
    expect(pay.signer.orders.map(({ withdrawals }) => withdrawals[0]!.intent.uuid)).toEqual([
      first,
      pay.row(ids[1]).uuid,
    ]);
    await pay.chain.mine();
    await pay.sync();
    expect(ids.map((id) => pay.row(id).state)).toEqual(['completed', 'completed']);
  });

  it('leave no gap when the one below is given back by the signer', async () => {
    const { pay, ids } = await ofTwo();
    const first = pay.row(ids[0]).uuid;
    const limit = new Rejected('signer.limit', 'above the limit');
    pay.signer.refuses = ({ withdrawals }) => (withdrawals.some(({ intent }) => intent.uuid === first) ? limit : null);
    await pay.round();
    expect(pay.row(ids[0])).toMatchObject({ state: 'requested', problem: 'above the limit' });
    await pay.round();
    expect([nonce(pay, ids[1]), pay.row(ids[1]).state]).toEqual([0n, 'broadcast']);
  });
});

describe.each([ETH, TOKEN])('$name: a fee', (family) => {
  it('that is below the highest one is the one that the books and the withdrawal show', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    const { adapter } = pay.chain;
    thirdOfFees(pay);
    await pay.deposits([coin]);
    const before = pay.bench.balance(adapter.spending!.feeAsset);
    const id = await pay.withdraw(coin / 4n);
    await pay.round();
    const [version] = pay.versions(id);
    expect(pay.row(id).fee).toBe(version!.fee);
    await pay.chain.mine();
    await pay.sync();
    const paid = version!.fee / 3n;
    expect(pay.row(id)).toMatchObject({ state: 'completed', fee: paid });
    const amount = family.hasGas ? 0n : coin / 4n;
    expect(pay.bench.balance(adapter.spending!.feeAsset)).toBe(before - amount - paid);
  });
});

describe.each([ETH, TOKEN])('$name: taking everything', (family) => {
  /** More than large payments need where their source does not tell finality. */
  const DEEP = 100;

  it('collects every address that is worth its gas', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    for (const units of [coin, 3n * coin]) await pay.deposits([units]);
    await pay.chain.mine(DEEP);
    await pay.sync();
    const { preview, collect } = await previewWithdrawal(pay.app, `${await pay.withdraw(null)}`);
    expect(collect).toMatchObject({ places: 2, units: 4n * coin });
    expect(preview!.raw).toBeNull();
    expect(preview!.outputs.map(({ units }) => units)).toEqual([4n * coin]);
    expect(preview!.intents).toMatchObject([{ sweep: true, units: `${4n * coin}` }]);
    expect(preview!.warnings.filter(({ code }) => code === 'left_behind')).toEqual([]);
  });

  it('warns of the fees of collecting, too', async () => {
    const everything = async (units: bigint) => {
      const pay = await family.open();
      for (const _ of [1, 2, 3]) await pay.deposits([units]);
      await pay.chain.mine(DEEP);
      await pay.sync();
      const { preview, collect } = await previewWithdrawal(pay.app, `${await pay.withdraw(null)}`);
      const codes = preview!.warnings.map(({ code }) => code);
      return {
        coin: pay.chain.coin,
        fees: preview!.fee + collect!.cost,
        high: codes.filter((one) => /_fee$/.test(one)),
      };
    };
    const { coin } = (await family.open()).chain;
    const { fees, high } = await everything(coin);
    expect(high).toEqual([]);
    // 6 % of three of them; the payment alone costs less than 2 %
    expect((await everything((fees * 100n) / 18n)).high).toEqual([family.hasGas ? 'dear_fee' : 'high_fee']);
  });

  it('says what stays where, because it lacks confirmations', async () => {
    const pay = await family.openUsual();
    const { coin } = pay.chain;
    for (const units of [coin, 3n * coin]) await pay.deposits([units]);
    const { preview, collect } = await previewWithdrawal(pay.app, `${await pay.withdraw(null)}`);
    expect(collect).toBeNull();
    const [paid] = preview!.outputs;
    expect(paid!.units + (family.hasGas ? 0n : preview!.fee)).toBe(3n * coin);
    const [left] = preview!.warnings.filter(({ code }) => code === 'left_behind');
    const stays = formatUnits(coin, assetOf(family.name));
    expect(left && textOf(left.said)).toContain(
      `${stays} ${family.name} stay on 1 other address, because it is worth less than its gas`,
    );
  });
});

it('the gas tank stays among the most urgent addresses, whatever number of newer ones a shop has', async () => {
  const pay = await ETH.open();
  const { app, bench } = pay;
  const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
  const tank = await tankOf(app, {
    business: app.directory.business(bench.businessId),
    account,
    chain: bench.chain,
    asset: 'ETH',
  });
  await app.store.write((tx) => {
    for (let idx = 1; idx <= 10_000; idx++) {
      const script = Buffer.from(idx.toString(16).padStart(40, 'f'), 'hex');
      const place = { account_id: account.id, chain_key: bench.chain.key, branch: 1, idx, invoice_id: null };
      tx.run(insertTarget, { script, address: `0x${script.toString('hex')}`, ...place });
    }
  });
  const [first] = watchList(app.store, bench.chain.key).active();
  expect(first?.map(({ script }) => Buffer.from(script))).toContainEqual(Buffer.from(tank.script));
});

it('an address that gets gas is looked at after each block, however old it is', async () => {
  const { bench, app } = await ETH.open();
  const { chain, accountId: account_id } = bench;
  const [old, ...newer] = await app.store.write((tx) =>
    Array.from({ length: 1_001 }, (_, at) => {
      const script = Buffer.from(`${at}`.padStart(40, 'f'), 'hex');
      const place = { account_id, chain_key: chain.key, branch: 0, idx: 20_000 + at, invoice_id: NOBODY };
      tx.run(insertTarget, { script, address: `0x${script.toString('hex')}`, ...place });
      return `${script.toString('hex')}`;
    }),
  );
  const watched = () => {
    const all = [...watchList(app.store, chain.key).active()].flat();
    return new Set(all.map(({ script }) => Buffer.from(script).toString('hex')));
  };
  expect([watched().has(old!), watched().has(newer.at(-1)!)]).toEqual([false, true]);
  const spend = {
    account_id,
    chain_key: chain.key,
    asset: 'ETH',
    conflict_key: 'a:0',
    created_at: 1,
    forwards: null,
  } as const;
  const subject = `0x${old}`;
  await app.store.write((tx) => tx.run(insertSpend, { ...spend, purpose: 'fund', subject }));
  expect(watched().has(old!)).toBe(true);
});

describe('a transaction that fails', () => {
  it('ends the withdrawal as reverted once it is buried: its fee is paid, and the amount is there', async () => {
    const pay = await TOKEN.open();
    const { coin } = pay.chain;
    thirdOfFees(pay);
    await pay.deposits([coin]);
    const gas = pay.bench.balance('BNB');
    const id = await pay.withdraw(coin / 4n, ZERO_ADDRESS);
    await pay.round();
    const [version] = pay.versions(id);
    await pay.chain.mine();
    await pay.sync();
    expect(pay.row(id)).toMatchObject({
      state: 'broadcast',
      problem: expect.stringMatching(/failed: .*moved nothing/),
    });
    expect(pay.stored(id).problem?.code).toBe('wait.reverted');
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['withdrawal.coin_missing']);
    await pay.chain.mine(BURIED_BLOCKS.BSC - 1);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'reverted', txid: null, held: false, problem: null });
    expect(pay.row(id).fee).toBe(version!.fee / 3n);
    expect([pay.available(), pay.bench.balance('BNB')]).toEqual([coin, gas - version!.fee / 3n]);
    expect(pay.alerts()).toEqual([]);
    // its nonce is used: the next payment has the next one
    const next = await pay.withdraw(coin / 4n);
    await pay.round();
    expect([nonce(pay, next), pay.row(next).state]).toEqual([1n, 'broadcast']);
  });
});

it('a fee in another asset is warned of when it is worth more than 5 % of the amount', async () => {
  const pay = await TOKEN.open();
  const { coin } = pay.chain;
  await pay.deposits([coin]);
  const codesOf = async (units: bigint): Promise<string[]> => {
    const { preview } = await previewWithdrawal(pay.app, `${await pay.request(units)}`);
    return preview!.warnings.map(({ code }) => code);
  };
  const paid = await pay.withdraw(coin / 4n);
  await pay.round();
  const [version] = pay.versions(paid);
  // a token and the coin cost the same here
  expect(await codesOf(version!.fee * 21n)).not.toContain('dear_fee');
  expect(await codesOf(version!.fee * 19n)).toContain('dear_fee');
});

describe.each([ETH, TOKEN])('$name: a withdrawal to an address of the same wallet', (family) => {
  it('pays no invoice, is no income, and leaves the money in the balance', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin]);
    const invoice = await pay.bench.invoice({ crypto: family.name });
    const { address } = pay.app.store.get(targetById, { id: invoice.targetId })!;
    const before = pay.available();
    const inbox = pay.bench.inbox();
    const id = await pay.request(coin / 4n, address);
    const { preview } = await previewWithdrawal(pay.app, `${id}`);
    expect(preview?.warnings).toContainEqual(expect.objectContaining({ code: 'own_address' }));
    await pay.approve(id);
    await pay.round();
    const [version] = pay.versions(id);
    await pay.chain.mine(100);
    await pay.sync();
    expect(pay.row(id).state).toBe('completed');
    const fee = family === ETH ? version!.fee : 0n;
    expect(pay.available()).toBe(before - fee);
    expect([pay.bench.invoiceStatus(invoice.id), pay.bench.payment(invoice.id).received]).toEqual(['unpaid', 0n]);
    expect(pay.bench.inbox()).toEqual(inbox);
  });
});

describe('a payment to ourselves that nodes refuse', () => {
  const MINUTES = 60_000;
  const BLOCKS = 96;

  /** Collections of so many addresses, which the node refuses. */
  async function refused(count: number) {
    const pay = await ETH.openUsual();
    const { app, bench, chain } = pay;
    for (let i = 0; i < count; i++) await pay.deposits([chain.coin], BLOCKS);
    const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
    const business = app.directory.business(bench.businessId);
    const holder = { business, account, chain: bench.chain, asset: chain.asset };
    const feeRate = await pay.feeRate();
    for (const address of fundsOf(app.store, holder, { settledOnly: true }).balances()) {
      const transfer = { purpose: 'collect' as const, at: ownTarget(app.store, bench.chain.key, address)! };
      const planned = await prepareOwn(app, holder, transfer, { feeRate, feeMax: 10n ** 18n });
      const intent = ownIntent(holder, { uuid: randomUUIDv7(), feeMax: `${planned.plan.fee}`, coins: null });
      const approved = { intent, approval: { by: 'gas' as const } };
      await app.store.write((tx) => claimTransfer(app, tx, holder, { planned, transfer, approved }));
    }
    const bad = new Set<string>();
    chain.refuses = ({ txid }) => {
      if (bad.size < count) bad.add(txid);
      return bad.has(txid) ? 'transaction underpriced' : null;
    };
    const spends = ownSpends(app.store, holder);
    const budget = { spends, feeMaxOf: () => 10n ** 18n, use: () => {} };
    const hurry = () => replaceStuck(app, holder, budget, feeRate);
    const versions = (at: number) => app.store.all(versionsOf, { spend_id: spends[at]!.id });
    await pay.round();
    bench.advance(16 * MINUTES);
    return { pay, hurry, versions };
  }

  it('gives way to one with a higher fee once no block has it, so that later ones of its address go on', async () => {
    const { pay, hurry, versions } = await refused(1);
    await hurry();
    // a block may have it, although the node says otherwise
    expect(versions(0)).toHaveLength(1);
    for (let i = 0; i < 2; i++) await pay.round();
    await hurry();
    await pay.round();
    const [first, second, ...more] = versions(0);
    expect(more).toEqual([]);
    expect([first!.sent_at, second!.fee > first!.fee]).toEqual([null, true]);
    expect(pay.chain.waiting()).toEqual([second!.txid]);
    expect(pay.alerts()).toEqual([]);
  });

  it('gives way also where it was made while the clock was ahead', async () => {
    const { pay, hurry, versions } = await refused(1);
    for (let i = 0; i < 2; i++) await pay.round();
    pay.bench.advance(-365 * 24 * 60 * MINUTES);
    await hurry();
    expect(versions(0)).toHaveLength(2);
  });

  it('keeps no other one waiting that can be replaced', async () => {
    const { pay, hurry, versions } = await refused(2);
    for (let i = 0; i < 2; i++) await pay.round();
    const spending = pay.bench.chain.spending;
    const plan = spending.plan.bind(spending);
    let isFirst = true;
    spending.plan = async (request, limit) => {
      if (!isFirst) return plan(request, limit);
      isFirst = false;
      throw new Rejected('spend.nonce', 'a block has its nonce');
    };
    await expect(hurry()).rejects.toMatchObject({ code: 'spend.nonce' });
    expect([versions(0).length, versions(1).length]).toEqual([1, 2]);
  });
});

describe('a payment to ourselves that no block includes', () => {
  const LATE_MS = 16 * 60_000;

  /** An address pays a withdrawal and is then collected. The node takes both, shows none, and keeps what it took. */
  async function behind() {
    const pay = await ETH.openUsual();
    const { app, bench, chain } = pay;
    await pay.deposits([chain.coin], 96);
    const taken: string[] = [];
    const { spending } = bench.chain;
    spending.broadcast = async (raw) => void taken.push(raw);
    // as on a real chain, where nodes want 10 % more
    spending.replacementRate = (replaced) => (1_100n * replaced.at(-1)!.fee) / BigInt(replaced.at(-1)!.size) + 1n;
    const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
    const business = app.directory.business(bench.businessId);
    const holder = { business, account, chain: bench.chain, asset: chain.asset };
    const [address] = fundsOf(app.store, holder, { settledOnly: true }).balances();
    const transfer = { purpose: 'collect' as const, at: ownTarget(app.store, bench.chain.key, address!)! };
    const feeRate = await pay.feeRate();
    const collect = async () => {
      const planned = await prepareOwn(app, holder, transfer, { feeRate, feeMax: 10n ** 18n });
      const intent = ownIntent(holder, { uuid: randomUUIDv7(), feeMax: `${planned.plan.fee}`, coins: null });
      const approved = { intent, approval: { by: 'gas' as const } };
      await app.store.write((tx) => claimTransfer(app, tx, holder, { planned, transfer, approved }));
      await pay.round();
    };
    const hurry = async (price = feeRate) => {
      bench.advance(LATE_MS);
      const budget = { spends: ownSpends(app.store, holder), feeMaxOf: () => 10n ** 18n, use: () => {} };
      await replaceStuck(app, holder, budget, price);
      await pay.round();
    };
    const fees = (): bigint[] =>
      ownSpends(app.store, holder).flatMap(({ id: spend_id }) =>
        app.store.all(versionsOf, { spend_id }).map(({ fee }) => fee),
      );
    return { pay, collect, hurry, fees, taken, feeRate };
  }

  it('pays no more while one with a lower nonce waits, whose place it cannot take', async () => {
    const { pay, collect, hurry, fees, taken } = await behind();
    await pay.withdraw(pay.chain.coin / 4n);
    await pay.round();
    await collect();
    const before = fees();
    for (let i = 0; i < 3; i++) await hurry();
    expect([before.length, fees()]).toEqual([1, before]);
    await pay.chain.take(taken[0]!);
    await pay.chain.mine();
    await pay.sync();
    await hurry();
    expect(fees()).toEqual([before[0], expect.any(BigInt)]);
  });

  it('pays hardly more than four times the price of now, since a higher one changes nothing', async () => {
    const { collect, hurry, fees } = await behind();
    await collect();
    for (let i = 0; i < 30; i++) await hurry();
    const [first, ...more] = fees();
    const times = Number((100n * more.at(-1)!) / first!) / 100;
    expect([times >= 4, times < 4.5]).toEqual([true, true]);
  });

  it('gets a better tip where its own is low, however far the price fell below what it offers', async () => {
    const { pay, collect, hurry, fees, feeRate } = await behind();
    await collect();
    await hurry(feeRate / 8n);
    expect(fees()).toHaveLength(1);
    pay.bench.chain.spending.hasLowTip = () => fees().length < 2;
    for (let i = 0; i < 3; i++) await hurry(feeRate / 8n);
    const [first, ...more] = fees();
    expect([more.length, more[0]! > first!]).toEqual([1, true]);
  });
});

describe('a token that lacks confirmations', () => {
  /** What a deposit of any value needs on the simulated chain, which tells no final block. */
  const BLOCKS = 96;
  const WAITS = { state: 'approved', problem: expect.stringMatching(/^It waits for confirmations/) };

  /** Two confirmed deposits. The newest block has the collection of the larger one, of two coins, into the tank. */
  async function collected(): Promise<{ pay: PayBench; coin: bigint }> {
    const pay = await TOKEN.openUsual();
    const { app, bench, chain } = pay;
    const { coin, asset } = chain;
    for (const units of [coin, 2n * coin]) await pay.deposits([units], BLOCKS);
    const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
    const holder = { business: app.directory.business(bench.businessId), account, chain: bench.chain, asset };
    const tank = await tankOf(app, holder);
    // the coin for the fee comes with a token
    await chain.deposit({ script: tank.script, address: addressAt(pay, tank.script) }, 1n);
    await chain.mine(BLOCKS);
    await pay.sync();
    const [largest] = fundsOf(app.store, holder, { settledOnly: true }).balances();
    const at = ownTarget(app.store, bench.chain.key, largest!)!;
    const planned = await prepareOwn(
      app,
      holder,
      { purpose: 'collect', at },
      { feeRate: await pay.feeRate(), feeMax: 10n ** 16n },
    );
    const intent = ownIntent(holder, { uuid: randomUUIDv7(), feeMax: `${planned.plan.fee}`, coins: null });
    const approved = { intent, approval: { by: 'gas' as const } };
    const transfer = { purpose: 'collect' as const, at };
    await app.store.write((tx) => claimTransfer(app, tx, holder, { planned, transfer, approved }));
    await pay.round();
    await chain.mine();
    await pay.sync();
    return { pay, coin };
  }

  function addressAt({ app, bench }: PayBench, script: Uint8Array): string {
    const id = watchList(app.store, bench.chain.key).targetIdOf(script)!;
    return app.store.get(targetById, { id })!.address;
  }

  async function confirm(pay: PayBench): Promise<void> {
    await pay.chain.mine(BLOCKS);
    await pay.round();
  }

  it('since a collection brought it is paid out only later, whoever approved that', async () => {
    const { pay, coin } = await collected();
    const id = await pay.withdraw((coin * 3n) / 2n);
    await pay.round();
    expect(pay.row(id)).toMatchObject(WAITS);
    await confirm(pay);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('since it just came is paid out only later', async () => {
    const pay = await TOKEN.openUsual();
    await pay.deposits([pay.chain.coin]);
    const id = await pay.withdraw(pay.chain.coin / 2n);
    await pay.round();
    expect(pay.row(id)).toMatchObject(WAITS);
    await confirm(pay);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('can be approved before', async () => {
    const { pay, coin } = await collected();
    const units = (coin * 3n) / 2n;
    const { preview, why } = await previewWithdrawal(pay.app, `${await pay.request(units)}`);
    expect(why).toBeNull();
    expect(preview!.outputs).toMatchObject([{ units }]);
  });

  it('is waited for by an approved withdrawal of everything, which is paid once', async () => {
    const { pay, coin } = await collected();
    const id = await pay.withdraw(null);
    await pay.round();
    expect(pay.row(id)).toMatchObject(WAITS);
    await confirm(pay);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', units: 2n * coin + 1n });
  });

  it('keeps no payment waiting that another address can pay', async () => {
    const { pay, coin } = await collected();
    const id = await pay.withdraw(coin / 2n);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('is found among however many trifles that came before', async () => {
    const pay = await TOKEN.openUsual();
    const { app, bench, chain } = pay;
    await pay.deposits([1n]);
    type Stored = Record<string, unknown>;
    const [row] = app.store.all({ sql: 'SELECT * FROM credit LIMIT 1', bind: () => [] } as never, {}) as Stored[];
    const [names, others] = [Object.keys(row!), Object.keys(row!).filter((name) => !['id', 'outpoint'].includes(name))];
    expect(names).toHaveLength(others.length + 2);
    const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)';
    const copy = `INSERT INTO credit (outpoint, ${others}) ${numbers} SELECT outpoint || ':' || i, ${others} FROM credit, n WHERE id = ${row!.id}`;
    await app.store.write((tx) => tx.run({ sql: copy, bind: () => [] }, {}));
    await pay.deposits([chain.coin]);
    const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
    const of = { chain: bench.chain, account, asset: chain.asset };
    const [most] = fundsOf(app.store, of, { settledTokens: true }).balances();
    expect([most!.units[chain.asset], most!.unconfirmed![chain.asset]]).toEqual([0n, chain.coin]);
  });

  it('of a collection that left the chain lets no payment go before it', async () => {
    const { pay, coin } = await collected();
    const id = await pay.withdraw((coin * 3n) / 2n);
    await pay.chain.undo(1, []);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ state: 'approved', spend_id: null });
    await confirm(pay);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });
});

describe.each([ETH, TOKEN])('$name: a refund from the inbox', (family) => {
  /** What a deposit of any value needs on Ethereum where nobody tells which blocks are final. */
  const BLOCKS = 96;

  /** Asks for the refund of the first deposit, and approves it. */
  async function refund(pay: PayBench): Promise<number> {
    const items = pay.app.store.all(inboxBelow, { id: LAST_ID, limit: 100 });
    const first = items.filter(({ asset }) => asset === pay.chain.asset).at(-1);
    const { id } = await refundDeposit(pay.app, first!.id, pay.recipient());
    await pay.approve(id);
    await pay.round();
    return id;
  }

  const senderOf = (pay: PayBench, id: number): string | undefined => nonceOf(pay.spend(id).conflict_key)?.address;

  it('pays what came, less the fee, and nothing of the other money at its address', async () => {
    const pay = await family.openUsual();
    const { coin } = pay.chain;
    // the first and the third are at one address
    await pay.deposits([coin, 5n * coin, 7n * coin], BLOCKS);
    const id = await refund(pay);
    await pay.chain.mine();
    await pay.sync();
    const [version] = pay.versions(id);
    const units = coin - (family.hasGas ? 0n : version!.fee);
    expect(pay.row(id)).toMatchObject({ state: 'completed', units, txid: version!.txid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([version!.txid]);
    expect(pay.available()).toBe(12n * coin);
  });

  it('comes from another address when the money has left that of the deposit', async () => {
    const pay = await family.openUsual();
    const { coin } = pay.chain;
    await pay.deposits([coin], BLOCKS);
    const spent = await pay.withdraw(coin / 2n);
    await pay.round();
    await pay.chain.mine();
    await pay.deposits([5n * coin], BLOCKS);
    const id = await refund(pay);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
    expect(senderOf(pay, id)).not.toBe(senderOf(pay, spent));
    const [version] = pay.versions(id);
    expect(pay.row(id).units).toBe(coin - (family.hasGas ? 0n : version!.fee));
  });

  it('waits for the confirmations of its deposit', async () => {
    const pay = await family.openUsual();
    const { coin } = pay.chain;
    await pay.deposits([coin, 5n * coin]);
    const id = await refund(pay);
    expect(pay.row(id)).toMatchObject({ state: 'approved', problem: expect.stringMatching(/confirmations/) });
    await pay.chain.mine(BLOCKS);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
  });
});
