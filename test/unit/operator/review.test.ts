/** What the operator's program refuses to approve, and that it shows what it approves: the service lies in every field. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unsignedTransaction } from '../../../daemon/chains/utxo/spend/transaction.ts';
import { messageOf } from '../../../daemon/domain/messages.ts';
import {
  type Authorize,
  type Expected,
  type OperatorRequest,
  Review,
  type ReviewRequest,
} from '../../../daemon/operator/review.ts';
import { reviewText } from '../../../daemon/operator/text.ts';
import { type Preview, viewOf } from '../../../daemon/operator/view.ts';
import { authorized } from '../../../daemon/wallet/operator-keys.ts';
import { ADDRESS_SELF, type Intent, type SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { DESTINATIONS } from '../chains/spend-kit.ts';
import {
  approve as approveIntent,
  codeOf,
  own,
  PASSPHRASE,
  payment,
  useClock,
  walletFolder,
} from '../wallet/signer-kit.ts';

const NOW = Date.UTC(2030, 0);
const HOUR = 3_600_000;

let wallet: Awaited<ReturnType<typeof walletFolder>>;
beforeAll(async () => {
  useClock(() => NOW);
  wallet = await walletFolder();
});
afterAll(async () => {
  // other files of this process approve by the machine's clock
  useClock(Date.now);
  await wallet.remove();
});
const authorize: Authorize = (wanted) => authorized(wallet.folder, PASSPHRASE, wanted);

type Order = ReturnType<typeof payment>;
type Lie = ReviewRequest & { intents: Intent[] };

/** What an honest service gives for an order. */
function given(order: Order, purpose: ReviewRequest['purpose'] = 'pay'): Lie {
  return {
    purpose,
    intents: order.withdrawals.map(({ intent }) => structuredClone(intent)),
    raw: unsignedTransaction(order.plan),
    outputs: order.plan.outputs.map((output) => ({ change_index: output.kind === 'change' ? output.index : null })),
    until: NOW + 7 * 24 * HOUR,
  };
}

const APPROVE: OperatorRequest = { kind: 'approve' };
/** What the service states besides. */
const said = {
  crypto: 'LTC',
  fee_crypto: 'LTC',
  usd_rate: '100',
  fee: '0.00002',
  inputs: [],
  speeds: [],
  warnings: [],
  notes: [],
};
const textOf = (made: Review, more: object = {}): string => {
  const view = viewOf(made, { ...said, ...more } as unknown as Preview);
  const parts = [...(view.kind === 'payment' ? view.payments.map(({ now }) => now) : []), ...view.before, view.fee];
  expect(view.takes.units).toBe(
    [...parts, ...(view.back ? [view.back] : [])].reduce((sum, { units }) => sum + units, 0n),
  );
  return reviewText(view);
};
const review = (lie: ReviewRequest, asked: OperatorRequest = APPROVE): Review => {
  const made = Review.of(lie, asked, NOW);
  if (!made) throw new Error('nothing to approve');
  return made;
};
const refusal = (lie: ReviewRequest, asked: OperatorRequest = APPROVE): Promise<string> =>
  codeOf((async () => Review.of(lie, asked, NOW))());

it('a transaction that needs no approval is shown as the statement of the service, whatever its network', () => {
  const stated = { ...said, purpose: 'cancel', outputs: [], until: NOW, fee_max: '0.0001' } as unknown as Preview;
  expect(reviewText(viewOf(null, stated)).split('\n')[0]).toBe("All of this by the service's word, a cancellation");
});

