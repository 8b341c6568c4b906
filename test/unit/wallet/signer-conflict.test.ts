/** Which transactions may follow one another for one withdrawal: any two of them have to have a coin in common. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UtxoPlan } from '../../../daemon/domain/spend.ts';
import type { SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { codeOf, coin, own, PASSPHRASE, payment, useClock, walletFolder } from './signer-kit.ts';

const NOW = Date.UTC(2030, 0);
useClock(() => NOW);
afterAll(() => useClock(Date.now));
const COINS = 6;
const UNITS = 10_000_000n;

let wallet: Awaited<ReturnType<typeof walletFolder>>;
let session: Session;
beforeAll(async () => {
  wallet = await walletFolder();
  session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
});
afterAll(async () => {
  await session.close();
  await wallet.remove();
});

const pool = Array.from({ length: COINS }, (_, index) => coin('LTC', 50_000_000n, { index }));
let names = 0;
const fresh = (): string => `conflict-${names++}`;

/** An order for these withdrawals that spends the coins of these numbers. */
function spending(uuids: string[], coins: readonly number[], { fee = 2_000n, cancel = false } = {}): SignOrder {
  // each alone, so that a withdrawal has the same address whoever stands beside it
  const orders = uuids.map((uuid) => payment('LTC', [uuid], UNITS));
  const payouts = orders.flatMap(({ plan }) => plan.outputs.filter(({ kind }) => kind === 'payout'));
  const taken = coins.map((at) => pool[at]!);
  const paid = cancel ? 0n : UNITS * BigInt(uuids.length);
  const units = 50_000_000n * BigInt(taken.length) - paid - fee;
  const change = { kind: 'change' as const, ...own('LTC', 1, 3), units, index: 3 };
  const plan: UtxoPlan = {
    ...orders[0]!.plan,
    inputs: taken.map((one) => one.coin),
    outputs: [...(cancel ? [] : payouts), change],
    fee,
  };
  const previous = Object.fromEntries(taken.map(({ txid, raw }) => [txid, raw]));
  return { purpose: cancel ? 'cancel' : 'pay', plan, withdrawals: orders.flatMap((one) => one.withdrawals), previous };
}

describe('another version', () => {
  // each digit is a coin
  it.each<[string, 'signed' | 'refused', string, string]>([
    ['the coin that all have', 'signed', '01 02', '03'],
    ['one coin of each, none that all have', 'signed', '01 12', '02'],
    ['a coin of the first alone', 'refused', '01 12', '03'],
    ['a coin of the second alone', 'refused', '01 12', '23'],
    ['other coins alone', 'refused', '01', '23'],
  ])('that spends %s is %s', async (_, end, earlier, next) => {
    const uuid = fresh();
    const coins = (digits: string): number[] => [...digits].map(Number);
    for (const one of earlier.split(' ')) await session.sign(spending([uuid], coins(one)));
    const asked = session.sign(spending([uuid], coins(next), { fee: 3_000n }));
    if (end === 'signed') expect((await asked).fee).toBe(3_000n);
    else expect(await codeOf(asked)).toBe('signer.conflict');
  });

  it('of a batch conflicts with every version of each withdrawal in it', async () => {
    const [a, b] = [fresh(), fresh()];
    await session.sign(spending([a], [0]));
    await session.sign(spending([b], [1]));
    expect(await codeOf(session.sign(spending([a, b], [0, 2])))).toBe('signer.conflict');
    await session.sign(spending([a, b], [0, 1, 2]));
    // the batch is a version of both, so that what follows for one of them has to conflict with it too
    expect(await codeOf(session.sign(spending([b], [3])))).toBe('signer.conflict');
    await session.sign(spending([b], [1], { fee: 3_000n }));
  });

  it('that cancels is a version too: what follows conflicts with it', async () => {
    const uuid = fresh();
    await session.sign(spending([uuid], [0, 1]));
    expect(await codeOf(session.sign(spending([uuid], [2], { cancel: true })))).toBe('signer.conflict');
    await session.sign(spending([uuid], [0, 2], { cancel: true }));
    expect(await codeOf(session.sign(spending([uuid], [1, 3], { fee: 3_000n })))).toBe('signer.conflict');
    expect(await codeOf(session.sign(spending([uuid], [1], { cancel: true, fee: 3_000n })))).toBe('signer.conflict');
    await session.sign(spending([uuid], [1, 2], { fee: 3_000n }));
  });

  it('is judged the same after a restart', async () => {
    const uuid = fresh();
    await session.sign(spending([uuid], [0, 1]));
    await session.sign(spending([uuid], [1, 2], { fee: 3_000n }));
    await session.close();
    session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
    expect(await codeOf(session.sign(spending([uuid], [0, 3], { fee: 4_000n })))).toBe('signer.conflict');
    await session.sign(spending([uuid], [2, 0], { fee: 4_000n }));
  });
});

it('whatever is asked for in whatever order, any two transactions that were signed for one withdrawal conflict', async () => {
  const coins = fc.uniqueArray(fc.nat(COINS - 1), { minLength: 1, maxLength: 3 });
  const step = fc.record({ coins, who: fc.constantFrom([0], [1], [0, 1]), cancel: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const uuids = [fresh(), fresh()];
      const versions: number[][][] = [[], []];
      for (const { coins: wanted, who, cancel } of steps) {
        const known = who.every((at) => versions[at]!.length > 0);
        const right = who.every((at) => versions[at]!.every((one) => one.some((coinAt) => wanted.includes(coinAt))));
        const order = spending(
          who.map((at) => uuids[at]!),
          wanted,
          { cancel },
        );
        const signed = await session.sign(order).then(
          () => true,
          () => false,
        );
        // what was never signed is not canceled
        expect(signed).toBe(right && (known || !cancel));
        if (signed) for (const at of who) versions[at]!.push(wanted);
      }
    }),
    { numRuns: 60 },
  );
});
