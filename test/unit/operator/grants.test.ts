/** What the operator's program grants: limits that are what was asked for, shown in coins and in dollars. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ASSETS } from '../../../daemon/domain/assets.ts';
import { type AskedPolicy, GrantReview } from '../../../daemon/operator/grants.ts';
import { authorizing } from '../../../daemon/operator/keyholder.ts';
import type { Authorize } from '../../../daemon/operator/review.ts';
import { authorized } from '../../../daemon/wallet/operator-keys.ts';
import { type PolicyGrant, SEAL_AUTHORIZE } from '../../../daemon/wallet/signer/port.ts';
import { replyBox, seal } from '../../../daemon/wallet/signer/seal.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { codeOf, PASSPHRASE, walletFolder } from '../wallet/signer-kit.ts';

const NOW = Date.UTC(2030, 0);
const ASKED: AskedPolicy = { mode: 'automatic', per_withdrawal_usd: '100', per_day_usd: '500' };
const RATES = [
  { network: 'regtest', crypto: 'LTC', usd: 100 },
  { network: 'regtest', crypto: 'BTC', usd: '50000' },
  { network: 'mainnet', crypto: 'LTC', usd: 1 },
];
/** The other coins. */
const REST = ASSETS.map(({ symbol }) => symbol).filter((symbol) => symbol !== 'LTC' && symbol !== 'BTC');
const NOTHING = (symbol: string): string => `${symbol}: nothing without asking`;
const grants = (): PolicyGrant[] => [
  { ...common(), asset: 'LTC', perWithdrawal: '200000000', perDay: '1000000000' },
  { ...common(), asset: 'BTC', perWithdrawal: '400000', perDay: '2000000' },
  ...REST.map((asset) => ({ ...common(), asset, perWithdrawal: '0', perDay: '0' })),
];
const common = () => ({ network: 'regtest' as const, accountNo: 0, addresses: null as string[] | null, issuedAt: NOW });

let wallet: Awaited<ReturnType<typeof walletFolder>>;
beforeAll(async () => {
  wallet = await walletFolder();
});
afterAll(() => wallet.remove());
const authorize: Authorize = (wanted) => authorized(wallet.folder, PASSPHRASE, wanted);

const review = (given: unknown, asked = ASKED): GrantReview => {
  const made = GrantReview.of(given, asked, RATES, NOW);
  if (!made) throw new Error('nothing to grant');
  return made;
};

it('are shown in coins and dollars, each and in total', () => {
  expect(review(grants()).text()).toBe(
    [
      'regtest, account 0',
      'LTC: up to 2 LTC (200 USD) for one withdrawal, 10 LTC (1000 USD) in 24 hours with fees',
      "  at 1 LTC = 100 USD, by the service's word",
      '  to any address',
      'BTC: up to 0.004 BTC (200 USD) for one withdrawal, 0.02 BTC (1000 USD) in 24 hours with fees',
      "  at 1 BTC = 50000 USD, by the service's word",
      '  to any address',
      ...REST.map(NOTHING),
      'In total the wallet will sign up to 2000 USD in 24 hours without asking: each coin',
      'has a limit of its own, for twice the dollars, so that a rate that falls stops nothing.',
      'Fees go to whoever makes the block, whatever the addresses: each up to the limit for one withdrawal.',
      '',
    ].join('\n'),
  );
});

it('name every address', () => {
  const bound = grants().map((grant) => ({ ...grant, addresses: ['first', 'second'] }));
  expect(review(bound, { ...ASKED, address_book_only: true }).text()).toContain('  only to\n    first\n    second\n');
});

