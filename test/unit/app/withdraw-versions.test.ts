/** Faster versions and cancellations: what they may cost, what they leave behind, and when they are pointless. */
import { describe, expect, it } from 'vitest';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { bump, giveUpBump, holderFor, previewBump } from '../../../daemon/app/withdrawals/bump.ts';
import { previewReplacement, replace } from '../../../daemon/app/withdrawals/replace.ts';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { openSpends } from '../../../daemon/store/queries/withdrawals.ts';
import { SyncLoop } from '../../../daemon/workers/sync.ts';
import { COIN, PayBench } from './pay-bench.ts';

/** Smallest units per 1,000 virtual bytes. */
const HIGH = 200_000n;

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof Rejected ? error.code : String(error)),
  );

async function sent(units: bigint | null, deposits = [COIN], chain: 'BTC' | 'LTC' | 'BCH' = 'BTC') {
  const pay = await PayBench.open(chain);
  await pay.deposits(deposits);
  const id = await pay.withdraw(units);
  await pay.round();
  expect(pay.row(id).state).toBe('broadcast');
  return { pay, id };
}

const bumpOf = async (pay: PayBench, outpoint: string, feeRate: bigint | null = HIGH): Promise<void> => {
  const { app, bench, chain } = pay;
  const place = holderFor(app, bench.businessId, chain.chain);
  const wish = { outpoint, feeRate };
  const { intents, until } = await previewBump(app, place, wish);
  const given = { feeMax: BigInt(intents[0]!.feeMax), until, units: null, mac: 'mac' };
  await bump(app, place, wish, intents[0]!.uuid, given);
};

describe('what a replacement costs', () => {
  it.each(['speed-up', 'cancel'] as const)(
    '%s is paid from what is left when most of it was withdrawn',
    async (kind) => {
      const { pay, id } = await sent((COIN * 8n) / 10n);
      await pay.replace(id, kind, HIGH);
      await pay.round();
      const versions = pay.versions(id);
      expect(versions.map(({ kind: is }) => is)).toEqual(['pay', kind === 'cancel' ? 'cancel' : 'pay']);
      expect(pay.chain.mempool.has(versions[1]!.txid!)).toBe(true);
      expect(BigInt(pay.row(id).fee_held)).toBeGreaterThanOrEqual(kind === 'cancel' ? 0n : BigInt(versions[1]!.fee));
    },
  );

  it.each(['speed-up', 'cancel'] as const)('%s of a sweep is paid out of the amount', async (kind) => {
    const { pay, id } = await sent(null);
    await pay.replace(id, kind, HIGH);
    await pay.round();
    const [, second] = pay.versions(id);
    expect(pay.chain.mempool.has(second!.txid!)).toBe(true);
  });

  it('speeds a cancellation up out of what comes back with it', async () => {
    const { pay, id } = await sent(COIN - 4_000n);
    await pay.replace(id, 'cancel', HIGH);
    await pay.round();
    await pay.replace(id, 'speed-up', HIGH * 3n);
    await pay.round();
    const versions = pay.versions(id);
    expect(versions.map(({ kind }) => kind)).toEqual(['pay', 'cancel', 'cancel']);
    expect(pay.chain.mempool.has(versions[2]!.txid!)).toBe(true);
  });

  it('is refused when the balance does not have what the fee may become more', async () => {
    const { pay, id } = await sent(COIN - 4_000n);
    const { intents, until } = await previewReplacement(pay.app, { id: `${id}`, kind: 'cancel', feeRate: HIGH });
    expect(intents).toHaveLength(1);
    const given = { feeMax: BigInt(intents[0]!.feeMax), until, units: null, mac: 'mac' };
    const wish = { id: `${id}`, kind: 'speed-up' as const, feeRate: null };
    expect(await codeOf(replace(pay.app, wish, new Map([[pay.row(id).uuid, given]])))).toMatch(/insufficient/);
  });

  it('is warned of when it is high, though it pays nobody else', async () => {
    const { pay, id } = await sent(200_000n, [300_000n]);
    const { warnings } = await previewReplacement(pay.app, { id: `${id}`, kind: 'cancel', feeRate: HIGH });
    expect(warnings.map(({ code }) => code)).toContain('high_fee');
    const small = pay.deposit(100_000n);
    await pay.sync();
    const wish = { outpoint: `${small.txid}:0`, feeRate: HIGH };
    const shown = await previewBump(pay.app, holderFor(pay.app, pay.bench.businessId, 'BTC'), wish);
    expect(shown.warnings.map(({ code }) => code)).toEqual(['high_fee']);
  });
});

