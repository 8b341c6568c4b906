/** What a grant of gas lets go by itself: moves between our own addresses, within what is left of it and of its time. */
import { describe, expect, it } from 'vitest';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { identityText } from '../../../daemon/wallet/signer/approval.ts';
import { judgeGas, needWithinReach, type OwnMove } from '../../../daemon/wallet/signer/gas.ts';
import type { Memory, SignatureRecord } from '../../../daemon/wallet/signer/permission.ts';
import { ADDRESS_SELF, type GasGrant, type Intent } from '../../../daemon/wallet/signer/port.ts';

const account = { network: 'mainnet', accountNo: 0, chain: 'ETH' } as const;
const SUBJECT = 'gas/mainnet/0/ETH';
const grant: GasGrant = { ...account, kind: 'gas', feeMax: '10', until: 2_000, issuedAt: 0 };
const intent: Intent = {
  ...account,
  uuid: 'w',
  asset: 'ETH',
  address: ADDRESS_SELF,
  units: '0',
  sweep: false,
  coins: null,
  feeMax: '9',
};
const moved: OwnMove['moved'] = { ...account, asset: 'ETH', fee: 5n, feeAsset: 'ETH', conflictKeys: ['nonce:a:7'] };
const move: OwnMove = { purpose: 'pay', toSelf: true, moved, funded: null };
const known = (over: Partial<SignatureRecord> = {}): SignatureRecord => ({
  identity: identityText(intent),
  versions: [{ txid: 't', keys: ['nonce:a:7'], epoch: null }],
  feeMax: 0n,
  policyFee: 3n,
  ...over,
});

type Given = {
  intent?: Partial<Intent>;
  move?: Partial<OwnMove>;
  known?: SignatureRecord;
  used?: bigint;
  given?: bigint;
};
function judge(given: Given = {}, { now = 1_000, granted = true } = {}) {
  const memory = {
    signed: new Map(given.known ? [['w', given.known]] : []),
    gasGrants: new Map(granted ? [[SUBJECT, grant]] : []),
    gasUsed: new Map([[SUBJECT, given.used ?? 0n]]),
    gasFunded: new Map([[SUBJECT, given.given ?? 0n]]),
  };
  const witness = { memory: memory as unknown as Memory, now, isApproved: () => false };
  return judgeGas({ ...intent, ...given.intent }, { ...move, ...given.move }, witness);
}
const funded = (units: bigint) => ({ funded: { index: 3, units } });

describe('a grant of gas', () => {
  it('counts the fee, and the gas that a deposit address gets', () => {
    expect(judge()).toEqual({
      entries: [{ intent, identity: identityText(intent), feeMax: 0n, policyUnits: 0n }],
      feeMax: 5n,
      spent: null,
      spentFee: null,
      spentGas: { subject: SUBJECT, units: 5n },
    });
    expect(judge({ move: funded(4n) }).spentGas).toEqual({
      subject: SUBJECT,
      units: 5n,
      funded: { index: 3, units: 4n },
    });
  });

  it.each<[string, Given, Partial<{ units: bigint; given: bigint }>]>([
    ['only what it costs more', { known: known() }, { units: 2n }],
    ['nothing of what it costs less', { known: known({ policyFee: 9n }) }, { units: 0n }],
    [
      'only the gas beyond that of before',
      { known: known({ funded: 3n }), move: funded(4n) },
      { units: 2n, given: 1n },
    ],
    ['no gas that it gave before', { known: known({ funded: 4n }), move: funded(4n), given: 99n }, { given: 0n }],
  ])('counts of another version %s', (_, given, { units, given: gas }) => {
    const { spentGas } = judge(given);
    if (units !== undefined) expect(spentGas?.units).toBe(units);
    if (gas !== undefined) expect(spentGas?.funded?.units).toBe(gas);
  });

  it('lets go what it has left to the unit, and cancels what it let go', () => {
    expect(judge({ used: 5n }).feeMax).toBe(5n);
    expect(judge({ move: funded(5n), given: 15n }).spentGas?.funded?.units).toBe(5n);
    expect(judge({}, { now: 1_999 }).feeMax).toBe(5n);
    expect(judge({ known: known(), move: { purpose: 'cancel' } }).spentGas?.units).toBe(2n);
  });

  const [differs, conflict, limit] = ['signer.differs', 'signer.conflict', 'signer.limit'] as const;
  it.each<[string, Given, typeof differs | typeof conflict | typeof limit, string]>([
    ['of another account', { intent: { accountNo: 1 } }, differs, 'of another account, chain or asset'],
    ['to somebody else', { move: { toSelf: false } }, differs, 'pays nobody but ourselves'],
    ['of an intent to somebody else', { intent: { address: '0xab' } }, differs, 'pays nobody but ourselves'],
    ['of an amount', { intent: { units: '1' } }, differs, 'pays nobody but ourselves'],
    ['of everything', { intent: { sweep: true } }, differs, 'pays nobody but ourselves'],
    ['of coins', { intent: { coins: ['c:0'] } }, differs, 'pays nobody but ourselves'],
    [
      'beside another version',
      { known: known({ versions: [{ txid: 't', keys: ['nonce:a:6'], epoch: null }] }) },
      conflict,
      'it spends no coin of t',
    ],
    ['in place of another payment', { known: known({ identity: 'x' }) }, differs, 'w was signed as another payment'],
    ['that somebody approved', { known: known({ policyFee: null }) }, differs, 'w was signed as another payment'],
    ['that cancels nothing', { move: { purpose: 'cancel' } }, differs, 'needs no cancellation'],
    ['above what is left', { used: 6n }, limit, 'above what is left of the grant'],
    ['with more gas than twice its fees', { move: funded(6n), given: 15n }, limit, 'as much gas as the grant may use'],
  ])('lets no move go %s', (_, given, code, why) => {
    expect(() => judge(given)).toThrow(why);
    expect(() => judge(given)).toThrow(expect.objectContaining({ code }));
  });

  it('lets nothing go before it was given, or when it is over', () => {
    expect(() => judge({}, { granted: false })).toThrow('no gas was granted for this account and chain');
    expect(() => judge({}, { now: 2_000 })).toThrow('the grant of gas is over');
  });
});

// a restore moves an index by 210,000, and leaves a gap of 1,000
it.each([
  [undefined, 1, 1_000_000],
  [{ index: 2_000, epochs: 1 }, 1, 1_000_000],
  [{ index: 2_000_000, epochs: 1 }, 1, 2_100_000],
  [{ index: 2_000_000, epochs: 1 }, 3, 2_522_000],
])('gas goes behind %o, with %i epochs now, up to address %i', (before, epochs, last) => {
  const memory = {
    fundedBefore: new Map(before ? [[SUBJECT, before]] : []),
    epochs: new Array(epochs).fill(null),
  } as unknown as Memory;
  expect(() => needWithinReach(account, last, { memory })).not.toThrow();
  expect(() => needWithinReach(account, last + 1, { memory })).toThrow(Rejected);
});
