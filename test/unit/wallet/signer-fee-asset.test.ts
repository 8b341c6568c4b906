/** A fee in another asset than what is paid: what is approved, counted and refused. */
import { describe, expect, it } from 'vitest';
import type { SandboxPlan } from '../../../daemon/domain/spend.ts';
import { identityText, intentMac } from '../../../daemon/wallet/signer/approval.ts';
import { FeeCover } from '../../../daemon/wallet/signer/fee-cover.ts';
import { judgeWithdrawals, type Memory, type Moved, subjectOf } from '../../../daemon/wallet/signer/permission.ts';
import type { Intent, PolicyGrant, SandboxOrder, SignOrder } from '../../../daemon/wallet/signer/port.ts';
import { SignedChanges } from '../../../daemon/wallet/signer/signed-changes.ts';
import { judgeSimulated } from '../../../daemon/wallet/signer/simulated.ts';
import { codeOf } from './signer-kit.ts';

const KEY = Buffer.alloc(32, 1);
const intent: Intent = {
  uuid: 'w',
  network: 'sandbox',
  accountNo: 0,
  chain: 'ETH',
  asset: 'USDT_ERC20',
  address: '0xabc',
  units: '50',
  sweep: false,
  coins: null,
  feeMax: '9',
  feeAsset: 'ETH',
};
const plain: Intent = { ...intent, chain: 'BTC', asset: 'BTC' };
delete plain.feeAsset;

const moved: Moved = {
  network: 'regtest',
  chain: 'ETH',
  accountNo: 0,
  asset: 'USDT_ERC20',
  fee: 5n,
  feeAsset: 'ETH',
  conflictKeys: ['0xabc:7'],
};
const grant = (asset: PolicyGrant['asset'], perDay: string, perWithdrawal = '100'): PolicyGrant => ({
  network: 'regtest',
  accountNo: 0,
  asset,
  perWithdrawal,
  perDay,
  addresses: null,
  issuedAt: 0,
});
const order = (given: Intent): SignOrder =>
  ({ purpose: 'pay', withdrawals: [{ intent: given, approval: { by: 'policy' } }] }) as unknown as SignOrder;

function judged(grants: PolicyGrant[], spent: Memory['policySpends'] = [], given: Partial<Intent> = {}) {
  const memory: Memory = {
    signed: new Map(),
    policySpends: spent,
    epochs: [null],
    gasGrants: new Map(),
    forwardGrants: new Map(),
    forwardIndices: { next: (_key: string, from: number) => from },
    tanks: new Map(),
    gasUsed: new Map(),
    changes: new SignedChanges(),
    isFresh: false,
    policyFees: new FeeCover(),
    gasFunded: new Map(),
    fundedBefore: new Map(),
    grants: new Map(grants.map((one) => [subjectOf(one), one])),
  };
  const real: Intent = { ...intent, network: 'regtest', ...given };
  return () => judgeWithdrawals(order(real), moved, { memory, now: 1_000, isApproved: () => false });
}
const refusal = (call: () => unknown): Promise<string> => codeOf(Promise.resolve().then(call));

describe('an approval', () => {
  it('of an intent that names no asset of its fee is as before, and means the asset that is paid', () => {
    const mac = intentMac(KEY, null, 'pay', plain, 7);
    expect(intentMac(KEY, null, 'pay', { ...plain, feeAsset: 'BTC' }, 7)).toBe(mac);
    expect(intentMac(KEY, null, 'pay', { ...plain, feeAsset: 'ETH' }, 7)).not.toBe(mac);
    expect(identityText({ ...plain, feeAsset: 'ETH' })).toBe(identityText(plain));
  });

  it.each([
    ['names no asset of its fee', { feeAsset: undefined }],
    ['names another one', { feeAsset: 'BNB' as const }],
  ])('that %s is none of a token', async (_, given) => {
    expect(await refusal(judged([grant('USDT_ERC20', '100'), grant('ETH', '100')], [], given))).toBe('signer.differs');
  });
});

describe('a policy', () => {
  it('counts the amount and the fee, each against the grant of its own asset', () => {
    expect(judged([grant('USDT_ERC20', '50'), grant('ETH', '5')])()).toMatchObject({
      spent: { subject: 'regtest/0/USDT_ERC20', units: 50n },
      spentFee: { subject: 'regtest/0/ETH', units: 5n },
    });
  });

  it.each([
    ['nothing was granted for the fee', [grant('USDT_ERC20', '50')], []],
    ['the fee is above its limit for one withdrawal', [grant('USDT_ERC20', '50'), grant('ETH', '100', '4')], []],
    ['the fee is above its grant', [grant('USDT_ERC20', '50'), grant('ETH', '4')], []],
    [
      'fees of the day used its grant up',
      [grant('USDT_ERC20', '50'), grant('ETH', '9')],
      [{ at: 1, subject: 'regtest/0/ETH', units: 5n }],
    ],
    ['the amount is above its grant', [grant('USDT_ERC20', '49'), grant('ETH', '5')], []],
  ])('asks the operator when %s', async (_, grants, spent) => {
    expect(await refusal(judged(grants, spent))).toBe('signer.limit');
  });
});

describe('a simulated transaction', () => {
  const plan = (over: Partial<SandboxPlan> = {}): SandboxPlan => ({
    kind: 'sandbox',
    network: 'sandbox',
    chain: 'ETH',
    accountNo: 0,
    asset: 'USDT_ERC20',
    inputs: [],
    fee: 3n,
    outputs: [
      { kind: 'payout', address: '0xabc', script: new Uint8Array(), units: 50n },
      { kind: 'change', address: '0xown', script: new Uint8Array(), units: 9n, index: 0 },
    ],
    ...over,
  });
  const of = (over: Partial<SandboxPlan>, given: Partial<Intent> = {}): SandboxOrder => ({
    purpose: 'pay',
    plan: plan(over),
    withdrawals: [{ intent: { ...intent, ...given }, approval: { by: 'policy' } }],
  });
  const judge = (...parts: Parameters<typeof of>) => refusal(() => judgeSimulated(of(...parts)));

  it('is signed for when it pays what its intents say', () => {
    judgeSimulated(of({}));
    judgeSimulated(of({}, { sweep: true, units: '1' }));
    // nothing is paid: it comes back
    judgeSimulated({ ...of({ outputs: plan().outputs.slice(1) }), purpose: 'cancel' });
  });

  it.each<[string, Partial<SandboxPlan>, Partial<Intent>]>([
    ['another amount', {}, { units: '49' }],
    ['another recipient', {}, { address: '0xdef' }],
    ['a higher fee than approved', { fee: 10n }, {}],
    ['another asset', { asset: 'ETH' }, {}],
    ['from another account', { accountNo: 1 }, {}],
    ['somebody beside', { outputs: [...plan().outputs, plan().outputs[0]!] }, {}],
  ])('is refused when it pays %s', async (_, over, given) => {
    expect(await judge(over, given)).toBe('signer.differs');
  });
});
