/** Addresses that another program may have given out are not given out again, on whichever account of the words. */
import { expect, it } from 'vitest';
import type { Call, Params } from '../../../daemon/contract/operator.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { GAP } from '../../../daemon/domain/indices.ts';
import { openBusiness, openWithMonero } from '../../../daemon/operator/open-business.ts';

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

/** `fails`: what each attempt to add the business throws. */
async function withMonero(...fails: (Error & { status?: number })[]) {
  const steps: string[] = [];
  const call = (async (method: string, params: Params<'business.add'>) => {
    if (method === 'business.nextAccount')
      return { account_no: 4 + steps.filter((one) => one.startsWith('add')).length };
    steps.push(`add ${params.account_no} gap ${params.gap}`);
    const failed = fails.shift();
    if (failed) throw failed;
    return {};
  }) as unknown as Call;
  const note = (step: string) => async (_: string, accountNo: number) => void steps.push(`${step} ${accountNo}`);
  const ended = await openWithMonero(call, WANTED, async () => ({ accounts: {}, used: false }), {
    take: note('take'),
    drop: note('drop'),
  }).then(
    () => 'added',
    (error: Error) => error.message,
  );
  return [...steps, ended];
}

it('gives 25 words to the account that the business gets, and leaves them at no other', async () => {
  const taken = new Rejected('business.account', 'Taken');
  expect(await withMonero()).toEqual(['take 4', `add 4 gap ${GAP}`, 'added']);
  expect(await withMonero(taken)).toEqual([
    'take 4',
    `add 4 gap ${GAP}`,
    'drop 4',
    'take 5',
    `add 5 gap ${GAP}`,
    'added',
  ]);
  const refused = Object.assign(new Error('no such coin'), { status: 422 });
  expect(await withMonero(refused)).toEqual(['take 4', `add 4 gap ${GAP}`, 'drop 4', 'no such coin']);
  // without an answer the business may be there, with the key of these words
  expect(await withMonero(new Error('no answer'))).toEqual(['take 4', `add 4 gap ${GAP}`, 'no answer']);
});
