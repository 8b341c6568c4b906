/** Payments under a grant of forwarding: to one address, and with fees within the limits of a payment and of a day. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { ADDRESS_SELF, type ForwardGrant, type UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { endOf, limitsHeldIn, newestDateIn } from '../../../daemon/wallet/signer/register.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import {
  approve,
  byPolicy,
  codeOf,
  grantOf,
  own,
  PASSPHRASE,
  payment,
  useEpochOf,
  walletFolder,
} from './signer-kit.ts';

const [DESTINATION = '', OTHER = ''] = DESTINATIONS.LTC;
const HOUR = 3_600_000;
const START = Date.parse('2026-11-20T00:00:00Z');
const UNITS = 40_000_000n;

const grant: ForwardGrant = {
  kind: 'forward',
  network: 'regtest',
  accountNo: 0,
  asset: 'LTC',
  address: DESTINATION,
  feeSharePpm: 100,
  feeMax: '4000',
  feeDay: '10000',
  issuedAt: START,
};

/** Forwards 0.4 LTC of three coins of its own, for this fee. */
function forward(uuid: string, fee = 2_000n, address = DESTINATION): UtxoOrder {
  const order = payment('LTC', [uuid]);
  const [payout, change] = order.plan.outputs;
  order.plan.fee = fee;
  order.plan.outputs = [
    { ...payout!, address, script: scriptOf(address, 'LTC', 'regtest')! },
    { ...change!, units: 150_000_000n - UNITS - fee },
  ];
  order.withdrawals[0]!.intent.address = address;
  order.withdrawals[0]!.approval = { by: 'forward' };
  return order;
}

