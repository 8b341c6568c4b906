/** Faster versions and cancellations: what they may cost, what they leave behind, and when they are pointless. */
import { describe, expect, it, vi } from 'vitest';
import { batch, previewBatch } from '../../../daemon/app/withdrawals/batch.ts';
import { bump, giveUpBump, holderFor, previewBump } from '../../../daemon/app/withdrawals/bump.ts';
import { previewReplacement, replace } from '../../../daemon/app/withdrawals/replace.ts';
import { FINALIZED } from '../../../daemon/domain/assets.ts';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { BURIED_BLOCKS } from '../../../daemon/domain/withdrawal.ts';
import { openSpends } from '../../../daemon/store/queries/withdrawals.ts';
import { SyncLoop } from '../../../daemon/workers/sync.ts';
import { COIN, type CoinBench, PayBench } from './pay-bench.ts';
import { BCH, ETH, FAMILIES, LTC, type PayFamily, XMR } from './pay-families.ts';

/** Smallest units per 1,000 virtual bytes. */
const HIGH = 200_000n;
/** How often the usual fee rate a high one is. */
const HIGH_FACTOR = 100n;

const REPLACING = FAMILIES.filter(({ replaces }) => replaces);

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof Rejected ? error.code : String(error)),
  );

/** A withdrawal that was sent, from one deposit of a whole coin. `units`: what it takes; null: everything. */
async function sent(family: PayFamily, units: (coin: bigint, rate: bigint) => bigint | null, depth = 1) {
  const pay = await family.open();
  const { coin } = pay.chain;
  await pay.deposits([coin], depth + family.lockBlocks);
  const rate = await pay.feeRate();
  const id = await pay.withdraw(units(coin, rate));
  await pay.round();
  expect(pay.row(id).state).toBe('broadcast');
  return { pay, id, high: HIGH_FACTOR * rate };
}

const half = (coin: bigint): bigint => coin / 2n;
/** All but the highest fee that is held for it. */
const almostAll = (coin: bigint, rate: bigint): bigint => coin - 2n * rate;

const bumpOf = async (pay: PayBench, outpoint: string, feeRate: bigint | null = HIGH): Promise<void> => {
  const { app, bench, chain } = pay;
  const place = holderFor(app, bench.businessId, chain.asset);
  const wish = { outpoint, feeRate };
  const { intents, until } = await previewBump(app, place, wish);
  const given = { feeMax: BigInt(intents[0]!.feeMax), until, units: null, mac: 'mac' };
  await bump(app, place, wish, intents[0]!.uuid, given);
};

