/** The fees that count against a policy's limit: those of all transactions that can confirm beside each other. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { FeeCover } from '../../../daemon/wallet/signer/fee-cover.ts';
import type { PolicyGrant, SignPurpose, UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import { approve, coin, grantOf, own, PASSPHRASE, walletFolder } from './signer-kit.ts';

const COIN = 100_000_000n;
const UNITS = 10_000n;
const COUNT = 20;
const ADDRESS = DESTINATIONS.BTC[0]!;
const payout = {
  kind: 'payout' as const,
  address: ADDRESS,
  script: scriptOf(ADDRESS, 'BTC', 'regtest')!,
  units: UNITS,
};
const coins = Array.from({ length: COUNT }, (_, index) => coin('BTC', COIN, { index }));

const grant: PolicyGrant = {
  network: 'regtest',
  accountNo: 0,
  asset: 'BTC',
  perWithdrawal: '1000000',
  perDay: '1000000',
  addresses: [ADDRESS],
  issuedAt: 1,
};

/** Pays the withdrawals of these numbers, each from a coin of its own. */
function paying(at: readonly number[], fee: bigint, purpose: SignPurpose = 'pay'): UtxoOrder {
  const spent = at.map((n) => coins[n]!);
  const sum = BigInt(at.length) * (purpose === 'pay' ? COIN - UNITS : COIN);
  const common = { network: 'regtest' as const, accountNo: 0, chain: 'BTC' as const };
  return {
    purpose,
    plan: {
      kind: 'utxo',
      ...common,
      version: 2,
      lockTime: 0,
      fee,
      vsize: 200,
      inputs: spent.map((one) => one.coin),
      outputs: [
        ...(purpose === 'pay' ? at.map(() => payout) : []),
        { kind: 'change', ...own('BTC', 1, 1), index: 1, units: sum - fee },
      ],
    },
    withdrawals: at.map((n) => ({
      intent: {
        uuid: `w-${n}`,
        ...common,
        asset: 'BTC',
        address: ADDRESS,
        units: `${UNITS}`,
        sweep: false,
        coins: null,
        feeMax: '1',
      },
      approval: { by: 'policy' },
    })),
    previous: Object.fromEntries(spent.map(({ txid, raw }) => [txid, raw])),
  };
}

describe('a policy', () => {
  let wallet: Awaited<ReturnType<typeof walletFolder>>;
  let session: Session;
  const open = (): Promise<Session> => Session.open(wallet.folder, PASSPHRASE, Date.now);
  const all = Array.from({ length: COUNT }, (_, n) => n);
  /** The fee that was let go, 0 if it needs the operator. */
  const letGo = async (order: UtxoOrder): Promise<bigint> => {
    try {
      return (await session.sign(order)).fee;
    } catch (error) {
      if (error instanceof Rejected && error.code === 'signer.limit') return 0n;
      throw error;
    }
  };
  beforeEach(async () => {
    wallet = await walletFolder();
    session = await open();
    await session.grant(...grantOf(grant));
  });
  afterEach(async () => {
    await session.close();
    await wallet.remove();
  });

  it('that paid a batch lets the fees of its payments alone go within its limit, a restart of the signer between them', async () => {
    const batch = await letGo(paying(all, 700_000n));
    expect(batch).toBe(700_000n);
    let alone = 0n;
    for (const n of all) {
      if (n === 3) {
        await session.close();
        session = await open();
      }
      // the first conflicts with the batch and with nothing else
      alone += await letGo(paying([n], 60_000n));
    }
    expect(alone).toBe(120_000n);
    // only they can all confirm, or the batch
    expect(alone + UNITS * BigInt(COUNT)).toBeLessThanOrEqual(BigInt(grant.perDay));
  });

  it('counts what a fee was raised by, for the same coins, and the whole fee of other coins', async () => {
    expect(await letGo(paying([0, 1], 400_000n))).toBe(400_000n);
    expect(await letGo(paying([0, 1], 400_000n))).toBe(400_000n);
    expect(await letGo(paying([0, 1], 900_000n))).toBe(900_000n);
    // with their amounts 920,000 are let go, and 80,000 left
    expect(await letGo(paying([2], 70_001n))).toBe(0n);
    expect(await letGo(paying([2], 70_000n))).toBe(70_000n);
  });

  it('counts the fee of a cancellation as that of a payment', async () => {
    expect(await letGo(paying([0, 1], 500_000n))).toBe(500_000n);
    expect(await letGo(paying([0], 480_000n, 'cancel'))).toBe(480_000n);
    expect(await letGo(paying([1], 480_001n, 'cancel'))).toBe(0n);
    expect(await letGo(paying([1], 480_000n, 'cancel'))).toBe(480_000n);
  });

  it('lets a fee go up to the limit for one withdrawal, for each that is paid, however often it is raised', async () => {
    await session.grant(...grantOf({ ...grant, perWithdrawal: '20000', issuedAt: 2 }));
    expect(await letGo(paying([0], 20_001n))).toBe(0n);
    expect(await letGo(paying([0], 15_000n))).toBe(15_000n);
    expect(await letGo(paying([0], 20_000n))).toBe(20_000n);
    expect(await letGo(paying([0], 20_001n))).toBe(0n);
    expect(await letGo(paying([0], 20_001n, 'cancel'))).toBe(0n);
    expect(await letGo(paying([1, 2, 3], 60_001n))).toBe(0n);
    expect(await letGo(paying([1, 2, 3], 60_000n))).toBe(60_000n);
    // what was let go is signed again, also after the limit is lower
    await session.grant(...grantOf({ ...grant, perWithdrawal: '10000', issuedAt: 3 }));
    expect(await letGo(paying([0], 20_000n))).toBe(20_000n);
  });

  it('lets no fee of a batch go for one of its payments, though it counted before', async () => {
    await session.grant(...grantOf({ ...grant, perWithdrawal: '20000', issuedAt: 2 }));
    expect(await letGo(paying([1, 2, 3], 60_000n))).toBe(60_000n);
    for (const purpose of ['pay', 'cancel'] as const) {
      expect(await letGo(paying([1], 20_001n, purpose))).toBe(0n);
      expect(await letGo(paying([1, 2], 40_001n, purpose))).toBe(0n);
    }
    expect(await letGo(paying([1], 20_000n))).toBe(20_000n);
    // the batch itself is signed again, whatever the limit is now
    await session.grant(...grantOf({ ...grant, perWithdrawal: '1000', issuedAt: 3 }));
    expect(await letGo(paying([1, 2, 3], 60_000n))).toBe(60_000n);
    expect(await letGo(paying([1], 20_000n))).toBe(20_000n);
    expect(await letGo(paying([2], 20_001n))).toBe(0n);
  });

  it.each(['pay', 'cancel'] as const)(
    'has its payment replaced by the operator once its limit is taken back: %s',
    async (purpose) => {
      expect(await letGo(paying([0], 15_000n))).toBe(15_000n);
      await session.grant(...grantOf({ ...grant, perWithdrawal: '0', perDay: '0', issuedAt: 2 }));
      const order = paying([0], 40_000n, purpose);
      expect(await letGo(order)).toBe(0n);
      const { intent } = order.withdrawals[0]!;
      intent.feeMax = '40000';
      order.withdrawals[0]!.approval = approve(intent, undefined, purpose === 'pay' ? 'raise' : 'cancel');
      expect(await letGo(order)).toBe(40_000n);
    },
  );

  it('adds what the operator approved to the fee of a payment beside theirs', async () => {
    await session.grant(...grantOf({ ...grant, perWithdrawal: '20000', issuedAt: 2 }));
    const beside = (fee: bigint): UtxoOrder => {
      const order = paying([0, 1], fee);
      const { intent } = order.withdrawals[1]!;
      intent.feeMax = '50000';
      order.withdrawals[1]!.approval = approve(intent);
      return order;
    };
    expect(await letGo(beside(70_001n))).toBe(0n);
    expect(await letGo(beside(70_000n))).toBe(70_000n);
  });
});

