/** An approval has an end in everything: amount, coins, fee, time, and what it is for. A grant has one for a day, fees included. */
import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  grantMac,
  identityText,
  intentMac,
  journalKey,
  openIdentityText,
  revocationMac,
} from '../../../daemon/wallet/signer/approval.ts';
import { HEAD_FILE, JOURNAL_FILE } from '../../../daemon/wallet/signer/files.ts';
import { ADDRESS_SELF, type Intent, type PolicyGrant, type UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import {
  approve,
  codeOf,
  coin,
  grantOf,
  own,
  PASSPHRASE,
  payment,
  SEED,
  soon,
  useClock,
  useEpochOf,
  walletFolder,
} from './signer-kit.ts';

type Order = UtxoOrder;

const HOUR = 3_600_000;
let now = Date.UTC(2030, 0);
useClock(() => now);
afterAll(() => useClock(Date.now));

let wallet: Awaited<ReturnType<typeof walletFolder>>;
let session: Session;
beforeEach(async () => {
  now += 3 * 24 * HOUR;
  wallet = await walletFolder();
  session = await Session.open(wallet.folder, PASSPHRASE, () => now);
});
afterEach(async () => {
  await session.close();
  await wallet.remove();
});

/** Three coins of 0.5 go to one recipient, less a fee of 2,000. */
function sweeping(fields: Partial<Intent>, { coins = 3, fee = 2_000n, uuid = 'sweep' } = {}): Order {
  const order = payment('LTC', [uuid]);
  order.plan.inputs = order.plan.inputs.slice(0, coins);
  order.plan.outputs = [{ ...order.plan.outputs[0]!, units: 50_000_000n * BigInt(coins) - fee }];
  order.plan.fee = fee;
  approveAs(order, { units: '150000000', sweep: true, ...fields });
  return order;
}

function approveAs(order: Order, fields: Partial<Intent>): void {
  const [one] = order.withdrawals;
  one!.intent = { ...one!.intent, ...fields };
  one!.approval = approve(one!.intent);
}

/** Raises the fee, out of the change. */
function withFee(order: Order, fee: bigint): Order {
  const next = structuredClone(order);
  next.plan.outputs.find(({ kind }) => kind === 'change')!.units -= fee - next.plan.fee;
  next.plan.fee = fee;
  return next;
}

describe('a sweep', () => {
  it('gives the most that was approved, and less', async () => {
    await session.sign(sweeping({ units: '149998000' }));
    await session.sign(sweeping({}, { coins: 1, uuid: 'less' }));
  });

  it('does not give more: coins that came after it was approved are none of it', async () => {
    expect(await codeOf(session.sign(sweeping({ units: '149997999' })))).toBe('signer.differs');
  });

  it('is signed once more with a higher fee, and not with more coins', async () => {
    const order = sweeping({ units: '100000000' }, { coins: 2 });
    await session.sign(order);
    const more = sweeping({ units: '150000000' });
    more.plan.inputs.splice(0, 2, ...order.plan.inputs);
    Object.assign(more.previous, order.previous);
    expect(await codeOf(session.sign(more))).toBe('signer.differs');
    more.withdrawals = order.withdrawals;
    expect(await codeOf(session.sign(more))).toBe('signer.differs');
    const dearer = structuredClone(order);
    dearer.plan.outputs[0]!.units -= 2_000n;
    dearer.plan.fee += 2_000n;
    expect((await session.sign(dearer)).fee).toBe(4_000n);
  });
});

describe('a refund', () => {
  it('spends the deposit that was approved, and no other coin beside it or in its place', async () => {
    const honest = sweeping({}, { coins: 1 });
    const coins = [honest.plan.inputs[0]!.outpoint];
    approveAs(honest, { units: '50000000', coins });
    const { intent, approval } = honest.withdrawals[0]!;
    const all = sweeping({}, { coins: 3 });
    all.plan.inputs[0] = honest.plan.inputs[0]!;
    Object.assign(all.previous, honest.previous);
    const others: [Order, string][] = [
      [all, 'signer.differs'],
      [sweeping({}, { coins: 1 }), 'signer.approval'],
    ];
    for (const [order, code] of others) {
      order.withdrawals = [{ intent, approval }];
      expect(await codeOf(session.sign(order))).toBe('signer.differs');
      // nor when the daemon leaves the coins out of what it asks for
      order.withdrawals = [{ intent: { ...intent, coins: null }, approval }];
      expect(await codeOf(session.sign(order))).toBe(code);
    }
    await session.sign(honest);
  });
});

describe('a payment to ourselves', () => {
  const toSelf = (coins: (order: Order) => string[] | null, units = '0'): Order => {
    const order = payment('LTC', ['self']);
    order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 149_998_000n }];
    approveAs(order, { address: ADDRESS_SELF, units, coins: coins(order) });
    return order;
  };
  const all = ({ plan }: Order): string[] => plan.inputs.map(({ outpoint }) => outpoint);

  it.each<[string, Order]>([
    ['names no coins', toSelf(() => null)],
    ['names one of three', toSelf((order) => all(order).slice(1))],
    ['names another', toSelf((order) => [...all(order).slice(1), coin('LTC', 1n).coin.outpoint])],
    ['names one more', toSelf((order) => [...all(order), coin('LTC', 1n).coin.outpoint])],
    ['names an amount', toSelf(all, '1')],
  ])('is not signed when it %s', async (_, order) => {
    expect(await codeOf(session.sign(order))).toBe('signer.differs');
  });

  it('is signed for the coins that it names', async () => {
    await session.sign(toSelf(all));
  });
});

