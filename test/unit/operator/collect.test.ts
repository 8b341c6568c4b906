/** A payment whose money is collected first: what the operator's program shows, what it signs, and what it refuses. */
import { describe, expect, it } from 'vitest';
import {
  type Authorize,
  type Expected,
  type GivenCollect,
  type OperatorRequest,
  Review,
  type ReviewRequest,
} from '../../../daemon/operator/review.ts';
import { reviewText } from '../../../daemon/operator/text.ts';
import { type Collect, type Preview, viewOf } from '../../../daemon/operator/view.ts';
import { ADDRESS_SELF, type Authorization, type Intent } from '../../../daemon/wallet/signer/port.ts';

const NOW = Date.UTC(2030, 0);
const DAY = 24 * 3_600_000;
const TO = '0x52908400098527886E0F7030069857D2E4169EE7';
const APPROVE: OperatorRequest = { kind: 'approve' };

const INTENT: Intent = {
  uuid: 'one',
  network: 'regtest',
  accountNo: 3,
  chain: 'ETH',
  asset: 'USDT_ERC20',
  address: TO,
  units: '90000000',
  sweep: false,
  coins: null,
  feeMax: '2000000000000000',
  feeAsset: 'ETH',
};
const COLLECT: GivenCollect = { fee_max: '3000000000000000', until: NOW + 7 * DAY };

const given = (intent: Intent = INTENT): ReviewRequest => ({
  purpose: 'pay',
  intents: [intent],
  raw: null,
  outputs: [{ change_index: null }],
  until: NOW + 7 * DAY,
});

const said = {
  crypto: 'USDT_ERC20',
  fee_crypto: 'ETH',
  usd_rate: '1',
  fee: '0.001',
  inputs: [],
  speeds: [],
  warnings: [],
  notes: [],
} as unknown as Preview;
const stated = {
  chain: 'ETH',
  coin: 'ETH',
  addresses: 2,
  cost: '0.0015',
  ...COLLECT,
  needs: { amount: '0.001', address: TO, text: `needs 0.001 ETH for gas; send it to ${TO}` },
} as Collect;

