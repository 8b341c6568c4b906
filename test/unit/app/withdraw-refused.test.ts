/** Payments that nodes refuse on chains without replacement: signed anew by themselves, by the operator, or given up. */
import { describe, expect, it } from 'vitest';
import { showWithdrawal } from '../../../daemon/app/withdrawals/lists.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import type { PayBench } from './pay-bench.ts';
import { BCH, type PayFamily, XMR } from './pay-families.ts';

const HOUR = 3_600_000;
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof Rejected ? error.code : String(error)),
  );

/** A withdrawal whose first transaction the node refuses for good; not offered yet. */
async function refused(family: PayFamily, options: { signsAnew: boolean }) {
  const pay = await family.open();
  await pay.deposits([pay.chain.coin], 1 + family.lockBlocks);
  const spending = pay.bench.chain.adapter.spending!;
  if (options.signsAnew) Object.assign(spending, { signsAnew: true });
  const tenth = (await pay.feeRate()) / 10n;
  let more = 0n;
  const plan = spending.plan.bind(spending);
  // a simulated transaction is named by its plan, so that one with the same fee would be the same
  spending.plan = (request, limit) => plan({ ...request, feeRate: request.feeRate + more }, limit);
  const bad = new Set<string>();
  pay.chain.refuses = ({ txid }) => {
    if (bad.size === 0) bad.add(txid);
    return bad.has(txid) ? 'invalid input' : null;
  };
  const id = await pay.withdraw(pay.chain.coin / 2n);
  const rise = () => {
    more += tenth;
  };
  return { pay, id, rise, bad };
}

const texts = (pay: PayBench) => pay.alerts().map(({ kind, message }) => [kind, message]);

describe('a payment of Monero that every node refuses', () => {
  it('is signed anew with the same key images, once a sync shows that no block has it, and pays once', async () => {
    const { pay, id, rise } = await refused(XMR, { signsAnew: true });
    await pay.round();
    rise();
    for (let i = 0; i < 4; i++) await pay.round();
    const [first, second, ...more] = pay.versions(id);
    expect(more).toEqual([]);
    expect(pay.keys(second!.id)).toEqual(pay.keys(first!.id));
    expect(second!.fee).toBeGreaterThanOrEqual(first!.fee);
    expect(second!.fee).toBeLessThanOrEqual(pay.row(id).fee_held);
    expect(pay.chain.waiting()).toEqual([second!.txid]);
    await pay.chain.mine(BURIED_BLOCKS.XMR);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: second!.txid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([second!.txid]);
    expect([pay.spend(id).state, pay.alerts()]).toEqual(['buried', []]);
  });

  it('since a deep reorganisation took an output of its ring is signed anew with the same key images, and pays once', async () => {
    const { pay, id, rise, bad } = await refused(XMR, { signsAnew: true });
    pay.chain.refuses = ({ txid }) => (bad.has(txid) ? 'invalid input' : null);
    await pay.round();
    const [first] = pay.versions(id);
    expect(pay.chain.waiting()).toEqual([first!.txid]);
    await pay.chain.mine(3);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: first!.txid });
    // the deposit stays where it is; what the ring names is another output now, so no node has the payment any more
    await pay.chain.undo(5, []);
    await pay.chain.forget(first!.txid!);
    bad.add(first!.txid!);
    expect(pay.chain.depthOf(first!.txid!)).toBe(0);
    rise();
    for (let i = 0; i < 5; i++) await pay.round();
    const [, second, ...more] = pay.versions(id);
    expect(more).toEqual([]);
    expect(pay.keys(second!.id)).toEqual(pay.keys(first!.id));
    expect(second!.fee).toBeLessThanOrEqual(pay.row(id).fee_held);
    expect(pay.chain.waiting()).toEqual([second!.txid]);
    await pay.chain.mine(BURIED_BLOCKS.XMR);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: second!.txid });
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual([second!.txid]);
    expect(pay.spend(id).state).toBe('buried');
    expect(pay.alerts()).toEqual([]);
  });

  it('is signed anew twice at the most, an hour apart, and then waits for the operator', async () => {
    const { pay, id, rise } = await refused(XMR, { signsAnew: true });
    pay.chain.refuses = () => 'invalid input';
    for (let i = 0; i < 6; i++) {
      await pay.round();
      rise();
    }
    expect(pay.versions(id)).toHaveLength(2);
    for (let hour = 1; hour <= 4; hour++) {
      pay.bench.advance(HOUR);
      for (let i = 0; i < 4; i++) await pay.round();
    }
    expect(pay.versions(id)).toHaveLength(3);
    const advice = `To have it signed anew: countinghouse withdrawal speed-up ${id}. To give it up: countinghouse withdrawal cancel ${id}`;
    expect(texts(pay).at(-1)).toEqual(['withdrawal.not_sent', expect.stringContaining(advice)]);
  });

  it('is signed anew also where the clock was ahead when it was signed before', async () => {
    const { pay, id, rise } = await refused(XMR, { signsAnew: true });
    pay.chain.refuses = () => 'invalid input';
    for (let i = 0; i < 6; i++) {
      await pay.round();
      rise();
    }
    expect(pay.versions(id)).toHaveLength(2);
    pay.bench.advance(-365 * 24 * HOUR);
    for (let i = 0; i < 4; i++) await pay.round();
    expect(pay.versions(id)).toHaveLength(3);
  });

  it('is signed anew as often through restarts, an hour apart, and can be given up after each', async () => {
    const { pay, id } = await refused(XMR, { signsAnew: true });
    let now = pay;
    /** It starts again, and its chain refuses everything; each fee is higher, as a new ring has a new id. */
    const restart = async () => {
      const step = BigInt(now.versions(id).length) * ((await now.feeRate()) / 10n);
      now = await now.moment()();
      now.chain.refuses = () => 'invalid input';
      const spending = now.bench.chain.adapter.spending!;
      const plan = spending.plan.bind(spending);
      Object.assign(spending, { signsAnew: true });
      spending.plan = (request, limit) => plan({ ...request, feeRate: request.feeRate + step }, limit);
    };
    pay.chain.refuses = () => 'invalid input';
    await pay.round();
    const counts: number[] = [];
    for (const advance of [0, 0, HOUR, 0, HOUR, HOUR]) {
      await restart();
      now.bench.advance(advance);
      expect(await codeOf(now.replace(id, 'cancel'))).not.toBe('ok');
      for (let i = 0; i < 4; i++) await now.round();
      counts.push(now.versions(id).length);
    }
    expect(counts).toEqual([2, 2, 3, 3, 3, 3]);
    expect(texts(now).at(-1)).toEqual(['withdrawal.not_sent', expect.stringContaining(`withdrawal cancel ${id}`)]);
    expect(await codeOf(now.replace(id, 'cancel'))).toBe('ok');
  });

  it('is not signed anew by itself where nodes disagree, or above the approved fee', async () => {
    for (const cause of ['disputed', 'fee']) {
      const { pay, id, rise } = await refused(XMR, { signsAnew: true });
      if (cause === 'disputed') {
        pay.chain.refuses = () => {
          throw new Rejected('broadcast.disputed', 'one node takes it and another one refuses it: invalid input');
        };
      }
      await pay.round();
      for (let i = 0; i < (cause === 'fee' ? 20 : 1); i++) rise();
      for (let i = 0; i < 4; i++) await pay.round();
      expect(pay.versions(id)).toHaveLength(1);
      expect(pay.row(id).state).toBe('signed');
      expect(texts(pay)).toEqual([['withdrawal.not_sent', expect.stringContaining('invalid input')]]);
    }
  });
});