describe('an approval', () => {
  it.each([
    ['that ended', () => now],
    ['that ends in more than seven days', () => now + (7 * 24 + 1) * HOUR + 1],
    ['that ends in a hundred years', () => Date.UTC(2130, 0)],
  ])('%s begins no payment', async (_, until) => {
    const order = payment('LTC', ['late']);
    order.withdrawals[0]!.approval = approve(order.withdrawals[0]!.intent, until());
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
  });

  it('of a cancellation pays nobody, and one of a payment cancels nothing at a higher fee', async () => {
    const order = payment('LTC', ['one']);
    order.withdrawals[0]!.approval = approve(order.withdrawals[0]!.intent, soon(), 'cancel');
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    approveAs(order, {});
    await session.sign(order);
    const cancel = withFee(order, 9_000n);
    cancel.purpose = 'cancel';
    cancel.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 149_991_000n }];
    approveAs(cancel, { feeMax: '9000' });
    expect(await codeOf(session.sign(cancel))).toBe('signer.approval');
    const [one] = cancel.withdrawals;
    one!.approval = approve(one!.intent, soon(), 'cancel');
    expect((await session.sign(cancel)).fee).toBe(9_000n);
  });

  it('is not believed about a fee that is out of all proportion to the size', async () => {
    const order = payment('LTC', ['dear']);
    approveAs(order, { feeMax: '900000000' });
    expect(await codeOf(session.sign(withFee(order, 2_000_000n)))).toBe('signer.fee');
    expect((await session.sign(withFee(order, 1_000_000n))).fee).toBe(1_000_000n);
  });
});

