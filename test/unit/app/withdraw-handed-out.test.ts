/** A PSBT is given out and taken back only while that decides something, and is given up after its time. */
import { describe, expect, it } from 'vitest';
import { giveUp, handOut, takeBack, whyOutside } from '../../../daemon/app/spends/outside.ts';
import { expireWithdrawals } from '../../../daemon/app/spends/pass.ts';
import { readPlan } from '../../../daemon/app/spends/stored-plan.ts';
import { reject } from '../../../daemon/app/withdrawals/approve.ts';
import { decodeTransaction, unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { message, textIn, textOf } from '../../../daemon/domain/messages.ts';
import type { SignedSpend, SpendPlan } from '../../../daemon/domain/spend.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { PayChain } from './pay-chain.ts';

const DAY_MS = 24 * 3_600_000;
/** From the download on. */
const SIGNED_WITHIN_MS = 30 * DAY_MS;
const SIGNED = new TextEncoder().encode('signed');
const EARLIER = new TextEncoder().encode('earlier');

/** An account whose keys another wallet has, with one coin. A signed PSBT is taken for what the plan makes; nobody signs here. */
async function watched(): Promise<CoinBench> {
  const network = new PayChain('BTC');
  Object.assign(network, { account: { ...network.account, watch: { form: 'p2wpkh', origin: null } } });
  const pay: CoinBench = await PayBench.on(network);
  await pay.deposits([COIN]);
  takesBack(pay, ({ plan }) => plan);
  return pay;
}

/** `fits`: the transaction that the given bytes hold, or the refusal. */
function takesBack(
  pay: CoinBench,
  fits: (asked: { plan: SpendPlan; given: Uint8Array }) => SpendPlan | Rejected,
): void {
  pay.bench.chain.spending.outside!.takeBack = (plan, given): SignedSpend => {
    const fitting = fits({ plan, given });
    if (fitting instanceof Rejected) throw fitting;
    if (fitting.kind !== 'utxo') throw new Error('a plan of coins');
    const raw = unsignedTransaction(fitting);
    return { txid: decodeTransaction(raw, 'BTC', 'mainnet').txid, raw, fee: fitting.fee, size: fitting.vsize };
  };
}

/** What is done every minute. */
const expire = ({ app }: CoinBench): Promise<void> => app.store.write((tx) => expireWithdrawals(app, tx));

/** An approved withdrawal of a quarter of the coin, with a plan. */
async function planned(pay: CoinBench): Promise<number> {
  const id = await pay.withdraw(COIN / 4n);
  await pay.pass();
  return id;
}

async function handedOut(): Promise<{ pay: CoinBench; id: number }> {
  const pay = await watched();
  const id = await planned(pay);
  await handOut(pay.app, `${id}`);
  return { pay, id };
}

const refusal = async (made: Promise<unknown>): Promise<string> => {
  const error = await made.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Rejected)) throw new Error(`no refusal: ${error}`);
  return `${error.code}: ${error.message}`;
};

describe('a PSBT is given out', () => {
  it('only of a planned payment of a wallet elsewhere', async () => {
    const [own, pay] = [await PayBench.open(), await watched()];
    await own.deposits([COIN]);
    const signedHere = await planned(own);
    expect(await refusal(handOut(own.app, `${signedHere}`))).toBe(
      `psbt.none: Withdrawal ${signedHere} is not signed in another wallet`,
    );
    const id = await pay.request(COIN / 4n);
    expect(await refusal(handOut(pay.app, `${id}`))).toBe(
      `psbt.none: Withdrawal ${id} is not approved yet: approve it first`,
    );
    await pay.approve(id);
    expect(await refusal(handOut(pay.app, `${id}`))).toBe(
      `psbt.none: Withdrawal ${id} is approved, and no transaction of it waits for a signature`,
    );
    await pay.pass();
    const first = await handOut(pay.app, `${id}`);
    expect((await handOut(pay.app, `${id}`)).file).toEqual(first.file);
    expect(pay.row(id)).toMatchObject({ state: 'signed', deadline_at: pay.app.now() + SIGNED_WITHIN_MS });
  });

  it('of nothing that was rejected, or is signed already', async () => {
    const { pay, id } = await handedOut();
    await takeBack(pay.app, `${id}`, SIGNED);
    expect(await refusal(handOut(pay.app, `${id}`))).toBe(`psbt.none: Withdrawal ${id} is signed already`);
    const other = await watched();
    const rejected = await planned(other);
    await other.reject(rejected);
    expect(await refusal(handOut(other.app, `${rejected}`))).toBe(
      `psbt.none: Withdrawal ${rejected} is rejected, and no transaction of it waits for a signature`,
    );
  });

  it('and the withdrawal says that it waits for the other wallet, until its signature is there', async () => {
    const pay = await watched();
    const id = await pay.request(COIN / 4n);
    const told = () => textIn(whyOutside(pay.app, pay.stored(id)));
    expect(told()).toBeNull();
    await pay.approve(id);
    await pay.pass();
    const waits = textOf(message('wait.outside'));
    expect(told()).toBe(waits);
    await handOut(pay.app, `${id}`);
    expect([told(), pay.versions(id)[0]!.problem]).toEqual([waits, waits]);
    await takeBack(pay.app, `${id}`, SIGNED);
    expect(told()).toBeNull();
  });
});