it('say against which coin the fees of a token count, and that each payment waits without a limit of it', () => {
  const rates = ['ETH', 'USDT_ERC20', 'PAXG', 'USDT_BEP20'].map((crypto) => ({ network: 'regtest', crypto, usd: 1 }));
  const limited = grants().map((grant) =>
    rates.some(({ crypto }) => crypto === grant.asset) ? { ...grant, perWithdrawal: '1', perDay: '1' } : grant,
  );
  const lines =
    GrantReview.of(limited, ASKED, [...RATES, ...rates], NOW)
      ?.text()
      .split('\n') ?? [];
  const after = (symbol: string) => lines[lines.findIndex((line) => line.startsWith(`${symbol}: up to`)) + 3];
  expect(after('USDT_ERC20')).toBe('  its fees count against ETH');
  expect(after('PAXG')).toBe('  its fees count against ETH');
  expect(after('USDT_BEP20')).toBe('  its fees are in BNB, so that each payment waits for you');
  expect(lines.filter((line) => line.startsWith('  its fees'))).toHaveLength(3);
});

it('by hand are nothing of each coin', () => {
  const nothing = grants().map((grant) => ({ ...grant, perWithdrawal: '0', perDay: '0' }));
  expect(review(nothing, { mode: 'manual' }).text()).toBe(
    `${['regtest, account 0', ...['LTC', 'BTC', ...REST].map(NOTHING)].join('\n')}\n`,
  );
});

describe('are refused with', () => {
  it.each<[string, (given: PolicyGrant[]) => unknown, AskedPolicy?]>([
    ['more coins than the dollars that were asked for', ([one]) => (one!.perDay = '1006000000')],
    ['more coins for one withdrawal', ([one]) => (one!.perWithdrawal = '900000000')],
    ['a coin without a rate', ([, , one]) => (one!.perDay = '1')],
    ['a coin left out, whose earlier limits would stay', (given) => given.pop()],
    ['a coin twice', (given) => given.push(given[0]!)],
    ['several accounts', ([one]) => (one!.accountNo = 1)],
    ['several networks', ([one]) => (one!.network = 'mainnet')],
    ['a date ahead, to be kept for later', ([one]) => (one!.issuedAt = NOW + 2 * 3_600_000)],
    ['a date long ago', ([one]) => (one!.issuedAt = 0)],
    ['addresses that nobody asked for', ([one]) => (one!.addresses = ['somebody'])],
    ['any address, where the address book was asked for', () => {}, { ...ASKED, address_book_only: true }],
    ['anything, where nothing was asked for', () => {}, { mode: 'manual' }],
    ['one more field', ([one]) => Object.assign(one!, { note: 'x' })],
  ])('%s', async (_, spoil, asked = ASKED) => {
    const given = grants();
    spoil(given);
    expect(await codeOf((async () => GrantReview.of(given, asked, RATES, NOW))())).toBe('review.differs');
  });
});

describe('for many addresses', () => {
  const bound = (count: number, length = 42) => {
    const addresses = Array.from({ length: count }, (_, at) => `${at}`.padEnd(length, 'x'));
    return grants().map((grant) => ({ ...grant, addresses }));
  };
  const asked = { ...ASKED, address_book_only: true };

  it('are sealed in as many boxes as they need', async () => {
    const { key } = await replyBox();
    const given = bound(1_000);
    const signed = await review(given, asked).signed(async (wanted) => {
      await seal(key, SEAL_AUTHORIZE, authorizing('\u{1f511}'.repeat(1_000), wanted));
      return { approvals: [], grants: wanted.grants.map((grant) => ('asset' in grant ? grant.asset : '')) };
    });
    expect(signed).toEqual(given.map((grant) => ({ grant, mac: grant.asset })));
  });

  it('that fit into no box are refused with the number that does', () => {
    expect(() => review(bound(1_000, 95), asked)).toThrow(/has 1000 addresses for LTC, and a limit has room for 57\d/);
  });
});

it('are taken by the signer, signed with the passphrase', async () => {
  const session = await Session.open(wallet.folder, PASSPHRASE, () => NOW);
  for (const { grant, mac } of await review(grants()).signed(authorize)) await session.grant(grant, mac);
  await session.close();
});
