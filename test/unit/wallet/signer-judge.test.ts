/** What the signer refuses: every way in which a plan may differ from what was approved, and from what was signed before. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import type { PlannedOutput, UtxoPlan } from '../../../daemon/domain/spend.ts';
import { ADDRESS_SELF, type Intent, type UtxoOrder } from '../../../daemon/wallet/signer/port.ts';
import { endOf } from '../../../daemon/wallet/signer/register.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { CHAINS_UTXO, DESTINATIONS } from '../chains/spend-kit.ts';
import {
  approve,
  codeOf,
  coin,
  grantOf,
  own,
  PASSPHRASE,
  payment,
  soon,
  useClock,
  walletFolder,
} from './signer-kit.ts';

type Order = UtxoOrder;

let wallet: Awaited<ReturnType<typeof walletFolder>>;
let session: Session;
let now = Date.UTC(2030, 0);
useClock(() => now);
afterAll(() => useClock(Date.now));
beforeAll(async () => {
  wallet = await walletFolder();
  session = await Session.open(wallet.folder, PASSPHRASE, () => now);
});
afterAll(async () => {
  await session.close();
  await wallet.remove();
});

let uuids = 0;
const fresh = (): string => `w-${uuids++}`;
const change = (order: Order): Extract<PlannedOutput, { kind: 'change' }> => {
  const found = order.plan.outputs.find((output) => output.kind === 'change');
  if (found?.kind !== 'change') throw new Error('no change');
  return found;
};
/** Changes what is asked for, and has it approved anew. */
const approveAs = (order: Order, fields: Partial<Intent>, at = 0): void => {
  const one = order.withdrawals[at]!;
  one.intent = { ...one.intent, ...fields };
  one.approval = approve(one.intent);
};
const foreign = { address: DESTINATIONS.LTC[1]!, script: scriptOf(DESTINATIONS.LTC[1]!, 'LTC', 'regtest')! };

describe.each(CHAINS_UTXO)('on %s', (chain) => {
  it('signs what was approved, also for several at once', async () => {
    expect((await session.sign(payment(chain, [fresh()]))).txid).toMatch(/^[0-9a-f]{64}$/);
    expect((await session.sign(payment(chain, [fresh(), fresh(), fresh()], 20_000_000n))).fee).toBe(2_000n);
  });
});

