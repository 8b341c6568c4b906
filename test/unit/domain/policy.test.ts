import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../../daemon/domain/messages.ts';
import {
  inGroups,
  isFeeHigh,
  lookalikeKeyOf,
  MANUAL,
  type Policy,
  type PolicyCase,
  sharesOneEnd,
  WITHOUT_ASKING,
  whyAsk,
} from '../../../daemon/domain/policy.ts';

const LIMITED: Policy = { mode: 'automatic', perWithdrawalUsd: 100n, perDayUsd: 250n, addressBookOnly: false };
const CASE: PolicyCase = { usd: 100n, usedUsd: 150n, inAddressBook: false, isDoubtful: false };

describe('what a policy lets go', () => {
  it.each<[what: string, policy: Policy, over: Partial<PolicyCase>, why: RegExp | null]>([
    ['by hand: nothing', MANUAL, {}, /by hand/],
    ['without asking: anything', WITHOUT_ASKING, { usd: null }, null],
    ['exactly both limits', LIMITED, {}, null],
    ['one unit above the limit per withdrawal', LIMITED, { usd: 101n, usedUsd: 0n }, /per withdrawal/],
    ['one unit above the limit per day', LIMITED, { usedUsd: 151n }, /24 hours/],
    ['an unknown worth', LIMITED, { usd: null }, /no rate/],
    ['nobody of the address book', { ...LIMITED, addressBookOnly: true }, {}, /address book/],
    ['somebody of the address book', { ...LIMITED, addressBookOnly: true }, { inAddressBook: true }, null],
    ['an address like another one', LIMITED, { isDoubtful: true }, /begins and ends like/],
    ['an address like another one, without limits', WITHOUT_ASKING, { isDoubtful: true }, /begins and ends like/],
    ['an unknown worth, with a limit per withdrawal alone', { ...LIMITED, perDayUsd: null }, { usd: null }, /no rate/],
    ['an unknown worth, with a limit per day alone', { ...LIMITED, perWithdrawalUsd: null }, { usd: null }, /no rate/],
    ['anything within the day, without a limit per withdrawal', { ...LIMITED, perWithdrawalUsd: null }, {}, null],
    ['more than the day, the same', { ...LIMITED, perWithdrawalUsd: null }, { usedUsd: 151n }, /24 hours/],
    ['an unlimited day', { ...LIMITED, perDayUsd: null }, { usedUsd: 10_000n }, null],
  ])('%s', (_, policy, over, why) => {
    const said = whyAsk(policy, { ...CASE, ...over });
    if (why === null) expect(said).toBeNull();
    else expect(said && textOf(said)).toMatch(why);
  });

  it('never more than its limit in a window, whatever is asked for', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 1n, max: 200n })), (asked) => {
        let usedUsd = 0n;
        for (const usd of asked) if (whyAsk(LIMITED, { ...CASE, usd, usedUsd }) === null) usedUsd += usd;
        expect(usedUsd).toBeLessThanOrEqual(250n);
      }),
    );
  });
});

describe('an address', () => {
  it.each([
    ['bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq', 'ar0…mdq'],
    ['bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'pm2…x6a'],
    ['0x52908400098527886E0F7030069857D2E4169EE7', '529…ee7'],
    ['ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9', 'w50…4n9'],
    ['1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', 'bvb…vn2'],
  ])('%s has the lookalike key %s', (address, key) => {
    expect(lookalikeKeyOf(address)).toBe(key);
  });

  it('that is made to look like another has its lookalike key', () => {
    expect(lookalikeKeyOf('bc1qar0zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzmdq')).toBe(
      lookalikeKeyOf('bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'),
    );
  });

  it.each([
    ['ar0…mdq', 'ar0…mdp', true],
    ['ar0…mdq', 'ar2…mdq', true],
    ['ar0…mdq', 'ar0…mdq', false],
    ['ar0…mdq', 'ar2…mdp', false],
  ])('%s and %s share one end alone: %s', (one, other, expected) => {
    expect(sharesOneEnd(one, other)).toBe(expected);
    expect(sharesOneEnd(other, one)).toBe(expected);
  });

  it('in groups is the whole address', () => {
    expect(inGroups('bc1qar0srrr7x').join(' ')).toBe('bc1q ar0s rrr7 x');
    expect(inGroups('bitcoincash:qpm2qsznh').join(' ')).toBe('bitcoincash: qpm2 qszn h');
    expect(inGroups('0x52908400098').join(' ')).toBe('0x 5290 8400 098');
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{1,90}$/), (text) => {
        expect(inGroups(text).join('')).toBe(text);
      }),
    );
  });
});

describe('a fee', () => {
  it.each([
    [5n, 100n, false],
    [6n, 100n, true],
    [1n, 19n, true],
    [1n, 20n, false],
    [0n, 0n, false],
  ])('of %s for %s is high: %s', (fee, amount, high) => {
    expect(isFeeHigh(fee, amount)).toBe(high);
  });
});