describe('a grant of forwarding', () => {
  let wallet: Awaited<ReturnType<typeof walletFolder>>;
  let session: Session;
  let now = START;
  const open = async (): Promise<void> => {
    session = await Session.open(wallet.folder, PASSPHRASE, () => now);
  };
  const give = (change: Partial<ForwardGrant>) =>
    session.grant(...grantOf({ ...grant, issuedAt: START + 1, ...change }));
  beforeEach(async () => {
    now = START;
    wallet = await walletFolder();
    await open();
    await session.grant(...grantOf(grant));
  });
  afterEach(async () => {
    await session.close();
    await wallet.remove();
  });

  it('lets any amount go to its address, and is in the record', async () => {
    expect((await session.sign(forward('w'))).fee).toBe(2_000n);
    const held = await limitsHeldIn(wallet.folder, now);
    expect(held).toEqual({ policies: [], gas: [], forwards: [{ grant, used: 2_000n }] });
    expect(await newestDateIn(wallet.folder)).toBe(START);
  });

  it('gives the same bytes for the same order, also after it ended, a restart between them', async () => {
    const order = forward('w', 4_000n);
    const first = await session.sign(order);
    await give(endOf(grant, now) as ForwardGrant);
    await session.close();
    await open();
    expect((await session.sign(order)).raw).toBe(first.raw);
    expect((await limitsHeldIn(wallet.folder, now)).forwards).toEqual([]);
    expect(await codeOf(session.sign(forward('other')))).toBe('signer.limit');
  });

  it('lets no payment cost what another one of the same coins may, by its own share', async () => {
    await give({ feeMax: null });
    const large = forward('large', 4_000n);
    const small = (fee: bigint): UtxoOrder => {
      const order = forward('small', fee);
      order.plan.inputs = large.plan.inputs;
      order.previous = large.previous;
      order.withdrawals[0]!.intent.units = '10000000';
      order.plan.outputs[0]!.units = 10_000_000n;
      order.plan.outputs[1]!.units = 140_000_000n - fee;
      return order;
    };
    expect((await session.sign(small(1_000n))).fee).toBe(1_000n);
    expect((await session.sign(large)).fee).toBe(4_000n);
    expect(await codeOf(session.sign(small(1_001n)))).toBe('signer.limit');
    expect((await session.sign(small(1_000n))).fee).toBe(1_000n);
  });

  const two = (): UtxoOrder => {
    const order = payment('LTC', ['a', 'b'], 10_000_000n);
    for (const one of order.withdrawals) one.approval = { by: 'forward' };
    return order;
  };
  const toSelf = (): UtxoOrder => {
    const order = forward('w');
    const coins = order.plan.inputs.map(({ outpoint }) => outpoint);
    Object.assign(order.withdrawals[0]!.intent, { address: ADDRESS_SELF, units: '0', coins });
    order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 150_000_000n - 2_000n }];
    return order;
  };
  const sweep = (): UtxoOrder => {
    const order = forward('w');
    const [payout] = order.plan.outputs;
    order.plan.outputs = [{ ...payout!, units: 150_000_000n - 2_000n }];
    Object.assign(order.withdrawals[0]!.intent, { sweep: true, units: '150000000' });
    return order;
  };
  const change = (spoil: (order: UtxoOrder) => void): (() => UtxoOrder) => {
    return () => {
      const order = forward('w');
      spoil(order);
      return order;
    };
  };
  it.each<[string, Partial<ForwardGrant>, () => UtxoOrder, string]>([
    ['to another address', {}, () => forward('w', 2_000n, OTHER), 'signer.limit'],
    ['in another coin', { asset: 'BTC', issuedAt: START + 1 }, () => forward('w', 5_000n), 'signer.limit'],
    ['with a fee above the ceiling', {}, () => forward('w', 4_001n), 'signer.limit'],
    [
      'with a fee above the ceiling, without a share',
      { feeSharePpm: null },
      () => forward('w', 4_001n),
      'signer.limit',
    ],
    ['with a fee above the share', { feeMax: null }, () => forward('w', 4_001n), 'signer.limit'],
    ['with a fee above the day', { feeSharePpm: null, feeMax: '90000' }, () => forward('w', 10_001n), 'signer.limit'],
    ['without any limit of a fee', { feeSharePpm: null, feeMax: null }, () => forward('w'), 'signer.limit'],
    ['after it ended', { feeDay: '0' }, () => forward('w'), 'signer.limit'],
    ['beside another payment', {}, two, 'signer.differs'],
    ['to ourselves', {}, toSelf, 'signer.differs'],
    ['of everything', {}, sweep, 'signer.differs'],
    [
      'for gas, which this chain does not need',
      {},
      change((order) => (order.withdrawals[0]!.approval = { by: 'forward', asset: 'USDT_ERC20' })),
      'signer.differs',
    ],
    ['of another account', {}, change((order) => (order.withdrawals[0]!.intent.accountNo = 1)), 'signer.differs'],
    ['that pays less than it says', {}, change((order) => (order.plan.outputs[0]!.units -= 1n)), 'signer.differs'],
    [
      'whose change is not ours',
      {},
      change((order) => Object.assign(order.plan.outputs[1]!, { script: scriptOf(OTHER, 'LTC', 'regtest') })),
      'signer.differs',
    ],
    ['as if a policy approved it', {}, () => byPolicy('w'), 'signer.limit'],
  ])('lets nothing go %s', async (_, given, order, code) => {
    await give(given);
    expect(await codeOf(session.sign(order()))).toBe(code);
  });

  const policy = { network: 'regtest', accountNo: 0, asset: 'LTC', addresses: null, issuedAt: START } as const;
  it.each(['pay', 'cancel'] as const)('has no other version of it by a limit of a policy: %s', async (purpose) => {
    await session.grant(...grantOf({ ...policy, perWithdrawal: '90000000', perDay: '90000000' }));
    const order = forward('w');
    await session.sign(order);
    const [payout, change] = order.plan.outputs;
    const back = { ...change!, units: 150_000_000n - 3_000n };
    const outputs = purpose === 'cancel' ? [back] : [payout!, { ...back, units: back.units - UNITS }];
    const withdrawals = order.withdrawals.map(({ intent }) => ({ intent, approval: { by: 'policy' as const } }));
    const other = { ...order, purpose, plan: { ...order.plan, fee: 3_000n, outputs }, withdrawals };
    expect(await codeOf(session.sign(other))).toBe('signer.approval');
  });

  it('leads its change 1,000 addresses further a day, however many payments without a fee are signed', async () => {
    const changeTo = (uuid: string, index: number, fee = 0n): UtxoOrder => {
      const order = forward(uuid, fee);
      order.plan.outputs[1] = { kind: 'change', ...own('LTC', 1, index), index, units: 150_000_000n - UNITS - fee };
      return order;
    };
    await session.sign(changeTo('first', 3));
    const signed = async (uuid: string, index: number): Promise<string | null> => {
      const signing = session.sign(changeTo(uuid, index));
      return signing.then(
        () => null,
        () => codeOf(signing),
      );
    };
    expect([await signed('a', 1_003), await signed('b', 1_004)]).toEqual([null, 'signer.differs']);
    // also after a restart
    await session.close();
    await open();
    expect([await signed('c', 1_003), await signed('d', 2_003)]).toEqual([null, 'signer.differs']);
    now += 24 * HOUR;
    expect([await signed('e', 2_003), await signed('f', 2_004)]).toEqual([null, 'signer.differs']);
  });

  it('cancels nothing, since sweeps to ourselves would burn fees', async () => {
    const order = forward('w');
    await session.sign(order);
    order.purpose = 'cancel';
    order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 150_000_000n - 2_000n }];
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
  });

  it.each<['cancel' | 'raise', number]>([
    ['cancel', 5_000],
    ['raise', 6_000],
  ])('leaves it to the operator to %s what it let go, also after it ended', async (purpose, fee) => {
    const order = forward('w');
    await session.sign(order);
    await give(endOf(grant, now) as ForwardGrant);
    order.plan.fee = BigInt(fee);
    const { intent } = order.withdrawals[0]!;
    intent.feeMax = `${fee}`;
    if (purpose === 'cancel') {
      order.purpose = 'cancel';
      order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 150_000_000n - BigInt(fee) }];
    } else order.plan.outputs[1]!.units = 150_000_000n - UNITS - BigInt(fee);
    expect(await codeOf(session.sign(order))).toBe(purpose === 'cancel' ? 'signer.approval' : 'signer.limit');
    order.withdrawals[0]!.approval = approve(intent, START + HOUR, purpose === 'cancel' ? 'raise' : 'cancel');
    expect(await codeOf(session.sign(order))).toBe('signer.approval');
    order.withdrawals[0]!.approval = approve(intent, START + HOUR, purpose);
    expect((await session.sign(order)).fee).toBe(BigInt(fee));
    expect((await limitsHeldIn(wallet.folder, now)).forwards).toEqual([]);
  });

  it('signs no payment again that somebody else approved, or that was of another amount', async () => {
    const approved = forward('w');
    approved.withdrawals[0]!.approval = approve(approved.withdrawals[0]!.intent, START + HOUR);
    await session.sign(approved);
    approved.withdrawals[0]!.approval = { by: 'forward' };
    expect(await codeOf(session.sign(approved))).toBe('signer.differs');
    const order = forward('v');
    await session.sign(order);
    order.withdrawals[0]!.intent.units = `${UNITS - 1n}`;
    order.plan.outputs[0]!.units -= 1n;
    order.plan.outputs[1]!.units += 1n;
    expect(await codeOf(session.sign(order))).toBe('signer.differs');
  });

  it('lets many small payments burn no more than the fees of a day, and counts a higher fee for the same coins once', async () => {
    const order = forward('w', 3_000n);
    await session.sign(order);
    order.plan.fee = 4_000n;
    order.plan.outputs[1]!.units -= 1_000n;
    expect((await session.sign(order)).fee).toBe(4_000n);
    now += 12 * HOUR;
    await session.sign(forward('x', 4_000n));
    await session.close();
    await open();
    expect(await codeOf(session.sign(forward('y', 2_001n)))).toBe('signer.limit');
    await session.sign(forward('y', 2_000n));
    expect(await codeOf(session.sign(forward('z', 1_000n)))).toBe('signer.limit');
    now += 12 * HOUR;
    expect((await session.sign(forward('z', 4_000n))).fee).toBe(4_000n);
  });

  it('lets a payment be replaced by what spends a coin of it, at a fee within the limit of one payment', async () => {
    const order = forward('w');
    await session.sign(order);
    expect(await codeOf(session.sign(forward('w')))).toBe('signer.conflict');
    const withFee = (fee: bigint): UtxoOrder => {
      const [payout, change] = order.plan.outputs;
      const outputs = [payout!, { ...change!, units: 150_000_000n - UNITS - fee }];
      return { ...order, plan: { ...order.plan, fee, outputs } };
    };
    expect(await codeOf(session.sign(withFee(4_001n)))).toBe('signer.limit');
    expect((await session.sign(withFee(4_000n))).fee).toBe(4_000n);
  });

  it('signs what an earlier epoch signed again only with all of its coins', async () => {
    const order = forward('w');
    await session.sign(order);
    await session.endApprovals();
    await useEpochOf(wallet.folder);
    await session.grant(...grantOf({ ...grant, issuedAt: START + 1 }));
    const other = forward('w');
    other.plan.inputs[0] = order.plan.inputs[0]!;
    Object.assign(other.previous, order.previous);
    expect(await codeOf(session.sign(other))).toBe('signer.approval');
    expect((await session.sign(order)).fee).toBe(2_000n);
  });

  it('needs the passphrase for another address, and takes no older one', async () => {
    const [changed] = grantOf({ ...grant, address: OTHER, issuedAt: START + 1 });
    const [, mac] = grantOf({ ...changed, address: DESTINATION });
    expect(await codeOf(session.grant(changed, mac))).toBe('signer.approval');
    await give({ address: OTHER });
    expect(await codeOf(session.grant(...grantOf(grant)))).toBe('signer.approval');
    expect(await codeOf(session.sign(forward('w')))).toBe('signer.limit');
    expect((await session.sign(forward('w', 2_000n, OTHER))).fee).toBe(2_000n);
  });

  it('ends with the approvals of its epoch', async () => {
    await session.endApprovals();
    expect(await codeOf(session.sign(forward('w')))).toBe('signer.limit');
    expect(await codeOf(session.grant(...grantOf({ ...grant, issuedAt: START + 1 })))).toBe('signer.approval');
  });
});