/** Each spoils a right order of two payments in one way. */
const REFUSED: [code: string, what: string, why: string, spoil: (order: Order) => void][] = [
  // the recipients
  [
    'signer.differs',
    'another recipient',
    'it does not pay 20000000 to',
    ({ plan }) => Object.assign(plan.outputs[0]!, foreign),
  ],
  [
    'signer.differs',
    "another recipient under the right one's name",
    'an output does not pay',
    ({ plan }) => Object.assign(plan.outputs[0]!, { script: foreign.script }),
  ],
  ['signer.differs', 'less for a recipient', 'it does not pay 20000000 to', ({ plan }) => move(plan, 0, 1, 1n)],
  [
    'signer.differs',
    'more for a recipient, out of the change',
    'it does not pay 20000000 to',
    ({ plan }) => move(plan, 2, 0, 1n),
  ],
  [
    'signer.differs',
    "the recipients' amounts exchanged",
    'it does not pay 20000000 to',
    (order) => {
      move(order.plan, 2, 0, 5n);
      approveAs(order, { units: '20000005' }, 1);
    },
  ],
  [
    'signer.differs',
    'one recipient paid twice',
    'it does not pay 20000000 to',
    ({ plan }) => Object.assign(plan.outputs[1]!, { ...plan.outputs[0]! }),
  ],
  [
    'signer.differs',
    'nothing for one of them',
    'it does not pay 20000000 to',
    ({ plan }) => {
      move(plan, 1, 2, plan.outputs[1]!.units);
      plan.outputs.splice(1, 1);
    },
  ],
  [
    'signer.differs',
    'one more recipient',
    'it pays somebody whom nobody approved',
    ({ plan }) => {
      move(plan, 2, 0, 50_000n);
      plan.outputs[0]!.units -= 50_000n;
      plan.outputs.push({ kind: 'payout', ...foreign, units: 50_000n });
    },
  ],
  [
    'signer.differs',
    'a payment that nobody asked for',
    'it pays somebody whom nobody approved',
    (order) => {
      order.withdrawals.pop();
    },
  ],
  [
    'signer.differs',
    'nobody asking',
    'it pays others than ourselves',
    (order) => {
      order.withdrawals = [];
    },
  ],
  [
    'signer.differs',
    'the same withdrawal twice',
    'it does not pay 20000000 to',
    (order) => {
      order.withdrawals[1] = order.withdrawals[0]!;
    },
  ],
  // the change
  [
    'signer.differs',
    'change to somebody else',
    'the change is not ours',
    (order) => Object.assign(change(order), foreign),
  ],
  [
    'signer.differs',
    'change under our own name to somebody else',
    'an output does not pay',
    (order) => Object.assign(change(order), { script: foreign.script }),
  ],
  [
    'signer.differs',
    'change to another index than it says',
    'the change is not ours',
    (order) => Object.assign(change(order), { index: 4 }),
  ],
  [
    'signer.differs',
    'change to an address for payers',
    'the change is not ours',
    (order) => Object.assign(change(order), own('LTC', 0, 3)),
  ],
  [
    'signer.differs',
    'change to another account',
    'the change is not ours',
    (order) => Object.assign(change(order), own('LTC', 1, 3, 'regtest', 1)),
  ],
  [
    'signer.differs',
    'change to another network',
    'an output does not pay',
    (order) => Object.assign(change(order), own('LTC', 1, 3, 'testnet')),
  ],
  [
    'signer.differs',
    'change where nobody finds it',
    'the change goes to address 2000000000, which is further',
    (order) => Object.assign(change(order), own('LTC', 1, 2_000_000_000), { index: 2_000_000_000 }),
  ],
  [
    'signer.differs',
    'change in two parts',
    'there is more than one change',
    ({ plan }) => {
      plan.outputs.push({ kind: 'change', ...own('LTC', 1, 4), index: 4, units: 50_000n });
      plan.outputs[2]!.units -= 50_000n;
    },
  ],
  [
    'signer.differs',
    'change so small that it is dust',
    'an output is dust',
    ({ plan }) => {
      plan.outputs.push({ kind: 'change', ...own('LTC', 1, 4), index: 4, units: 2_939n });
      plan.outputs[2]!.units -= 2_939n;
    },
  ],
  // what is spent
  [
    'signer.input',
    'an input named twice',
    'an input is named twice',
    ({ plan }) => {
      plan.inputs[1] = plan.inputs[0]!;
    },
  ],
  [
    'signer.input',
    'a coin said to be worth less: the rest would be fee',
    'is not worth 49000000',
    ({ plan }) => {
      plan.inputs[1]!.units -= 1_000_000n;
      plan.outputs[2]!.units -= 1_000_000n;
    },
  ],
  [
    'signer.input',
    'a coin said to be worth more',
    'is not worth 50000001',
    ({ plan }) => {
      plan.inputs[1]!.units += 1n;
      plan.fee += 1n;
    },
  ],
  [
    'signer.input',
    'a coin of another index',
    'is not ours',
    ({ plan }) => {
      plan.inputs[1]!.index += 1;
    },
  ],
  [
    'signer.input',
    'a coin of the other branch',
    'is not ours',
    ({ plan }) => {
      plan.inputs[0]!.branch = 1;
    },
  ],
  [
    'signer.input',
    'a coin with another script',
    'has another script',
    ({ plan }) => {
      plan.inputs[0]!.script = foreign.script;
    },
  ],
  [
    'signer.input',
    "somebody else's coin",
    'is not ours',
    (order) => swapCoin(order, coin('LTC', 50_000_000n, { script: foreign.script })),
  ],
  [
    'signer.input',
    'a coin of another account',
    'is not ours',
    (order) => swapCoin(order, coin('LTC', 50_000_000n, { script: own('LTC', 0, 0, 'regtest', 1).script })),
  ],
  [
    'signer.input',
    'no previous transaction',
    'was not given',
    (order) => {
      delete order.previous[order.plan.inputs[1]!.outpoint.slice(0, 64)];
    },
  ],
  [
    'signer.input',
    'another previous transaction',
    'is not what was given for it',
    (order) => {
      order.previous[order.plan.inputs[1]!.outpoint.slice(0, 64)] = Object.values(order.previous)[0]!;
    },
  ],
  [
    'signer.input',
    'an output that the previous transaction has not',
    'There is no output',
    ({ plan }) => {
      plan.inputs[2]!.outpoint = `${plan.inputs[2]!.outpoint.slice(0, 64)}:9`;
    },
  ],
  [
    'signer.input',
    'no previous transaction by a special name',
    'was not given',
    (order) => {
      order.previous = JSON.parse('{"__proto__": {}}');
    },
  ],
  // the sums
  [
    'signer.differs',
    'another fee than inputs less outputs',
    'inputs are not outputs plus fee',
    ({ plan }) => {
      plan.fee -= 1n;
    },
  ],
  [
    'signer.differs',
    'more going out than in',
    'inputs are not outputs plus fee',
    ({ plan }) => {
      plan.outputs[2]!.units += 3_000n;
      plan.fee = -1_000n;
    },
  ],
  [
    'signer.fee',
    'a fee above what was approved',
    'a fee of 10001 is above the limit of 10000',
    ({ plan }) => {
      plan.outputs[2]!.units -= 8_001n;
      plan.fee += 8_001n;
    },
  ],
  [
    'signer.fee',
    'a fee above any sense, although approved',
    'a fee of 1259995000 is above the limit of 1650000',
    (order) => {
      order.plan.outputs[2]!.units = 5_000n;
      order.plan.fee = 109_995_000n;
      move(order.plan, 0, 0, 0n);
      huge(order);
    },
  ],
  // the frame
  [
    'signer.differs',
    'a version that nobody relays',
    'a transaction has version 1 or 2',
    ({ plan }) => {
      plan.version = 3;
    },
  ],
  [
    'signer.differs',
    'a lock time that is an instant',
    'the lock time is no height',
    ({ plan }) => {
      plan.lockTime = 1_800_000_000;
    },
  ],
  [
    'signer.differs',
    'a relative lock time',
    'an input has a relative lock time',
    ({ plan }) => {
      plan.inputs[0]!.sequence = 65_535;
    },
  ],
  [
    'signer.unsupported',
    'no input',
    'A transaction has 1 to 1470 inputs',
    ({ plan }) => {
      plan.inputs = [];
    },
  ],
  [
    'signer.unsupported',
    'a chain whose transactions are made elsewhere',
    'The wallet does not sign for ETH yet',
    ({ plan }) => {
      plan.chain = 'ETH';
    },
  ],
  // what stands alone
  [
    'signer.differs',
    'a payment of named coins beside another',
    'stands alone',
    (order) => approveAs(order, { coins: [order.plan.inputs[0]!.outpoint] }),
  ],
  ['signer.differs', 'a sweep beside another payment', 'stands alone', (order) => approveAs(order, { sweep: true })],
  [
    'signer.differs',
    'a payment to ourselves beside another',
    'stands alone',
    (order) => approveAs(order, { address: ADDRESS_SELF }),
  ],
  // whose it is
  [
    'signer.differs',
    'an approval for another chain',
    'what was approved is of another account, chain or asset',
    (order) => approveAs(order, { chain: 'BTC', asset: 'BTC' }),
  ],
  [
    'signer.differs',
    'an approval for the same asset on another chain',
    'what was approved is of another account, chain or asset',
    (order) => approveAs(order, { chain: 'BTC' }),
  ],
  [
    'signer.differs',
    'an approval for another asset',
    'what was approved is of another account, chain or asset',
    (order) => approveAs(order, { asset: 'USDT_ERC20' }),
  ],
  [
    'signer.differs',
    'an approval for another network',
    'what was approved is of another account, chain or asset',
    (order) => approveAs(order, { network: 'mainnet' }),
  ],
  [
    'signer.differs',
    'an approval for another account',
    'what was approved is of another account, chain or asset',
    (order) => approveAs(order, { accountNo: 1 }),
  ],
  [
    'signer.differs',
    'the same plan on another network',
    'an output does not pay',
    (order) => {
      order.plan.network = 'testnet';
      for (const at of [0, 1]) approveAs(order, { network: 'testnet' }, at);
    },
  ],
  [
    'signer.input',
    'the same plan on mainnet',
    'is not ours',
    (order) => {
      order.plan.network = 'mainnet';
      for (const at of [0, 1]) approveAs(order, { network: 'mainnet' }, at);
    },
  ],
  [
    'signer.input',
    'the same plan of another account',
    'is not ours',
    (order) => {
      order.plan.accountNo = 1;
      for (const at of [0, 1]) approveAs(order, { accountNo: 1 }, at);
    },
  ],
  // the approvals
  [
    'signer.approval',
    'an approval of another withdrawal',
    "the operator's approval does not belong to this payment",
    ({ withdrawals }) => {
      withdrawals[0]!.approval = withdrawals[1]!.approval;
    },
  ],
  [
    'signer.approval',
    'a fee raised after the approval',
    "the operator's approval does not belong to this payment",
    ({ withdrawals }) => {
      withdrawals[0]!.intent.feeMax = '9999';
    },
  ],
  [
    'signer.approval',
    'another name than was approved',
    "the operator's approval does not belong to this payment",
    ({ withdrawals }) => {
      withdrawals[0]!.intent.uuid = fresh();
    },
  ],
  [
    'signer.approval',
    'an approval whose end was moved',
    "the operator's approval does not belong to this payment",
    ({ withdrawals }) => {
      withdrawals[0]!.approval = { ...approve(withdrawals[0]!.intent), until: soon() - 1 } as never;
    },
  ],
  [
    'signer.approval',
    'an approval that has ended',
    "the operator's approval has expired",
    ({ withdrawals }) => {
      withdrawals[0]!.approval = approve(withdrawals[0]!.intent, now);
    },
  ],
  [
    'signer.approval',
    'no MAC at all',
    "the operator's approval does not belong to this payment",
    ({ withdrawals }) => {
      withdrawals[0]!.approval = { by: 'operator', until: soon(), mac: '' };
    },
  ],
  [
    'signer.limit',
    'a policy without a grant',
    'nothing was granted for this account and asset',
    ({ withdrawals }) => {
      withdrawals[0]!.approval = { by: 'policy' };
    },
  ],
  [
    'signer.approval',
    'a grant of gas',
    'a grant of gas pays nobody',
    ({ withdrawals }) => {
      withdrawals[0]!.approval = { by: 'gas' };
    },
  ],
  // cancelling
  [
    'signer.differs',
    'cancelling what was never signed',
    'a payment that was never signed needs no cancellation',
    (order) => {
      order.purpose = 'cancel';
      order.plan.outputs = [{ ...change(order), units: 149_998_000n }];
    },
  ],
];