describe.each([XMR, BCH])('$name: a payment that nodes refuse', (family) => {
  it('is replaced by the operator once no block can have it, and not before', async () => {
    const { pay, id } = await refused(family, { signsAnew: false });
    await pay.sync();
    await pay.pass();
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.no_replacement');
    for (let i = 0; i < 3; i++) await pay.round();
    expect(texts(pay)[0]![1]).toContain(`countinghouse withdrawal speed-up ${id}`);
    pay.bench.chain.away = true;
    expect(await codeOf(pay.replace(id, 'speed-up'))).toBe('withdrawal.no_replacement');
    pay.bench.chain.away = false;
    expect(showWithdrawal(pay.bench.app, `${id}`).replacements).toEqual(['speed-up', 'cancel']);
    await pay.replace(id, 'speed-up', 3n * (await pay.feeRate()));
    await pay.round();
    const [, second] = pay.versions(id);
    expect(pay.chain.waiting()).toEqual([second!.txid]);
    // it is taken: nothing can take its place any more
    expect(await codeOf(pay.replace(id, 'cancel'))).toBe('withdrawal.no_replacement');
    await pay.chain.mine();
    await pay.sync();
    expect([pay.row(id).state, pay.alerts()]).toEqual(['completed', []]);
  });

  it('is canceled by the operator, and its money is free again', async () => {
    const { pay, id } = await refused(family, { signsAnew: false });
    for (let i = 0; i < 4; i++) await pay.round();
    await pay.replace(id, 'cancel');
    await pay.round();
    expect(pay.versions(id).map(({ kind }) => kind)).toEqual(['pay', 'cancel']);
    await pay.chain.mine(BURIED_BLOCKS[pay.chain.chain]);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'canceled' });
    expect(pay.alerts()).toEqual([]);
    expect(pay.available()).toBe(pay.chain.coin - pay.versions(id)[1]!.fee);
  });
});