describe.each(REPLACING)('$name: what a replacement costs', (family) => {
  it.each(['speed-up', 'cancel'] as const)(
    '%s is paid from what is left when most of it was withdrawn',
    async (kind) => {
      const { pay, id, high } = await sent(family, (coin) => (coin * 8n) / 10n);
      await pay.replace(id, kind, high);
      await pay.round();
      const versions = pay.versions(id);
      expect(versions.map(({ kind: is }) => is)).toEqual(['pay', kind === 'cancel' ? 'cancel' : 'pay']);
      expect(pay.chain.waiting()).toEqual([versions[1]!.txid]);
      expect(BigInt(pay.row(id).fee_held)).toBeGreaterThanOrEqual(kind === 'cancel' ? 0n : BigInt(versions[1]!.fee));
    },
  );

  it.each(['speed-up', 'cancel'] as const)('%s of a sweep takes only what was approved', async (kind) => {
    const { pay, id, high } = await sent(family, () => null);
    const [first] = pay.versions(id);
    // later money at the same address is not part of it
    await pay.chain.forget(first!.txid!);
    await pay.deposits([pay.chain.coin, pay.chain.coin]);
    await pay.pass();
    await pay.sync();
    await pay.replace(id, kind, high);
    await pay.round();
    const [, second] = pay.versions(id);
    expect(pay.chain.waiting()).toContain(second!.txid);
    expect(pay.chain.waiting()).not.toContain(first!.txid);
    await pay.chain.mine();
    await pay.sync();
    const paid = kind === 'cancel' ? [] : [second!.txid];
    expect(pay.chain.paidTo(pay.row(id).address)).toEqual(paid);
  });

  it('speeds a cancellation up out of what comes back with it', async () => {
    const { pay, id, high } = await sent(family, almostAll);
    await pay.replace(id, 'cancel', high);
    await pay.round();
    await pay.replace(id, 'speed-up', high * 3n);
    await pay.round();
    const versions = pay.versions(id);
    expect(versions.map(({ kind }) => kind)).toEqual(['pay', 'cancel', 'cancel']);
    expect(pay.chain.waiting()).toEqual([versions[2]!.txid]);
  });

  it.each(['speed-up', 'cancel'] as const)(
    '%s of what a policy let go is approved, as its limit may be used up',
    async (kind) => {
      const { pay, id } = await sent(family, half, FINALIZED + 1);
      await pay.app.store.write((tx) =>
        tx.run(
          {
            sql: `UPDATE withdrawal SET approved_by = 'policy', approval = NULL, fee_held = '${3n * BigInt(pay.row(id).fee_held)}'`,
            bind: () => [],
          },
          {},
        ),
      );
      pay.signer.refuses = ({ withdrawals: [one] }) =>
        one?.approval.by === 'policy' ? new Rejected('signer.limit', 'the limit is used up') : null;
      const held = pay.row(id).fee_held;
      await pay.replace(id, kind);
      await pay.round();
      const [, second] = pay.versions(id);
      expect(BigInt(second!.fee)).toBeLessThan(BigInt(held));
      expect(pay.chain.waiting()).toEqual([second!.txid]);
      expect(pay.row(id)).toMatchObject({ fee_held: held, problem: null });
    },
  );

  it('approves no cancellation anew', async () => {
    const { pay, id, high } = await sent(family, half);
    await pay.replace(id, 'cancel', high);
    await pay.round();
    expect(await codeOf(pay.replace(id, 'speed-up', null, { anew: true }))).toBe('withdrawal.canceled');
  });

  it('shows of a canceled withdrawal the fee that was paid, by which the books fell', async () => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin], 1 + family.lockBlocks);
    const { feeAsset } = pay.chain.adapter.spending!;
    const before = pay.bench.balance(feeAsset);
    const id = await pay.withdraw(coin / 2n);
    await pay.round();
    await pay.replace(id, 'cancel', HIGH_FACTOR * (await pay.feeRate()));
    await pay.round();
    const [first, second] = pay.versions(id);
    await pay.chain.mine(Math.max(...Object.values(BURIED_BLOCKS)));
    await pay.sync();
    expect(second!.fee).toBeGreaterThan(first!.fee);
    expect(pay.row(id)).toMatchObject({ state: 'failed', reason: 'canceled', fee: second!.fee });
    expect(before - pay.bench.balance(feeAsset)).toBe(second!.fee);
  });

  // where fees have their own asset, the amount leaves all of that
  const only = family.hasGas ? null : it;
  only?.('is refused when the balance does not have what the fee may become more', async () => {
    const { pay, id, high } = await sent(family, almostAll);
    const { intents, until } = await previewReplacement(pay.app, pay.stored(id), { kind: 'cancel', feeRate: high });
    expect(intents).toHaveLength(1);
    const given = { feeMax: BigInt(intents[0]!.feeMax), until, units: null, mac: 'mac' };
    const wish = { kind: 'speed-up' as const, feeRate: null };
    expect(await codeOf(replace(pay.app, pay.stored(id), wish, new Map([[pay.row(id).uuid, given]])))).toMatch(
      /insufficient/,
    );
  });
});

describe('a replacement', () => {
  it('is warned of when it is high, though it pays nobody else', async () => {
    const pay = await PayBench.open();
    await pay.deposits([300_000n]);
    const id = await pay.withdraw(200_000n);
    await pay.round();
    const { warnings } = await previewReplacement(pay.app, pay.stored(id), { kind: 'cancel', feeRate: HIGH });
    expect(warnings.map(({ code }) => code)).toContain('high_fee');
    const small = await pay.deposit(100_000n);
    await pay.sync();
    const wish = { outpoint: `${small.txid}:0`, feeRate: HIGH };
    const shown = await previewBump(pay.app, holderFor(pay.app, pay.bench.businessId, 'BTC'), wish);
    expect(shown.warnings.map(({ code }) => code)).toEqual(['high_fee']);
  });

  it.each(['speed-up', 'cancel'] as const)('of a key image is refused: %s', async (kind) => {
    const { pay, id, high } = await sent(XMR, half);
    expect(await codeOf(pay.replace(id, kind, high))).toBe('withdrawal.no_replacement');
    expect([pay.row(id).cancel, pay.versions(id).length]).toEqual([false, 1]);
  });
});