describe('the text of an approval', () => {
  const key = Buffer.alloc(32, 7);
  const macOf = (...text: unknown[]) => createHmac('sha256', key).update(JSON.stringify(text)).digest('hex');
  const account = { network: 'regtest', accountNo: 2 } as const;
  const intent: Intent = {
    ...account,
    uuid: 'u',
    chain: 'ETH',
    asset: 'USDT_ERC20',
    address: 'a',
    units: '5',
    sweep: false,
    coins: null,
    feeMax: '9',
  };
  const plain = '["pay","u","regtest",2,"ETH","USDT_ERC20","a","5"]';

  // what was approved by one release is valid in the next
  it('of a payment is as it was made before', () => {
    expect(intentMac(key, null, 'pay', intent, 1)).toBe(macOf(plain, '9', 1));
    expect(intentMac(key, 'e', 'raise', intent, 1)).toBe(macOf('raise', plain, '9', 1, 'e'));
    const inGas = { ...intent, feeAsset: 'ETH' as const };
    expect(intentMac(key, 'e', 'pay', inGas, 1)).toBe(macOf(plain, '9 ETH', 1, 'e'));
    expect(intentMac(key, 'e', 'pay', { ...intent, feeAsset: intent.asset }, 1)).toBe(macOf(plain, '9', 1, 'e'));
    expect(identityText({ ...intent, sweep: true })).toBe(plain.replace(']', ',true,null]'));
    expect(identityText({ ...intent, coins: ['c:0'] })).toBe(plain.replace(']', ',false,["c:0"]]'));
  });

  it('of a limit is as it was made before', () => {
    const policy = {
      ...account,
      asset: 'LTC',
      perWithdrawal: '1',
      perDay: '2',
      addresses: ['a'],
      issuedAt: 3,
    } as const;
    expect(grantMac(key, 'e', { ...policy, addresses: ['a'] })).toBe(
      macOf('grant', 'regtest', 2, 'LTC', '1', '2', ['a'], 3, 'e'),
    );
    const gas = { ...account, kind: 'gas', chain: 'ETH', feeMax: '4', until: 5, issuedAt: 6 } as const;
    const ofGas = ['gas grant', 'regtest', 2, 'ETH', '4', 5, 6];
    expect(grantMac(key, 'e', gas)).toBe(macOf(...ofGas, 'e'));
    expect(grantMac(key, 'e', { ...gas, tank: 1 })).toBe(macOf(...ofGas, 'tank', 1, 'e'));
    const fees = { feeSharePpm: 7, feeMax: '8', feeDay: '9', issuedAt: 10 };
    const forward = { ...account, ...fees, kind: 'forward', asset: 'LTC', address: 'a' } as const;
    const ofForward = ['forward grant', 'regtest', 2, 'LTC', 'a', 7, '8', '9', 10];
    expect(grantMac(key, 'e', forward)).toBe(macOf(...ofForward, 'e'));
    expect(grantMac(key, 'e', { ...forward, from: 0 })).toBe(macOf(...ofForward, 'from', 0, 'e'));
    expect(revocationMac(key, 'e', 'next')).toBe(macOf('revoke', 'next', 'e'));
  });
});

describe('what release 0.1.0 signed without an end', () => {
  it('gets one from the operator, and is canceled as it is', async () => {
    const order = sweeping({ units: '100000000' }, { coins: 2 });
    const { intent } = order.withdrawals[0]!;
    await session.close();
    const key = journalKey(SEED);
    let mac = '0'.repeat(64);
    const entry = { uuid: intent.uuid, identity: openIdentityText(intent), feeMax: '5000' };
    const anchor = order.plan.inputs[0]!.outpoint;
    const lines = [
      { kind: 'start', at: now, fingerprint: '73c5da0a' },
      { kind: 'sign', at: now, purpose: 'pay', txid: 'a'.repeat(64), fee: '2000', entries: [{ ...entry, anchor }] },
    ].map((line, at) => {
      mac = createHmac('sha256', key)
        .update(`${mac}${at} ${JSON.stringify(line)}`)
        .digest('hex');
      return `${mac} ${JSON.stringify(line)}\n`;
    });
    await writeFile(join(wallet.folder, JOURNAL_FILE), lines.join(''));
    await writeFile(join(wallet.folder, HEAD_FILE), JSON.stringify({ lines: 2, mac }));
    session = await Session.open(wallet.folder, PASSPHRASE, () => now);
    await useEpochOf(wallet.folder);
    approveAs(order, {});

    const unapproved = { ...order, withdrawals: [{ intent, approval: { ...approve(intent), mac: '' } as never }] };
    expect(await codeOf(session.sign(unapproved))).toBe('signer.approval');
    const cancel = structuredClone(unapproved);
    cancel.purpose = 'cancel';
    cancel.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 99_998_000n }];
    await session.sign(cancel);
    // canceling it has not put an end to it that the operator did not set
    expect(await codeOf(session.sign(unapproved))).toBe('signer.approval');
    await session.sign(order);
    await session.sign(unapproved);
    expect(identityText(intent)).not.toBe(openIdentityText(intent));
  });
});