describe('a version that comes to nothing', () => {
  it('leaves the fee as it was approved, when its approval is over before it is signed', async () => {
    const { pay, id } = await sent(COIN / 2n);
    const before = pay.row(id);
    pay.signer.refuses = () => new Rejected('signer.approval', "the operator's approval has expired");
    await pay.replace(id, 'speed-up', HIGH);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ fee_held: before.fee_held, approval: before.approval });
    expect(pay.row(id).problem).toMatch(/expired/);
    pay.signer.refuses = () => null;
    await pay.replace(id, 'speed-up', HIGH);
    await pay.round();
    expect(BigInt(pay.row(id).fee_held)).toBeGreaterThan(BigInt(before.fee_held));
    expect(pay.versions(id)).toHaveLength(2);
  });

  it('leaves nothing "being canceled", when it was to cancel', async () => {
    const { pay, id } = await sent(COIN / 2n);
    pay.signer.refuses = () => new Rejected('signer.differs', 'no');
    await pay.replace(id, 'cancel', HIGH);
    expect(pay.row(id).cancel).toBe(true);
    await pay.round();
    expect([pay.row(id).cancel, pay.versions(id).length]).toEqual([false, 1]);
  });

  it('is not signed when what it was to replace is in a block', async () => {
    const { pay, id } = await sent(COIN / 2n);
    pay.signer.state = 'locked';
    await pay.replace(id, 'cancel', HIGH);
    await pay.pass();
    pay.chain.mine();
    await pay.sync();
    pay.signer.state = 'unlocked';
    await pay.round();
    expect(pay.versions(id)).toHaveLength(1);
    expect(pay.row(id)).toMatchObject({ state: 'completed', cancel: false });
  });
});

describe('a batch', () => {
  it('takes the new approval of what was approved already', async () => {
    const pay = await PayBench.open();
    await pay.deposits([COIN]);
    pay.signer.state = 'locked';
    const ids = [await pay.withdraw(COIN / 10n), await pay.request(COIN / 10n)];
    await pay.app.store.write((tx) =>
      tx.run({ sql: `UPDATE withdrawal SET fee_held = '100' WHERE id = ${ids[0]}`, bind: () => [] }, {}),
    );
    const names = ids.map(String);
    const { intents, until } = await previewBatch(pay.app, names);
    const given = intents.map(
      ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), until, units: null, mac: 'new' }] as const,
    );
    await batch(pay.app, names, new Map(given));
    const [first] = ids;
    expect(BigInt(pay.row(first!).fee_held)).toBeGreaterThan(100n);
    expect(pay.row(first!).approval).toContain('"new"');
    pay.signer.state = 'unlocked';
    await pay.round();
    expect(ids.map((id) => pay.row(id).state)).toEqual(['broadcast', 'broadcast']);
  });
});

describe('a node that refuses what it has in a block', () => {
  it('makes no alert: a sync that begins then shows it', async () => {
    const pay = await PayBench.open();
    await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    let offers = 0;
    pay.chain.refuses = (tx) => {
      offers += 1;
      pay.chain.refuses = null;
      pay.chain.add(tx);
      pay.chain.mine();
      return 'Transaction outputs already in utxo set';
    };
    await pay.sync();
    await pay.pass();
    expect(offers).toBe(1);
    expect(pay.alerts()).toEqual([]);
    await pay.sync();
    expect(pay.alerts()).toEqual([]);
    expect(pay.row(id).state).toBe('completed');
  });
});