function move(plan: UtxoPlan, from: number, to: number, units: bigint): void {
  plan.outputs[from]!.units -= units;
  plan.outputs[to]!.units += units;
}
function swapCoin(order: Order, { coin: other, txid, raw }: ReturnType<typeof coin>): void {
  order.plan.inputs[1] = other;
  order.previous[txid] = raw;
}
/** A coin of 12 LTC, nearly all of which would be fee. */
function huge(order: Order): void {
  const big = coin('LTC', 1_200_000_000n);
  swapCoin(order, big);
  order.plan.fee += 1_150_000_000n;
  for (const at of [0, 1]) approveAs(order, { feeMax: '9999999999' }, at);
}

describe('refused', () => {
  it.each(REFUSED)('with %s: %s', async (code, _, why, spoil) => {
    const order = payment('LTC', [fresh(), fresh()], 20_000_000n);
    spoil(order);
    const signing = session.sign(order);
    await expect(signing).rejects.toThrow(why);
    expect(await codeOf(signing)).toBe(code);
  });

  it('to cancel nothing, or one withdrawal as if it were two, whose fees were approved together', async () => {
    const order = payment('LTC', [fresh()]);
    await session.sign(order);
    const fee = 9_000n;
    const outputs = [{ ...change(order), units: 150_000_000n - fee }];
    const [one] = order.withdrawals;
    for (const withdrawals of [[], [one!, one!]]) {
      const cancel = { ...order, purpose: 'cancel' as const, plan: { ...order.plan, fee, outputs }, withdrawals };
      await expect(session.sign(cancel)).rejects.toThrow('an order names at least one withdrawal, and each once');
    }
    const burning = { ...order, purpose: 'cancel' as const, plan: { ...order.plan, fee: 150_000_000n, outputs: [] } };
    await expect(session.sign(burning)).rejects.toThrow('it pays others than ourselves');
  });

  it('with a coin of Bitcoin Cash that carries a CashToken, which would be lost', async () => {
    const order = payment('BCH', [fresh(), fresh()], 20_000_000n);
    const { script } = own('BCH', 0, 0);
    const prefix = Buffer.concat([Buffer.of(0xef), Buffer.alloc(32, 5), Buffer.of(0x10, 0xfd, 0x10, 0x27)]);
    const token = coin('BCH', 50_000_000n, { script: Buffer.concat([prefix, script]) });
    swapCoin(order, { ...token, coin: { ...token.coin, script } });
    expect(await codeOf(session.sign(order))).toBe('signer.input');
    swapCoin(order, coin('BCH', 50_000_000n));
    await session.sign(order);
  });

  it('and the same orders are signed unspoilt', async () => {
    await session.sign(payment('LTC', [fresh(), fresh()], 20_000_000n));
  });
});