describe.each(REPLACING)('$name: a version that comes to nothing', (family) => {
  it('leaves the fee as it was approved, when its approval is over before it is signed', async () => {
    const { pay, id, high } = await sent(family, half);
    const before = pay.row(id);
    pay.signer.refuses = () => new Rejected('signer.approval', "the operator's approval has expired");
    await pay.replace(id, 'speed-up', high);
    await pay.round();
    expect(pay.row(id)).toMatchObject({ fee_held: before.fee_held, approval: before.approval });
    expect(pay.row(id).problem).toMatch(/expired/);
    pay.signer.refuses = () => null;
    await pay.replace(id, 'speed-up', high);
    await pay.round();
    expect(BigInt(pay.row(id).fee_held)).toBeGreaterThan(BigInt(before.fee_held));
    expect(pay.versions(id)).toHaveLength(2);
  });

  it('leaves nothing "being canceled", and says why, when it was to cancel', async () => {
    const { pay, id, high } = await sent(family, half);
    pay.signer.refuses = () => new Rejected('signer.differs', 'no');
    await pay.replace(id, 'cancel', high);
    expect(pay.row(id).cancel).toBe(true);
    await pay.round();
    expect([pay.row(id).cancel, pay.row(id).problem, pay.versions(id).length]).toEqual([false, 'no', 1]);
    expect(pay.alerts()).toMatchObject([{ kind: 'withdrawal.refused', subject: `${id}` }]);
  });

  it('is not signed when what it was to replace is in a block', async () => {
    const { pay, id, high } = await sent(family, half);
    pay.signer.state = 'locked';
    await pay.replace(id, 'cancel', high);
    await pay.pass();
    await pay.chain.mine();
    await pay.sync();
    pay.signer.state = 'unlocked';
    await pay.round();
    expect(pay.versions(id)).toHaveLength(1);
    expect(pay.row(id)).toMatchObject({ state: 'completed', cancel: false });
  });
});

describe.each(REPLACING)('$name: two replacements at once', (family) => {
  it('the one that was planned before the other was signed is refused, so that nothing canceled is paid', async () => {
    const { pay, id, high } = await sent(family, half);
    const wish = { kind: 'speed-up' as const, feeRate: 2n * high };
    const { intents, until } = await previewReplacement(pay.app, pay.stored(id), wish);
    const given = intents.map(
      ({ uuid, feeMax }) => [uuid, { feeMax: BigInt(feeMax), units: null, until, mac: 'mac' }] as const,
    );
    const spending = pay.chain.adapter.spending!;
    const plan = spending.plan.bind(spending);
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    vi.spyOn(spending, 'plan').mockImplementationOnce(async (...request) => {
      const made = await plan(...request);
      begun.resolve();
      await go.promise;
      return made;
    });
    const late = codeOf(replace(pay.app, pay.stored(id), wish, new Map(given)));
    await begun.promise;
    await pay.replace(id, 'cancel', high);
    await pay.round();
    go.resolve();
    expect(await late).toBe('withdrawal.overtaken');
    await pay.round();
    const versions = pay.versions(id);
    expect(versions.map(({ kind }) => kind)).toEqual(['pay', 'cancel']);
    expect(pay.chain.waiting()).toEqual([versions[1]!.txid]);
  });
});

describe.each(FAMILIES)('$name: a batch', (family) => {
  const twoOf = async (pay: PayBench): Promise<number[]> => {
    await pay.deposits([pay.chain.coin], 1 + family.lockBlocks);
    pay.signer.state = 'locked';
    const tenth = pay.chain.coin / 10n;
    return [await pay.withdraw(tenth), await pay.request(tenth)];
  };

  if (!family.hasCoins) {
    it('is refused: each payment is a transaction of its own', async () => {
      const pay = await family.open();
      const ids = await twoOf(pay);
      expect(await codeOf(previewBatch(pay.app, ids.map(String)))).toBe('spend.one_payment');
      expect(ids.map((id) => pay.row(id).state)).toEqual(['approved', 'requested']);
    });
    return;
  }

  it('takes the new approval of what was approved already', async () => {
    const pay = await family.open();
    const ids = await twoOf(pay);
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
    expect(new Set(ids.map((id) => pay.spend(id).id)).size).toBe(1);
  });
});