describe('a grant', () => {
  const GRANT: PolicyGrant = {
    network: 'regtest',
    accountNo: 0,
    asset: 'LTC',
    perWithdrawal: '1000000',
    perDay: '1020000',
    addresses: null,
    issuedAt: 0,
  };
  const byPolicy = (uuid: string, feeMax = '100000000', units = 1_000_000n): Order => {
    const order = payment('LTC', [uuid], units);
    order.withdrawals[0]!.intent.feeMax = feeMax;
    order.withdrawals[0]!.approval = { by: 'policy' };
    return order;
  };
  beforeEach(() => session.grant(...grantOf({ ...GRANT, issuedAt: now })));

  it('counts what is paid as fee, whatever highest fee the daemon names', async () => {
    const first = byPolicy('p');
    await session.sign(first);
    expect(await codeOf(session.sign(withFee(first, 20_001n)))).toBe('signer.limit');
    expect((await session.sign(withFee(first, 20_000n))).fee).toBe(20_000n);
    // the day is used up to the unit; what was counted is not counted again
    expect((await session.sign(withFee(first, 15_000n))).fee).toBe(15_000n);
    expect(await codeOf(session.sign(byPolicy('q', '5000', 10_000n)))).toBe('signer.limit');
    now += 24 * HOUR;
    await session.sign(byPolicy('q', '5000', 10_000n));
  });

  it('that was taken back lets no fee rise, and what was signed be signed again', async () => {
    const first = byPolicy('p');
    const signed = await session.sign(first);
    await session.grant(...grantOf({ ...GRANT, perWithdrawal: '0', perDay: '0', issuedAt: now + 1 }));
    expect(await session.sign(first)).toEqual(signed);
    expect(await codeOf(session.sign(withFee(first, 2_001n)))).toBe('signer.limit');
    const dearer = withFee(first, 9_000n);
    approveAs(dearer, { feeMax: '9000' });
    expect((await session.sign(dearer)).fee).toBe(9_000n);
  });

  it('counts the fee of a cancellation too', async () => {
    const first = byPolicy('p');
    await session.sign(first);
    const cancel = structuredClone(first);
    cancel.purpose = 'cancel';
    const back = (fee: bigint): Order => ({
      ...cancel,
      plan: {
        ...cancel.plan,
        fee,
        outputs: [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 150_000_000n - fee }],
      },
    });
    expect(await codeOf(session.sign(back(20_001n)))).toBe('signer.limit');
    expect((await session.sign(back(20_000n))).fee).toBe(20_000n);
  });

  it('bounds, whatever a daemon asks for, what leaves in 24 hours by every version that may confirm', async () => {
    const step = fc.record({
      who: fc.constantFrom('a', 'b', 'c'),
      fee: fc.bigInt(2_000n, 400_000n),
      feeMax: fc.constantFrom('0', '5000', '999999999999'),
      hours: fc.constantFrom(0, 0, 5),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        now += 48 * HOUR;
        const orders = new Map<string, Order>();
        /** Of each payment, when its first version was signed and the most that any version takes. */
        const taken = new Map<string, { at: number; units: bigint; fee: bigint }[]>();
        run += 1;
        for (const { who, fee, feeMax, hours } of steps) {
          now += hours * HOUR;
          const uuid = `${run} ${who}`;
          const order = orders.get(uuid) ?? byPolicy(uuid, feeMax, 200_000n);
          orders.set(uuid, order);
          order.withdrawals[0]!.intent.feeMax = feeMax;
          const signed = await session.sign(withFee(order, fee)).then(
            () => true,
            () => false,
          );
          if (!signed) continue;
          const before = taken.get(uuid) ?? [];
          const highest = before.reduce((most, one) => (one.fee > most ? one.fee : most), 0n);
          const rise = fee > highest ? fee - highest : 0n;
          taken.set(uuid, [...before, { at: now, units: before.length === 0 ? 200_000n + fee : rise, fee }]);
          const day = [...taken.values()].flat().filter(({ at }) => at > now - 24 * HOUR);
          expect(day.reduce((sum, { units }) => sum + units, 0n)).toBeLessThanOrEqual(1_020_000n);
        }
      }),
      { numRuns: 30 },
    );
  });
});