describe('a withdrawal that was signed before', () => {
  /** The same payment, from one of its coins and others, at another fee. */
  const again = (first: Order, feeUnits: bigint): Order => {
    const next = payment('LTC', [first.withdrawals[0]!.intent.uuid]);
    next.plan.inputs[0] = first.plan.inputs[0]!;
    Object.assign(next.previous, first.previous);
    next.plan.fee = feeUnits;
    change(next).units = 110_000_000n - feeUnits;
    next.withdrawals = [{ ...first.withdrawals[0]! }];
    return next;
  };

  it('is signed again as it was, with the same bytes', async () => {
    const order = payment('LTC', [fresh()]);
    const first = await session.sign(order);
    expect(await session.sign(order)).toEqual(first);
  });

  it('is signed at a higher fee, up to what was approved, after the approval ended too', async () => {
    const first = payment('LTC', [fresh()]);
    const [one] = first.withdrawals;
    one!.approval = approve(one!.intent, now + 1);
    await session.sign(first);
    now += 8 * 86_400_000;
    const faster = await session.sign(again(first, 5_000n));
    expect(faster.fee).toBe(5_000n);
    expect(await codeOf(session.sign(again(first, 5_001n)))).toBe('signer.fee');
  });

  it('is signed above that with a new approval only', async () => {
    const first = payment('LTC', [fresh()]);
    await session.sign(first);
    const dear = again(first, 9_000n);
    dear.withdrawals[0]!.intent = { ...dear.withdrawals[0]!.intent, feeMax: '9000' };
    expect(await codeOf(session.sign(dear))).toBe('signer.approval');
    dear.withdrawals[0]!.approval = { by: 'policy' };
    expect(await codeOf(session.sign(dear))).toBe('signer.approval');
    dear.withdrawals[0]!.approval = approve(dear.withdrawals[0]!.intent);
    expect((await session.sign(dear)).fee).toBe(9_000n);
  });

  it.each<[string, string, (next: Order, first: Order) => void]>([
    [
      'signer.conflict',
      'from other coins alone',
      (next) => Object.assign(next, { ...payment('LTC', ['x']), withdrawals: next.withdrawals }),
    ],
    [
      'signer.differs',
      'to somebody else, newly approved',
      (next) => {
        Object.assign(next.plan.outputs[0]!, foreign);
        approveAs(next, { address: foreign.address });
      },
    ],
    [
      'signer.differs',
      'with another amount, newly approved',
      (next) => {
        move(next.plan, 1, 0, 1n);
        approveAs(next, { units: '40000001' });
      },
    ],
  ])('is refused with %s %s', async (code, _, spoil) => {
    const first = payment('LTC', [fresh()]);
    await session.sign(first);
    const next = again(first, 3_000n);
    next.withdrawals = structuredClone(next.withdrawals);
    spoil(next, first);
    expect(await codeOf(session.sign(next))).toBe(code);
  });

  it('is cancelled by paying ourselves, and to nobody else', async () => {
    const first = payment('LTC', [fresh()]);
    await session.sign(first);
    const cancel = again(first, 4_000n);
    cancel.purpose = 'cancel';
    cancel.withdrawals[0]!.approval = { by: 'policy' };
    expect(await codeOf(session.sign(cancel))).toBe('signer.differs');
    cancel.plan.outputs = [{ ...change(cancel), units: 149_996_000n }];
    expect((await session.sign(cancel)).fee).toBe(4_000n);
    cancel.plan.outputs = [{ kind: 'change', ...foreign, index: 3, units: 149_996_000n }];
    expect(await codeOf(session.sign(cancel))).toBe('signer.differs');
  });
});