describe('a signed PSBT is taken back', () => {
  it('once, stored before it is sent, and waits for nobody from then on', async () => {
    const { pay, id } = await handedOut();
    expect(await takeBack(pay.app, `${id}`, SIGNED)).toMatchObject({ state: 'signed', deadline_at: null });
    const [version] = pay.versions(id);
    expect(version).toMatchObject({ raw: expect.any(String), signed_at: pay.app.now(), sent_at: null });
    expect(pay.chain.offered).toEqual([]);
    pay.bench.advance(1_000);
    await takeBack(pay.app, `${id}`, SIGNED);
    expect(pay.versions(id)).toEqual([version]);
    await pay.round();
    expect(pay.chain.offered).toEqual([version!.txid]);
    expect(pay.row(id)).toMatchObject({ state: 'broadcast', problem: null });
  });

  it('not before it was given out', async () => {
    const pay = await watched();
    const id = await pay.withdraw(COIN / 4n);
    expect(await refusal(takeBack(pay.app, `${id}`, SIGNED))).toBe(
      `psbt.none: Withdrawal ${id} is approved, and no transaction of it waits for a signature`,
    );
    await pay.pass();
    expect(await refusal(takeBack(pay.app, `${id}`, SIGNED))).toBe(
      `psbt.none: The PSBT of withdrawal ${id} was not downloaded yet: this is another one`,
    );
    expect(pay.versions(id)).toMatchObject([{ raw: null, txid: null }]);
  });

  it.each([
    ['speed-up', 'a newer one replaced'],
    ['cancel', 'was canceled'],
  ] as const)('not of a version before the newest (%s)', async (kind, said) => {
    const { pay, id } = await handedOut();
    const [first] = pay.versions(id);
    await pay.replace(id, kind, 200_000n);
    await pay.pass();
    await handOut(pay.app, `${id}`);
    const unsigned = new Rejected('psbt.unsigned', 'nobody signed it');
    const other = new Rejected('psbt.other', 'another transaction');
    const isFirst = (plan: SpendPlan) => JSON.stringify(readPlan(first!.plan), text) === JSON.stringify(plan, text);
    // an earlier one is known as such, even where its signatures are not whole
    takesBack(pay, ({ plan, given }) => (given === EARLIER && isFirst(plan) ? unsigned : other));
    expect(await refusal(takeBack(pay.app, `${id}`, EARLIER))).toBe(
      `psbt.replaced: This is an earlier PSBT of withdrawal ${id}, which ${said}: sign the newest. Both spend a same coin, so only ` +
        'one of them can confirm; until then keep this signed copy from others',
    );
    expect(await refusal(takeBack(pay.app, `${id}`, SIGNED))).toBe('psbt.other: another transaction');
  });
});

const text = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);

describe('a PSBT that nobody signs', () => {
  it('is given up thirty days after the download, and its coin is free', async () => {
    const { pay, id } = await handedOut();
    expect(pay.available()).toBeLessThan(COIN);
    pay.bench.advance(SIGNED_WITHIN_MS - 1);
    await expire(pay);
    expect(pay.row(id).state).toBe('signed');
    pay.bench.advance(1);
    await expire(pay);
    expect(pay.row(id)).toMatchObject({
      state: 'failed',
      reason: textOf(message('ended.unsigned')),
      deadline_at: null,
      problem: null,
    });
    expect([pay.available(), pay.spend(id).state]).toEqual([COIN, 'waiting']);
    expect(await refusal(takeBack(pay.app, `${id}`, SIGNED))).toMatch(
      /^psbt.abandoned: Withdrawal \d+ was given up unsigned, and is not sent/,
    );
  });

  it('and was never downloaded ends with its approval', async () => {
    const pay = await watched();
    const id = await planned(pay);
    pay.bench.advance(DAY_MS - 1);
    await expire(pay);
    expect(pay.row(id).state).toBe('approved');
    pay.bench.advance(1);
    await expire(pay);
    expect(pay.row(id)).toMatchObject({ state: 'rejected', problem: null });
    expect(pay.available()).toBe(COIN);
  });

  it('is given up by the operator, with his reason', async () => {
    const { pay, id } = await handedOut();
    await pay.app.store.write((tx) => reject(pay.app, tx, `${id}`, 'sent by hand'));
    expect(pay.row(id)).toMatchObject({
      state: 'failed',
      reason: textOf(message('ended.unsigned_why', { reason: 'sent by hand' })),
    });
  });

  it('is not given up while the chain is not known as it is now', async () => {
    const { pay, id } = await handedOut();
    Object.defineProperty(pay.bench.chain, 'isCurrent', { value: false });
    await expect(pay.app.store.write((tx) => giveUp(pay.app, tx, pay.stored(id), null))).rejects.toMatchObject({
      message: 'Whether it was sent by the other wallet is not known before the chain is synced',
    });
    pay.bench.advance(SIGNED_WITHIN_MS);
    await expire(pay);
    expect(pay.row(id).state).toBe('signed');
  });

  it('is not given up once its signature is there', async () => {
    const { pay, id } = await handedOut();
    await takeBack(pay.app, `${id}`, SIGNED);
    expect(await refusal(pay.app.store.write((tx) => giveUp(pay.app, tx, pay.stored(id), null)))).toBe(
      `withdrawal.state: Withdrawal ${id} was signed: cancel it by another PSBT`,
    );
    expect(pay.row(id).state).toBe('signed');
  });
});