describe('a payment that is collected for', () => {
  it('is shown with its recipient, its amount, and all that it may cost', () => {
    const review = Review.of(given(), APPROVE, NOW, COLLECT);
    expect(reviewText(viewOf(review, said, stated))).toBe(
      [
        'ETH, regtest, account 3',
        '90 USDT_ERC20 (90 USD) to',
        `  ${TO}`,
        `  0x ${TO.slice(2)
          .match(/.{1,4}/g)!
          .join(' ')}`,
        "Fee: at most 0.002 ETH; now 0.001 ETH by the service's word",
        "No single address can pay it: 2 are collected first, by the service's word.",
        'For that the wallet may move money between its own addresses, for at most 0.003 ETH in fees',
        'until 2030-01-08T00:00:00.000Z. It pays nobody else.',
        'All fees together: at most 0.005 ETH',
        `Before that it needs 0.001 ETH for gas; send it to ${TO}.`,
        'Holds until 2030-01-08T00:00:00.000Z',
        "Dollars at 1 USDT_ERC20 = 1 USD, by the service's word",
        '',
      ].join('\n'),
    );
  });

  it('says of everything how much it may be', () => {
    const review = Review.of(given({ ...INTENT, sweep: true }), APPROVE, NOW, COLLECT);
    const text = reviewText(viewOf(review, said, stated));
    expect(text).toContain('up to 90 USDT_ERC20 (90 USD), now 90 USDT_ERC20 (90 USD), to\n');
    expect(text).toContain("It is on several addresses: 2 are collected first, by the service's word.");
  });

  it.each([
    { cost: 'a hundredth', fee_max: '10000000000000000', warns: false },
    { cost: 'a tenth', fee_max: '100000000000000000', warns: true },
  ])('is warned of when the fees of both are $cost of the same coin', ({ fee_max, warns }) => {
    const collect = { ...COLLECT, fee_max };
    const inEther: Intent = { ...INTENT, asset: 'ETH', units: `${10n ** 18n}`, feeAsset: 'ETH' };
    const review = Review.of(given(inEther), APPROVE, NOW, collect);
    const view = viewOf(review, { ...said, crypto: 'ETH' }, { ...stated, ...collect });
    expect(view.isFeeHigh).toBe(warns);
    expect(reviewText(view).includes('WARNING: The fee may be more than 5 %')).toBe(warns);
  });

  it('is approved together with the grant for its own account, with one passphrase', async () => {
    const asked: Authorization[] = [];
    const authorize: Authorize = async (wanted) => {
      asked.push(wanted);
      return { approvals: ['a'.repeat(64)], grants: ['b'.repeat(64)] };
    };
    const { approvals, gas } = await Review.of(given(), APPROVE, NOW, COLLECT)!.signed(authorize);
    const grant = {
      kind: 'gas',
      network: 'regtest',
      accountNo: 3,
      chain: 'ETH',
      feeMax: COLLECT.fee_max,
      until: COLLECT.until,
      issuedAt: NOW,
    };
    expect(asked).toEqual([
      { approvals: [{ purpose: 'pay', intent: INTENT, until: NOW + 7 * DAY }], change: null, grants: [grant] },
    ]);
    expect(approvals).toEqual([expect.objectContaining({ uuid: 'one', fee_max: INTENT.feeMax, mac: 'a'.repeat(64) })]);
    expect(gas).toEqual({ grant, mac: 'b'.repeat(64) });
  });

  it.each<[string, ReviewRequest, OperatorRequest, GivenCollect | null]>([
    ['no bytes and nothing to collect', given(), APPROVE, null],
    ['a grant without an end', given(), APPROVE, { ...COLLECT, until: NOW + 32 * DAY }],
    ['a grant that is over', given(), APPROVE, { ...COLLECT, until: NOW }],
    ['a cost that is no amount', given(), APPROVE, { ...COLLECT, fee_max: '-1' }],
    ['everything without a highest amount', given({ ...INTENT, sweep: true, units: '0' }), APPROVE, COLLECT],
    ['a payment to ourselves', given({ ...INTENT, address: ADDRESS_SELF }), APPROVE, COLLECT],
    ['what is no address', given({ ...INTENT, address: TO.slice(0, -1) }), APPROVE, COLLECT],
    ['a chain of coins', given({ ...INTENT, chain: 'LTC', asset: 'LTC', feeAsset: 'LTC' }), APPROVE, COLLECT],
    ['a replacement', given(), { kind: 'speed-up' }, COLLECT],
    ['another recipient than is expected', given(), { kind: 'approve', expected: { to: '0x0' } }, COLLECT],
  ])('is refused with %s', (_, lie, asked, collect) => {
    expect(() => Review.of(lie, asked, NOW, collect)).toThrow(/Nothing was approved/);
  });
});

describe('an address that several coins share', () => {
  const approve = (intent: Partial<Intent>, expected: Expected) =>
    Review.of(given({ ...INTENT, ...intent }), { kind: 'approve', expected }, NOW, COLLECT);
  const inEther = { asset: 'ETH', feeAsset: undefined, units: `${90n * 10n ** 18n}` } as const;
  const onOtherChain = { chain: 'BSC', asset: 'USDT_BEP20', feeAsset: 'BNB', units: `${90n * 10n ** 18n}` } as const;

  it('is paid in the coin that is expected', () => {
    const expected = { to: TO, amount: '90', crypto: 'USDT_ERC20' };
    expect(approve({}, expected)?.payments).toMatchObject([{ address: TO }]);
    expect(approve({}, { to: TO })?.payments).toMatchObject([{ address: TO }]);
  });

  it.each<[string, Partial<Intent>]>([
    ['the coin of its chain', inEther],
    ['another token', { asset: 'XAUT' }],
    ['the token of the same name on another chain', onOtherChain],
  ])('is not paid in %s, as many of them', (_, intent) => {
    expect(() => approve(intent, { to: TO, amount: '90', crypto: 'USDT_ERC20' })).toThrow(', and not USDT_ERC20');
    expect(() => approve(intent, { to: TO, amount: '90' })).toThrow('several coins');
  });
});