describe('sending everything', () => {
  const everything = (uuid: string): Order => {
    const order = payment('BTC', [uuid]);
    order.plan.outputs = [{ ...order.plan.outputs[0]!, units: 149_998_000n }];
    approveAs(order, { units: '149998000', sweep: true });
    return order;
  };

  it('pays one recipient all but the fee', async () => {
    await session.sign(everything(fresh()));
  });

  it.each<[string, (order: Order) => void]>([
    [
      'leaving change',
      (order) => {
        order.plan.outputs[0]!.units -= 50_000n;
        order.plan.outputs.push({ kind: 'change', ...own('BTC', 1, 3), index: 3, units: 50_000n });
      },
    ],
    [
      'paying two',
      (order) => {
        order.plan.outputs[0]!.units -= 50_000n;
        order.plan.outputs.push({ ...order.plan.outputs[0]!, units: 50_000n });
      },
    ],
    [
      'beside another withdrawal',
      (order) => {
        const other = payment('BTC', [fresh()]).withdrawals[0]!;
        order.withdrawals.push(other);
      },
    ],
  ])('is refused %s', async (_, spoil) => {
    const order = everything(fresh());
    spoil(order);
    expect(await codeOf(session.sign(order))).toBe('signer.differs');
  });
});

describe('a transaction to ourselves', () => {
  const toSelf = (uuid: string): Order => {
    const order = payment('BTC', [uuid]);
    order.plan.outputs = [{ kind: 'change', ...own('BTC', 1, 3), index: 3, units: 149_998_000n }];
    const coins = order.plan.inputs.map(({ outpoint }) => outpoint);
    approveAs(order, { address: ADDRESS_SELF, units: '0', coins });
    return order;
  };

  it('is signed with the operator’s approval, and not with a policy’s', async () => {
    await session.sign(toSelf(fresh()));
    const order = toSelf(fresh());
    order.withdrawals[0]!.approval = { by: 'policy' };
    expect(await codeOf(session.sign(order))).toBe('signer.limit');
  });

  it('pays nobody else', async () => {
    const order = toSelf(fresh());
    order.plan.outputs = payment('BTC', ['x']).plan.outputs;
    expect(await codeOf(session.sign(order))).toBe('signer.differs');
  });
});