describe('a payment', () => {
  it('is shown as it is signed for, every number from what the approval is made over', () => {
    const order = payment('LTC', ['one']);
    const { address } = order.withdrawals[0]!.intent;
    expect(textOf(review(given(order)))).toBe(
      [
        'LTC, regtest, account 0',
        '0.4 LTC (40 USD) to',
        `  ${address}`,
        `  ${address.match(/.{1,4}/g)!.join(' ')}`,
        '1.09998 LTC (110 USD) back to this wallet',
        "Fee: at most 0.00005 LTC (0.01 USD); now 0.00002 LTC by the service's word",
        'Holds until 2030-01-08T00:00:00.000Z',
        "Dollars at 1 LTC = 100 USD, by the service's word",
        '',
      ].join('\n'),
    );
  });

  it('is shown in the currency of the reader, in cents that add up', () => {
    const made = review(given(payment('LTC', ['in-euros'])));
    const view = viewOf(made, said as unknown as Preview, null, { currency: 'EUR', perDollar: '0.92345678' });
    const worth = (sum: { worth: string | null } | null): string | null => sum?.worth ?? null;
    // 0.4 and 1.09998 LTC at 92.345678 euros, each rounded up
    expect([view.currency, view.rate, worth(view.paid), worth(view.back), worth(view.fee), worth(view.takes)]).toEqual([
      'EUR',
      '92.35',
      '36.94',
      '101.58',
      '0.01',
      '138.53',
    ]);
    const unknown = viewOf(made, { ...said, usd_rate: null } as unknown as Preview, null, {
      currency: 'EUR',
      perDollar: '0.9',
    });
    expect([unknown.rate, worth(unknown.paid)]).toEqual([null, null]);
  });

  it('is approved so that the signer signs it', async () => {
    const order: SignOrder = payment('LTC', ['signed']);
    const [approval] = await review(given(order as Order)).approvals(authorize);
    order.withdrawals[0]!.approval = { by: 'operator', until: approval!.until, mac: approval!.mac! };
    const session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
    expect((await session.sign(order)).fee).toBe(2_000n);
    await session.close();
  });

  it.each(['speed-up', 'cancel'] as const)('begins by no approval that was asked for as a %s', async (kind) => {
    // the service names a payment that was never signed, where another one was to take the place of an earlier one
    const order = payment('LTC', [`never-signed-${kind}`]);
    const { intent } = order.withdrawals[0]!;
    const [approval] = await review(given(order), { kind }).approvals(authorize);
    const replacing = { by: 'operator' as const, until: approval!.until, mac: approval!.mac! };
    const session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
    expect(await codeOf(session.sign({ ...order, withdrawals: [{ intent, approval: replacing }] }))).toBe(
      'signer.approval',
    );
    // of what was signed it raises the fee
    const low = { ...intent, feeMax: '2000' };
    const asPayment = approveIntent(low, NOW + 7 * 24 * HOUR);
    await session.sign({ ...order, withdrawals: [{ intent: low, approval: asPayment }] });
    const dearer = structuredClone(order);
    dearer.plan.outputs.find(({ kind: of }) => of === 'change')!.units -= 3_000n;
    dearer.plan.fee += 3_000n;
    dearer.withdrawals = [{ intent, approval: replacing }];
    expect((await session.sign(dearer)).fee).toBe(5_000n);
    await session.close();
  });

  it('that a restored wallet does not know is approved anew, as all that it pays', async () => {
    const order = payment('LTC', ['unknown-one', 'unknown-other']);
    const session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
    const signed = async (kind: 'speed-up' | 'anew') => {
      const macs = await review(given(order), { kind }).approvals(authorize);
      const withdrawals = order.withdrawals.map(({ intent }, at) => {
        const { until, mac } = macs[at]!;
        return { intent, approval: { by: 'operator' as const, until, mac: mac! } };
      });
      return session.sign({ ...order, withdrawals });
    };
    await expect(signed('speed-up')).rejects.toThrow('it has to be approved anew');
    expect((await signed('anew')).fee).toBe(order.plan.fee);
    await session.close();
  });

  it.each<[string, (lie: Lie) => unknown]>([
    ['pays somebody whom the approval does not name', (lie) => lie.intents.pop()],
    ['cancels something', (lie) => (lie.purpose = 'cancel')],
  ])('is not approved anew where it %s', async (_, spoil) => {
    const lie = given(payment('LTC', ['named', 'not-named']));
    spoil(lie);
    expect(await refusal(lie, { kind: 'anew' })).toBe('review.differs');
  });

  const other = (): Order => payment('LTC', ['other'], 140_000_000n);
  it.each<[string, string, (lie: Lie) => unknown]>([
    ['review.differs', 'another amount in the approval', (lie) => (lie.intents[0]!.units = '140000000')],
    ['review.differs', 'another address in the approval', (lie) => (lie.intents[0]!.address = DESTINATIONS.LTC[1]!)],
    ['review.differs', 'an address of another chain', (lie) => (lie.intents[0]!.address = DESTINATIONS.BTC[0]!)],
    ['review.differs', 'another transaction', (lie) => (lie.raw = unsignedTransaction(other().plan))],
    ['review.differs', 'no transaction', (lie) => (lie.raw = null)],
    ['review.differs', 'something after the transaction', (lie) => (lie.raw += '00')],
    ['review.differs', 'what is no transaction', (lie) => (lie.raw = 'ff')],
    ['review.differs', 'one more payment', (lie) => lie.intents.push({ ...lie.intents[0]!, uuid: 'more' })],
    ['review.differs', 'the same payment twice', (lie) => lie.intents.push(lie.intents[0]!)],
    ['review.differs', 'another asset', (lie) => (lie.intents[0]!.asset = 'BTC')],
    ['review.differs', 'another network', (lie) => (lie.intents[0]!.network = 'mainnet')],
    [
      'review.differs',
      'a chain that cannot be checked',
      (lie) => Object.assign(lie.intents[0]!, { chain: 'ETH', asset: 'ETH' }),
    ],
    ['review.differs', 'everything in place of an amount', (lie) => (lie.intents[0]!.sweep = true)],
    ['review.differs', 'coins that are not spent', (lie) => (lie.intents[0]!.coins = [`${'a'.repeat(64)}:0`])],
    ['review.differs', 'a cancellation', (lie) => (lie.purpose = 'cancel')],
    ['review.differs', 'a fee beyond the limit', (lie) => (lie.intents[0]!.feeMax = '5000000')],
    ['review.differs', 'an amount in another spelling', (lie) => (lie.intents[0]!.units = '040000000')],
    ['review.differs', 'an amount below zero', (lie) => (lie.intents[0]!.units = '-40000000')],
    ['review.differs', 'a name that repaints a terminal', (lie) => (lie.intents[0]!.uuid = '\u001b[2Jw')],
    ['review.differs', 'one more field', (lie) => Object.assign(lie.intents[0]!, { note: 'x' })],
    [
      'review.differs',
      'a payment called change that stands as one already',
      (lie) => (lie.outputs[0]!.change_index = 3),
    ],
    ['review.differs', 'no change where there is some', (lie) => (lie.outputs[1]!.change_index = null)],
    ['signer.approval', 'an end that is over', (lie) => (lie.until = NOW)],
    ['signer.approval', 'no end in sight', (lie) => (lie.until = NOW + 8 * 24 * HOUR)],
  ])('is refused with %s: %s', async (code, _, spoil) => {
    const lie = given(payment('LTC', ['one']));
    spoil(lie);
    expect(await refusal(lie)).toBe(code);
  });

  it('is not approved when its change is not ours', async () => {
    const order = payment('LTC', ['stolen']);
    const change = order.plan.outputs[1]!;
    change.script = own('LTC', 1, 4).script;
    expect(await codeOf(review(given(order)).approvals(authorize))).toBe('review.differs');
  });

  it('is shown without what a terminal obeys, whatever the service warns of', () => {
    const made = review(given(payment('LTC', ['one'])));
    const text = textOf(made, {
      warnings: [{ code: 'new_address', text: messageOf('\u202ea\nb') }],
    });
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}/u);
  });

  it.each(['1\u001b[2J', '0.000000001'])('is not shown with a fee that is no amount, %j', (fee) => {
    const made = review(given(payment('LTC', ['one'])));
    expect(() => textOf(made, { fee })).toThrow('is no amount of LTC');
  });

  it('of the sandbox has nothing to approve with', () => {
    const order = payment('LTC', ['play'], 40_000_000n, 'sandbox');
    expect(Review.of(given(order), APPROVE, NOW)).toBeNull();
    const mixed = { ...given(order), intents: [...given(order).intents, ...given(payment('LTC', ['real'])).intents] };
    expect(() => Review.of(mixed, APPROVE, NOW)).toThrow('several networks');
  });
});