describe('paying for a parent', () => {
  it('is possible through the change of what a node keeps in place of a faster version', async () => {
    const { pay, id } = await sent(COIN / 2n, [COIN], 'LTC');
    pay.chain.refuses = (tx) =>
      pay.chain.mempool.size > 0 && !pay.chain.mempool.has(tx.txid) ? 'txn-mempool-conflict' : null;
    await pay.replace(id, 'speed-up', HIGH);
    await pay.round();
    const [first, second] = pay.versions(id);
    expect(second).toMatchObject({ problem: 'txn-mempool-conflict', sent_at: null });
    await pay.round();
    expect(pay.alerts()).toEqual([
      expect.objectContaining({ kind: 'withdrawal.not_sent', message: expect.stringContaining(`withdrawal ${id}`) }),
    ]);
    pay.chain.refuses = null;
    const parent = pay.chain.mempool.get(first!.txid!)!;
    const change = parent.outputs.findIndex(({ units }) => units !== COIN / 2n);
    await bumpOf(pay, `${first!.txid}:${change}`);
    await pay.round();
    // the faster version, which would push the child out, is not offered any more
    await pay.round();
    expect([...pay.chain.mempool.keys()]).toHaveLength(2);
    pay.chain.mine(12);
    await pay.sync();
    expect(pay.row(id)).toMatchObject({ state: 'completed', txid: first!.txid });
    expect(pay.alerts()).toEqual([]);
  });

  it('is not offered where it moves nothing', async () => {
    const pay = await PayBench.open('BCH');
    const stuck = pay.deposit(COIN);
    await pay.sync();
    expect(await codeOf(bumpOf(pay, `${stuck.txid}:0`))).toBe('bump.unsupported');
  });

  it('is not signed once the parent is confirmed', async () => {
    const pay = await PayBench.open();
    const stuck = pay.deposit(COIN);
    await pay.sync();
    pay.signer.state = 'locked';
    await bumpOf(pay, `${stuck.txid}:0`);
    await pay.pass();
    pay.chain.mine();
    await pay.sync();
    pay.signer.state = 'unlocked';
    await pay.round();
    expect(pay.signer.orders).toEqual([]);
    expect(pay.app.store.all(openSpends, { chain_key: pay.bench.chain.key })).toEqual([]);
  });

  it('that no node takes can be given up, and the deposit is free again', async () => {
    const pay = await PayBench.open();
    const stuck = pay.deposit(COIN);
    await pay.sync();
    const outpoint = `${stuck.txid}:0`;
    const giveUp = () =>
      pay.app.store.write((tx) => giveUpBump(pay.app, tx, holderFor(pay.app, pay.bench.businessId, 'BTC'), outpoint));
    expect(await codeOf(giveUp())).toBe('bump.not_found');
    await bumpOf(pay, outpoint);
    pay.chain.refuses = () => 'max-fee-exceeded';
    await pay.round();
    // one refusal says nothing: it may be in a block that is not known here yet
    expect([await codeOf(giveUp()), pay.alerts()]).toEqual(['bump.under_way', []]);
    await pay.sync();
    // nor does an earlier one, when a later answer is lost
    pay.chain.refuses = () => {
      throw new Unavailable('the answer is lost', 1);
    };
    await pay.pass();
    expect(await codeOf(giveUp())).toBe('bump.under_way');
    pay.chain.refuses = () => 'max-fee-exceeded';
    await pay.round();
    expect(await codeOf(giveUp())).toBe('bump.under_way');
    await pay.round();
    pay.bench.chain.away = true;
    expect(await codeOf(giveUp())).toBe('bump.under_way');
    pay.bench.chain.away = false;
    expect(pay.alerts()).toEqual([
      expect.objectContaining({ kind: 'withdrawal.not_sent', message: expect.stringContaining(outpoint) }),
    ]);
    pay.chain.refuses = null;
    pay.chain.mine();
    await pay.sync();
    await giveUp();
    expect(pay.alerts()).toEqual([]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
    expect(pay.row(id).state).toBe('broadcast');
    expect(await codeOf(giveUp())).toBe('bump.not_found');
  });

  it('that a node has is not given up', async () => {
    const pay = await PayBench.open();
    const stuck = pay.deposit(COIN);
    await pay.sync();
    await bumpOf(pay, `${stuck.txid}:0`);
    await pay.round();
    const place = holderFor(pay.app, pay.bench.businessId, 'BTC');
    const call = pay.app.store.write((tx) => giveUpBump(pay.app, tx, place, `${stuck.txid}:0`));
    expect(await codeOf(call)).toBe('bump.under_way');
  });
});

it('nothing is sent after a start before the chain was seen once', async () => {
  const pay = await PayBench.open();
  await pay.deposits([COIN]);
  const id = await pay.withdraw(COIN / 2n);
  await pay.round();
  pay.chain.mine(2);
  // as a start leaves it: the store knows nothing of what was mined meanwhile
  pay.bench.chain.syncedAt = 0;
  pay.chain.offered.length = 0;
  pay.chain.refuses = () => 'bad-txns-inputs-missingorspent';
  await pay.app.store.write((tx) => tx.run({ sql: 'UPDATE credit SET spent_txid = NULL', bind: () => [] }, {}));
  await pay.pass();
  expect([pay.chain.offered, pay.alerts()]).toEqual([[], []]);
  await pay.round();
  expect(pay.row(id).state).toBe('completed');
  expect([pay.chain.offered, pay.alerts()]).toEqual([[], []]);
});

describe('an outage without a restart', () => {
  /** Signed and in no mempool; mined by somebody who has it, while the source is away. */
  async function minedUnseen() {
    const { pay, id } = await sent(COIN / 2n);
    const { txid } = pay.versions(id)[0]!;
    const tx = pay.chain.mempool.get(txid!)!;
    pay.chain.forget(txid!);
    await pay.sync();
    pay.chain.offered.length = 0;
    return {
      pay,
      id,
      mine: () => {
        pay.chain.mineThese([tx]);
        pay.chain.mine();
        pay.chain.refuses = () => 'bad-txns-inputs-missingorspent';
      },
    };
  }

  const nothingOffered = async ({ pay, id }: { pay: PayBench; id: number }): Promise<void> => {
    await pay.pass();
    expect([pay.chain.offered, pay.alerts()]).toEqual([[], []]);
    await pay.round();
    expect([pay.row(id).state, pay.chain.offered, pay.alerts()]).toEqual(['completed', [], []]);
  };

  it.each([
    ['did not answer', () => Promise.reject(new Unavailable('The node is away', 1))],
    ['was behind', () => Promise.resolve(null)],
  ])('offers nothing before the chain was seen again, when its source %s', async (_, sync) => {
    const { pay, id, mine } = await minedUnseen();
    const honest = pay.chain.adapter.sync;
    pay.chain.adapter.sync = sync;
    const loop = new SyncLoop(pay.app, pay.bench.chain);
    pay.chain.adapter.onHint = () => {};
    await loop.start();
    await loop.stop();
    pay.chain.adapter.sync = honest;
    mine();
    await nothingOffered({ pay, id });
  });

  it('offers nothing before the chain was seen again, when what was sent had no answer', async () => {
    const { pay, id, mine } = await minedUnseen();
    const { spending } = pay.chain.adapter;
    const { broadcast } = spending!;
    spending!.broadcast = () => Promise.reject(new Unavailable('The node is away', 1));
    await pay.pass();
    expect(pay.versions(id)[0]!.problem).toBe('The node is away');
    spending!.broadcast = broadcast;
    mine();
    await nothingOffered({ pay, id });
  });
});