describe('what a policy may let go', () => {
  const GRANT = {
    network: 'regtest' as const,
    accountNo: 0,
    asset: 'BCH' as const,
    perWithdrawal: '40000000',
    perDay: '100000000',
    addresses: null,
    issuedAt: now,
  };
  const byPolicy = (uuid = fresh(), units = 40_000_000n): Order => {
    const order = payment('BCH', [uuid], units);
    order.withdrawals[0]!.approval = { by: 'policy' };
    return order;
  };

  it('is nothing before it is granted, and what was granted by the operator alone', async () => {
    expect(await codeOf(session.sign(byPolicy()))).toBe('signer.limit');
    const [grant, mac] = grantOf(GRANT);
    expect(await codeOf(session.grant({ ...grant, perDay: '900000000' }, mac))).toBe('signer.approval');
    expect(await codeOf(session.grant(grant, ''))).toBe('signer.approval');
    await session.grant(grant, mac);
    await session.grant(grant, mac);
  });

  it('is limited for each and for 24 hours, fees included, counted once however often it is signed', async () => {
    expect(await codeOf(session.sign(byPolicy(fresh(), 40_000_001n)))).toBe('signer.limit');
    const first = byPolicy();
    await session.sign(first);
    await session.sign(first);
    await session.sign(byPolicy());
    // two fees of 2,000 are gone too
    expect(await codeOf(session.sign(byPolicy(fresh(), 19_994_001n)))).toBe('signer.limit');
    await session.sign(byPolicy(fresh(), 19_994_000n));
    expect(await codeOf(session.sign(byPolicy(fresh(), 10_000n)))).toBe('signer.limit');
    now += 86_400_000 - 1;
    expect(await codeOf(session.sign(byPolicy(fresh(), 10_000n)))).toBe('signer.limit');
    now += 1;
    await session.sign(byPolicy(fresh(), 10_000n));
  });

  it('counts a batch as a whole', async () => {
    now += 2 * 86_400_000;
    const batch = payment('BCH', [fresh(), fresh(), fresh()], 34_000_000n);
    for (const one of batch.withdrawals) one.approval = { by: 'policy' };
    expect(await codeOf(session.sign(batch))).toBe('signer.limit');
    batch.withdrawals[2]!.approval = approve(batch.withdrawals[2]!.intent);
    await session.sign(batch);
  });

  it('is told by the clock of the newest line when the clock was set back', async () => {
    const before = now;
    now -= 30 * 86_400_000;
    expect(await codeOf(session.sign(byPolicy()))).toBe('signer.limit');
    now = before + 2 * 86_400_000;
  });

  it('is only to the addresses, and of the account and network, that the grant names', async () => {
    await session.grant(...grantOf({ ...GRANT, addresses: [DESTINATIONS.BCH[1]!], issuedAt: now }));
    expect(await codeOf(session.sign(byPolicy()))).toBe('signer.limit');
    await session.grant(...grantOf({ ...GRANT, addresses: [DESTINATIONS.BCH[0]!], issuedAt: now + 1 }));
    await session.sign(byPolicy());
    const elsewhere = payment('LTC', [fresh()]);
    elsewhere.withdrawals[0]!.approval = { by: 'policy' };
    expect(await codeOf(session.sign(elsewhere))).toBe('signer.limit');
  });

  it('ends when the operator says so, and an older word does not bring it back', async () => {
    await session.grant(...grantOf({ ...GRANT, perWithdrawal: '0', perDay: '0', issuedAt: now + 2 }));
    expect(await codeOf(session.sign(byPolicy()))).toBe('signer.limit');
    expect(await codeOf(session.grant(...grantOf(GRANT)))).toBe('signer.approval');
    expect(await codeOf(session.grant(...grantOf({ ...GRANT, issuedAt: now + 10 * 86_400_000 })))).toBe(
      'signer.approval',
    );
  });

  it('tells of the two clocks where one is wrong', async () => {
    for (const issuedAt of [now + 86_400_000, Number.MAX_SAFE_INTEGER]) {
      await expect(session.grant(...grantOf({ ...GRANT, issuedAt }))).rejects.toThrow(
        `later than the wallet's clock, which says ${new Date(now).toISOString()}: set the clock that is wrong`,
      );
    }
    const behind = { ...GRANT, issuedAt: now - 86_400_000 };
    await expect(session.grant(...grantOf(behind))).rejects.toThrow(
      `, and these of ${new Date(behind.issuedAt).toISOString()}`,
    );
  });

  it('is replaced and ended after a clock that was ahead', async () => {
    const right = now;
    now += 400 * 86_400_000;
    const [ahead] = grantOf({ ...GRANT, issuedAt: now });
    await session.grant(...grantOf(ahead));
    now = right;
    await expect(session.grant(...grantOf({ ...GRANT, issuedAt: now + 3 }))).rejects.toThrow(
      /of \d{4}-.*, and these of \d{4}-.*\. The clock was ahead then: the command line replaces them, .*wallet revoke/,
    );
    const next = { ...GRANT, issuedAt: ahead.issuedAt + 1, perDay: '70000000' };
    await session.grant(...grantOf(next));
    const end = endOf(next, now) as typeof next;
    await session.grant(...grantOf(end));
    expect(await codeOf(session.sign(byPolicy(fresh(), 10_000n)))).toBe('signer.limit');
    // no date runs away from there
    expect(await codeOf(session.grant(...grantOf({ ...next, issuedAt: end.issuedAt + 3_600_001 })))).toBe(
      'signer.approval',
    );
  });
});