describe('what was asked for', () => {
  const batch = (): Lie => given(payment('LTC', ['a', 'b'], 20_000_000n));
  it.each<[string, OperatorRequest, Lie]>([
    ['one payment, and two are named', APPROVE, batch()],
    ['three payments, and two are named', { kind: 'batch', count: 3 }, batch()],
    ['a bump, and somebody is paid', { kind: 'bump', outpoint: `${'a'.repeat(64)}:0` }, given(payment('LTC', ['a']))],
  ])('%s', async (_, asked, lie) => {
    expect(await refusal(lie, asked)).toBe('review.differs');
  });

  it.each([
    ['all of it', ['0.2', '0.2'], null],
    ['another amount', ['0.2', '0.3'], /0.2 LTC, and not 0.3/],
    ['a payment that is not there', ['0.2', '0.2', '0.2'], /does not pay/],
    ['one payment of two', ['0.2'], /which is not named/],
  ] as const)('a batch of which the operator named %s', (_, amounts, refusal) => {
    const lie = batch();
    const addresses = DESTINATIONS.LTC;
    const payments = amounts.map((amount, i) => ({ to: addresses[i] ?? '', amount }));
    const look = () => review(lie, { kind: 'batch', count: 2, payments });
    if (refusal === null) expect(look()?.payments).toHaveLength(2);
    else expect(look).toThrow(refusal);
  });

  it('a batch is shown whole', () => {
    const text = textOf(review(batch(), { kind: 'batch', count: 2 }));
    for (const address of DESTINATIONS.LTC.slice(0, 2)) expect(text).toContain(`  ${address}\n`);
  });

  it('a replacement may pay whom it paid before, and says so; a first payment may not', async () => {
    const lie = batch();
    lie.intents.pop();
    expect(textOf(review(lie, { kind: 'speed-up' }))).toContain('0.2 LTC (20 USD) to somebody as approved before');
    expect(await refusal(lie)).toBe('review.differs');
  });
});