describe.each(FAMILIES)('$name: a node that refuses what it has in a block', (family) => {
  it('makes no alert: a sync that begins then shows it', async () => {
    const pay = await family.open();
    await pay.deposits([pay.chain.coin], 1 + family.lockBlocks);
    const id = await pay.withdraw(pay.chain.coin / 2n);
    let offers = 0;
    pay.chain.refuses = async ({ raw }) => {
      offers += 1;
      pay.chain.refuses = null;
      await pay.chain.take(raw);
      await pay.chain.mine();
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

it.each(FAMILIES)('$name: a refusal is over once the node takes it after all, or a block has it', async (family) => {
  for (const end of ['taken', 'mined'] as const) {
    const pay = await family.open();
    await pay.deposits([pay.chain.coin], 1 + family.lockBlocks);
    pay.chain.refuses = () => 'mempool full';
    const id = await pay.withdraw(pay.chain.coin / 2n);
    for (let i = 0; i < 3; i++) await pay.round();
    expect(pay.alerts().map(({ kind }) => kind)).toEqual(['withdrawal.not_sent']);
    pay.chain.refuses = null;
    const [version] = pay.versions(id);
    if (end === 'taken') await pay.round();
    else await pay.chain.take(version!.raw!);
    await pay.chain.mine();
    await pay.sync();
    expect([pay.row(id).state, pay.alerts()]).toEqual(['completed', []]);
    await pay.app.store.close();
  }
});

it.each(['nonce too low: next nonce 5, tx nonce 3', 'OldNonce, Current nonce: 5, nonce of rejected tx: 3'])(
  'says of a refusal for a used nonce (%s) what finds its user, as nothing can cancel it',
  async (reason) => {
    const pay = await ETH.open();
    await pay.deposits([pay.chain.coin], 1 + ETH.lockBlocks);
    pay.chain.refuses = () => reason;
    await pay.withdraw(pay.chain.coin / 2n);
    for (let i = 0; i < 3; i++) await pay.round();
    const [alert, ...more] = pay.alerts();
    expect(more).toEqual([]);
    expect(alert).toMatchObject({ kind: 'withdrawal.not_sent', message: expect.stringContaining('an archive node') });
    expect(alert!.message).not.toContain('To give it up, cancel it');
    await pay.app.store.close();
  },
);

describe('paying for a parent', () => {
  it('is possible through the change of what a node keeps in place of a faster version', async () => {
    const pay: CoinBench = await PayBench.open('LTC');
    await pay.deposits([COIN]);
    const id = await pay.withdraw(COIN / 2n);
    await pay.round();
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

  it.each([BCH, ...FAMILIES.filter((family) => family !== LTC)])(
    'is not offered where it moves nothing: $name',
    async (family) => {
      const pay = await family.open();
      const stuck = await pay.deposit(pay.chain.coin);
      await pay.sync();
      expect(await codeOf(bumpOf(pay, `${stuck.txid}:0`))).toBe('bump.unsupported');
    },
  );

  it('is not offered for a payer’s transaction of version 3, whose child nodes refuse if it has another', async () => {
    const pay = await PayBench.open();
    const { txid, raw } = await pay.deposit(COIN);
    pay.chain.forget(txid);
    pay.chain.take(raw.replace(/^02/, '03'));
    await pay.sync();
    const [stuck] = pay.chain.waiting();
    expect(await codeOf(bumpOf(pay, `${stuck}:0`))).toBe('bump.unsupported');
    // nothing else spends it before its block
    expect(await codeOf(pay.withdraw(COIN / 2n))).toBe('withdrawal.insufficient');
    expect(pay.signer.orders).toEqual([]);
  });

  it('is not signed once the parent is confirmed', async () => {
    const pay = await PayBench.open();
    const stuck = await pay.deposit(COIN);
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
    const stuck = await pay.deposit(COIN);
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
    const stuck = await pay.deposit(COIN);
    await pay.sync();
    await bumpOf(pay, `${stuck.txid}:0`);
    await pay.round();
    const place = holderFor(pay.app, pay.bench.businessId, 'BTC');
    const call = pay.app.store.write((tx) => giveUpBump(pay.app, tx, place, `${stuck.txid}:0`));
    expect(await codeOf(call)).toBe('bump.under_way');
  });
});

it.each(FAMILIES)('$name: nothing is sent after a start before the chain was seen once', async (family) => {
  const { pay, id } = await sent(family, half);
  await pay.chain.mine(2);
  // as a start leaves it: the store knows nothing of what was mined meanwhile
  pay.bench.chain.syncedAt = 0;
  pay.chain.offered.length = 0;
  pay.chain.refuses = () => 'bad-txns-inputs-missingorspent';
  for (const sql of ['UPDATE credit SET spent_txid = NULL', 'DELETE FROM used_key']) {
    await pay.app.store.write((tx) => tx.run({ sql, bind: () => [] }, {}));
  }
  await pay.pass();
  expect([pay.chain.offered, pay.alerts()]).toEqual([[], []]);
  await pay.round();
  expect(pay.row(id).state).toBe('completed');
  expect([pay.chain.offered, pay.alerts()]).toEqual([[], []]);
});

describe.each(FAMILIES)('$name: an outage without a restart', (family) => {
  /** Signed and in no mempool; mined by somebody who has it, while the source is away. */
  async function minedUnseen() {
    const { pay, id } = await sent(family, half);
    const { txid, raw } = pay.versions(id)[0]!;
    await pay.chain.forget(txid!);
    await pay.sync();
    pay.chain.offered.length = 0;
    return {
      pay,
      id,
      mine: async () => {
        await pay.chain.take(raw!);
        await pay.chain.mine(2);
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
    await mine();
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
    await mine();
    await nothingOffered({ pay, id });
  });
});
