/** Addresses that another program may have given out are not given out again, on whichever account of the words. */
import { expect, it } from 'vitest';
import type { Call, Params } from '../../../daemon/contract/operator.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { GAP } from '../../../daemon/domain/indices.ts';
import { openBusiness } from '../../../daemon/operator/open-business.ts';

const KEY: Params<'business.add'>['key'] = { name: 'first key', scopes: ['invoices'] };
const WANTED = { name: 'Shop', network: 'regtest' as const, time_zone: 'UTC', key: KEY };
const BIRTHDAY = '2024-05-01T00:00:00.000Z';

/** `taken`: how many times another business takes the account's number first. */
async function added(
  wanted: Pick<Params<'business.add'>, 'gap' | 'birthday' | 'restore_height'>,
  used: boolean,
  taken = 0,
) {
  const derived: number[] = [];
  const sent: Params<'business.add'>[] = [];
  const call = (async (method: string, params: Params<'business.add'>) => {
    if (method === 'business.nextAccount') return { account_no: 4 + sent.length };
    sent.push(params);
    if (sent.length <= taken) throw new Rejected('business.account', 'Taken');
    return {};
  }) as unknown as Call;
  await openBusiness(call, { ...WANTED, ...wanted }, async (_, accountNo) => {
    derived.push(accountNo);
    return { accounts: {}, used };
  });
  return { derived, sent: sent.at(-1) };
}

it.each([
  { words: 'new', wanted: {}, used: false, past: {} },
  { words: 'new', wanted: { gap: 50 }, used: false, past: {} },
  { words: 'used', wanted: {}, used: true, past: { gap: GAP, birthday: null } },
  { words: 'used', wanted: { gap: 50, birthday: BIRTHDAY }, used: true, past: { gap: 50, birthday: BIRTHDAY } },
  {
    words: 'new, with a restore height',
    wanted: { restore_height: 7 },
    used: false,
    past: { gap: GAP, birthday: null, restore_height: 7 },
  },
  {
    words: 'new, with a birthday',
    wanted: { birthday: BIRTHDAY },
    used: false,
    past: { gap: GAP, birthday: BIRTHDAY },
  },
])('with words that are $words and $wanted sends $past', async ({ wanted, used, past }) => {
  expect(await added(wanted, used)).toEqual({
    derived: [4],
    sent: { ...WANTED, ...past, account_no: 4, accounts: {} },
  });
});

it('derives the next account when another business took the number', async () => {
  const { derived, sent } = await added({}, true, 1);
  expect(derived).toEqual([4, 5]);
  expect(sent).toMatchObject({ account_no: 5, gap: GAP });
});