describe('what the operator expects', () => {
  const order = payment('LTC', ['expected']);
  const to = order.withdrawals[0]!.intent.address;
  const approve = (expected: Expected, lie = given(order)) => refusal(lie, { kind: 'approve', expected });
  it.each<[string, Expected]>([
    ['the address and the amount', { to, amount: '0.4' }],
    ['an amount in another spelling', { amount: '0.400' }],
    ['another spelling of the address', { to: to.toUpperCase() }],
  ])('is approved: %s', (_, expected) => {
    expect(review(given(order), { kind: 'approve', expected }).payments).toMatchObject([{ address: to }]);
  });
  it.each<[string, Expected]>([
    ['another address', { to: DESTINATIONS.LTC[1]!, amount: '0.4' }],
    ['less', { to, amount: '0.39999999' }],
    ['more', { to, amount: '0.40000001' }],
    ['more digits than the coin has', { to, amount: '0.400000001' }],
    ['no amount', { amount: '' }],
    ['no address', { to: '' }],
  ])('is refused: %s', async (_, expected) => {
    expect(await approve(expected)).toBe('review.unexpected');
  });

  it('is asked of the sandbox too, and of what names nothing', async () => {
    const play = given(payment('LTC', ['play'], 40_000_000n, 'sandbox'));
    expect(await approve({ amount: '0.5' }, play)).toBe('review.unexpected');
    expect(await approve({ amount: '0.4' }, { ...play, intents: [] })).toBe('review.unexpected');
  });
});

it("no approval holds longer than seven days by the operator's own clock", () => {
  const lie = { ...given(payment('LTC', ['long'])), until: NOW + 7 * 24 * HOUR + HOUR };
  expect(review(lie).until).toBe(NOW + 7 * 24 * HOUR);
});