type Tx = { keys: string[]; fee: bigint };
const isApart = (one: Tx, other: Tx): boolean => !one.keys.some((key) => other.keys.includes(key));
/** The highest sum of fees of transactions of which no two share a key. */
function mostTogether([first, ...rest]: readonly Tx[]): bigint {
  if (!first) return 0n;
  const [without, withIt] = [mostTogether(rest), first.fee + mostTogether(rest.filter((tx) => isApart(first, tx)))];
  return withIt > without ? withIt : without;
}
const transactions = (max: number) =>
  fc.array(
    fc.record({
      keys: fc.uniqueArray(fc.integer({ min: 0, max: 7 }).map(String), { minLength: 1, maxLength: 4 }),
      fee: fc.bigInt({ min: 1n, max: 1_000n }),
    }),
    { maxLength: max },
  );

describe('what counts', () => {
  const counted = (txs: readonly Tx[], cover = new FeeCover()): bigint => {
    let sum = 0n;
    for (const { keys, fee } of txs) {
      sum += cover.riseOf('s', keys, fee);
      cover.add('s', keys, fee);
    }
    return sum;
  };

  it('is at least what can be paid together, at most all fees, and nothing more for what was signed', () => {
    fc.assert(
      fc.property(transactions(12), (txs) => {
        const cover = new FeeCover();
        const sum = counted(txs, cover);
        expect(sum).toBeGreaterThanOrEqual(mostTogether(txs));
        expect(sum).toBeLessThanOrEqual(txs.reduce((total, { fee }) => total + fee, 0n));
        for (const { keys, fee } of txs) expect(cover.riseOf('other', keys, fee)).toBe(fee);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the least by which a fee is above that of payments with which it shares a coin', () => {
    const cover = new FeeCover();
    cover.add('s', ['a'], 300n);
    cover.add('s', ['b'], 500n);
    expect([['a'], ['b'], ['a', 'b'], ['b', 'a'], ['c']].map((keys) => cover.riseOf('s', keys, 600n))).toEqual([
      300n,
      100n,
      100n,
      100n,
      600n,
    ]);
    cover.add('s', ['a', 'b'], 600n);
    expect([['a'], ['b']].map((keys) => cover.riseOf('s', keys, 700n))).toEqual([400n, 100n]);
  });

  it('is the highest fee of the versions of one payment, however many there are', () => {
    const versions = Array.from({ length: 300 }, (_, n) => ({ keys: ['a', 'b'], fee: BigInt((n * 7) % 300) }));
    expect(counted(versions)).toBe(299n);
    const longer = versions.map((tx, n) => ({ ...tx, keys: ['a', `${n}`] }));
    expect(counted(longer)).toBeGreaterThanOrEqual(299n);
  });
});