/** To ourselves alone. */
function toSelf(uuid: string): Order {
  const order = payment('LTC', [uuid]);
  order.plan.inputs.splice(1);
  order.plan.outputs = [{ kind: 'change', ...own('LTC', 1, 3), index: 3, units: 49_998_000n }];
  return order;
}

describe('a cancellation', () => {
  it('says what is not paid, and is approved for nothing else', async () => {
    const lie = given(toSelf('gone'), 'cancel');
    const text = textOf(review(lie, { kind: 'cancel' }));
    expect(text).toContain('LTC, regtest, account 0, a cancellation\nnot paid any more: 0.4 LTC (40 USD)\n');
    expect(text).toContain('0.49998 LTC (50 USD) back to this wallet');
    expect(await refusal(lie)).toBe('review.differs');
    const pays = given(payment('LTC', ['gone']), 'cancel');
    expect(await refusal(pays, { kind: 'cancel' })).toBe('review.differs');
  });

  it.each([
    ['sweep', false],
    ['refund', true],
  ])('of a %s gives back what would have left', (_, bound) => {
    const order = toSelf('gone');
    const lie = given(order, 'cancel');
    Object.assign(lie.intents[0]!, { sweep: true, coins: bound ? [order.plan.inputs[0]!.outpoint] : null });
    const made = review(lie, { kind: 'cancel' });
    expect([made.payments.map(({ now }) => now), made.back]).toEqual([[0n], 49_998_000n]);
  });
});

describe('a payment of a deposit to ourselves', () => {
  const bump = (): { order: Order; outpoint: string; lie: Lie } => {
    const order = toSelf('bump');
    const { outpoint } = order.plan.inputs[0]!;
    const lie = given(order);
    Object.assign(lie.intents[0]!, { address: ADDRESS_SELF, units: '0', coins: [outpoint] });
    return { order, outpoint, lie };
  };

  it('warns of a fee that is high for what comes back', () => {
    const { outpoint, lie } = bump();
    const text = () => textOf(review(lie, { kind: 'bump', outpoint }));
    expect(text()).not.toContain('WARNING');
    lie.intents[0]!.feeMax = '2600000';
    expect(text()).toContain('WARNING: The fee may be more than 5 % of what is moved.');
  });

  it('names the deposit that was asked about, and no other', async () => {
    const { outpoint, lie } = bump();
    expect(textOf(review(lie, { kind: 'bump', outpoint }))).toContain(`Of these coins alone:\n  ${outpoint}\n`);
    expect(await refusal(lie, { kind: 'bump', outpoint: `${'a'.repeat(64)}:0` })).toBe('review.differs');
    lie.intents[0]!.coins = null;
    expect(await refusal(lie, { kind: 'bump', outpoint })).toBe('review.differs');
  });
});

describe('a sweep', () => {
  const sweep = (): Lie => {
    const order = payment('LTC', ['sweep']);
    order.plan.outputs = [{ ...order.plan.outputs[0]!, units: 149_998_000n }];
    const lie = given(order);
    Object.assign(lie.intents[0]!, { units: '150000000', sweep: true });
    return lie;
  };

  it('shows the most that it may give, and what it gives now', () => {
    expect(textOf(review(sweep()))).toContain('up to 1.5 LTC (150 USD), now 1.49998 LTC (150 USD), to\n');
  });

  it('may be expected to give more, and not less', async () => {
    const asked = (amount: string): OperatorRequest => ({ kind: 'approve', expected: { amount } });
    expect(review(sweep(), asked('1.5')).payments).toMatchObject([{ units: 150_000_000n, upTo: true }]);
    expect(await refusal(sweep(), asked('1.49999999'))).toBe('review.unexpected');
  });

  it('is refused when it gives more than that', async () => {
    const lie = sweep();
    lie.intents[0]!.units = '149997999';
    expect(await refusal(lie)).toBe('review.differs');
  });
});
