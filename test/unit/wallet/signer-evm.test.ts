/** What the signer signs on Ethereum and BNB Smart Chain, and what it refuses. */
import { keccak256, recoverTransactionAddress, type TransactionSerialized } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transactionOf, unsignedBytes } from '../../../daemon/domain/evm-transaction.ts';
import type { EvmPlan } from '../../../daemon/domain/spend.ts';
import { evmReading } from '../../../daemon/operator/evm.ts';
import { approvalKey, grantMac } from '../../../daemon/wallet/signer/approval.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import { withAccountKeys } from '../../../daemon/wallet/signer/keys.ts';
import {
  ADDRESS_SELF,
  type EvmOrder,
  type GasGrant,
  type Intent,
  type PolicyGrant,
} from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { decodeOrder, encodeOrder, Request } from '../../../daemon/wallet/signer/wire.ts';
import { GWEI, order, own, STRANGER, TETHER } from './signer-evm-kit.ts';
import { approve, codeOf, PASSPHRASE, SEED, walletFolder } from './signer-kit.ts';

let folder: string;
let remove: () => Promise<void>;
let session: Session;
let now = Date.now();
beforeAll(async () => {
  ({ folder, remove } = await walletFolder());
  session = await Session.open(folder, PASSPHRASE, () => now);
  const { useEpochOf } = await import('./signer-kit.ts');
  await useEpochOf(folder);
});
afterAll(async () => {
  await session.close();
  await remove();
});

/** As it crosses to the signer's process. */
const crossed = (given: EvmOrder) => {
  const request = Request.parse({ id: 1, call: 'sign', order: JSON.parse(JSON.stringify(encodeOrder(given))) });
  return decodeOrder(request.call === 'sign' ? request.order : (undefined as never));
};
const refusal = (given: EvmOrder): Promise<string> => codeOf(session.sign(crossed(given)));

describe('the signer', () => {
  it("signs a token's transfer with the sender's key, as viem signs the same, and twice the same", async () => {
    const given = order();
    const signed = await session.sign(crossed(given));
    const raw = signed.raw as TransactionSerialized;
    expect(await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toBe(own(0, 3).address);
    expect(signed).toMatchObject({ txid: keccak256(raw), fee: given.plan.fee, size: 65_000 });
    expect(await session.sign(crossed(given))).toEqual(signed);
    const theirs = withAccountKeys(SEED, 'ETH', 'mainnet', 0, (keys) =>
      keys.withKey(0, 3, ({ privateKey }) => privateKeyToAccount(`0x${Buffer.from(privateKey).toString('hex')}`)),
    );
    const { to, data, gasLimit, chainId, nonce, ...rest } = transactionOf(given.plan);
    const ids = { chainId: Number(chainId), nonce: Number(nonce) };
    const hex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`;
    const made = await theirs.signTransaction({
      type: 'eip1559',
      ...ids,
      ...rest,
      gas: gasLimit,
      to: hex(to),
      data: hex(data),
    });
    expect(raw).toBe(made);
  });

  it.each<[string, Partial<EvmPlan>, Partial<Intent>]>([
    ['of another contract', { contract: `0x${'11'.repeat(20)}` }, {}],
    ['in the native coin', { contract: null }, {}],
    ['to somebody else', { outputs: [{ kind: 'payout', ...own(0, 9), units: 25_000_000n }] }, {}],
    ['of another amount', {}, { units: '25000001' }],
    ['whose sender is another address of ours', { sender: { branch: 0, index: 4, address: own(0, 3).address } }, {}],
    [
      'whose sender is written without its checksum',
      { sender: { ...own(0, 3), address: own(0, 3).address.toLowerCase() } },
      {},
    ],
    ['with too much gas', { gasLimit: 2_000_000n, fee: 2_000_000n * 20n * GWEI }, {}],
    ['with a tip above its fee', { maxPriorityFeePerGas: 21n * GWEI }, {}],
    ['whose fee is stated too low', { fee: 1n }, {}],
    ['of another chain than was approved', { chain: 'BSC' }, { chain: 'ETH' }],
    ['of another asset than was approved', { asset: 'XAUT' }, { asset: 'USDT_ERC20' }],
    ['of a fee in another asset', {}, { feeAsset: 'USDT_ERC20' }],
    // Ethereum and BNB Smart Chain have the same addresses
    ['of a coin of the other chain', { chain: 'BSC', asset: 'ETH', contract: null }, { feeAsset: 'BNB' }],
    ['of a token of the other chain', { chain: 'BSC' }, { feeAsset: 'BNB' }],
    ['of a coin of another family', { asset: 'BTC', contract: null }, {}],
  ])('refuses a payment %s', async (_, plan, intent) => {
    expect(await refusal(order(plan, intent))).toBe('signer.differs');
  });

  it.each<[string, Partial<EvmPlan>, string]>([
    ['above the approved one', { maxFeePerGas: 21n * GWEI, fee: 65_000n * 21n * GWEI }, 'signer.fee'],
    ['that nobody may approve', { maxFeePerGas: 5_000n * GWEI, fee: 65_000n * 5_000n * GWEI }, 'signer.fee'],
  ])('refuses a fee %s', async (_, plan, code) => {
    expect(await refusal(order(plan))).toBe(code);
  });

  it('replaces a payment only with the same nonce of the same address, and cancels it by sending nothing to ourselves', async () => {
    const given = order({ nonce: 11n });
    await session.sign(given);
    const [{ intent, approval }] = given.withdrawals as [EvmOrder['withdrawals'][number]];
    const withdrawals = [{ intent, approval }];
    expect(await refusal({ ...given, plan: { ...given.plan, nonce: 12n } })).toBe('signer.conflict');
    const { address, branch, index } = own(0, 5);
    expect(await refusal({ ...given, plan: { ...given.plan, sender: { branch, index, address } } })).toBe(
      'signer.conflict',
    );
    const cancel = (plan: Partial<EvmPlan>): EvmOrder => ({
      purpose: 'cancel',
      withdrawals,
      plan: {
        ...given.plan,
        contract: null,
        gasLimit: 21_000n,
        fee: 21_000n * 20n * GWEI,
        outputs: [{ kind: 'change', ...own(1, 0), units: 0n }],
        ...plan,
      },
    });
    const tank = own(1, 0);
    expect(await refusal(cancel({ outputs: [{ kind: 'change', ...tank, units: 1n }] }))).toBe('signer.differs');
    expect(await refusal(cancel({ outputs: [{ kind: 'change', ...tank, script: own(1, 1).script, units: 0n }] }))).toBe(
      'signer.differs',
    );
    expect(await refusal(cancel({ contract: TETHER }))).toBe('signer.differs');
    expect(await session.sign(crossed(cancel({})))).toMatchObject({ size: 21_000 });
  });
});

describe('a grant of gas', () => {
  const FEE = 21_000n * 20n * GWEI;
  const grantOf = async (fields: Partial<GasGrant> = {}): Promise<[GasGrant, string]> => {
    const grant: GasGrant = {
      kind: 'gas',
      network: 'mainnet',
      accountNo: 0,
      chain: 'ETH',
      feeMax: (2n * FEE).toString(),
      until: now + 3_600_000,
      issuedAt: now,
      ...fields,
    };
    return [grant, grantMac(approvalKey(SEED), await epochOf(folder), grant)];
  };
  /** Sends the native coin from one address of ours to another. */
  const move = (uuid: string, nonce: number, plan: Partial<EvmPlan> = {}, intent: Partial<Intent> = {}): EvmOrder => {
    const said: Intent = {
      uuid,
      network: 'mainnet',
      accountNo: 0,
      chain: 'ETH',
      asset: 'ETH',
      address: ADDRESS_SELF,
      units: '0',
      sweep: false,
      coins: null,
      feeMax: FEE.toString(),
      ...intent,
    };
    const base = order().plan;
    const from = own(1, 0);
    return {
      purpose: 'pay',
      plan: {
        ...base,
        asset: 'ETH',
        contract: null,
        gasLimit: 21_000n,
        fee: FEE,
        nonce: BigInt(nonce),
        sender: { branch: from.branch, index: from.index, address: from.address },
        outputs: [{ kind: 'change', ...own(0, 3), units: 10n ** 14n }],
        ...plan,
      },
      withdrawals: [{ intent: said, approval: { by: 'gas' } }],
    };
  };

  it('lets moves between our own addresses go until its fees or its time are used up', async () => {
    expect(await refusal(move('before', 0))).toBe('signer.limit');
    await session.grant(...(await grantOf()));
    await session.sign(crossed(move('a', 0)));
    // another version counts only for what it costs more
    const more = { maxFeePerGas: 30n * GWEI, fee: 21_000n * 30n * GWEI };
    await session.sign(crossed(move('a', 0, more)));
    expect(await refusal(move('b', 1))).toBe('signer.limit');
    await session.sign(crossed(move('b', 1, { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: 0n, fee: FEE / 2n })));
    now += 1_000;
    await session.grant(...(await grantOf()));
    now += 3_600_000;
    expect(await refusal(move('c', 2))).toBe('signer.limit');
    now += 1_000;
    await session.grant(...(await grantOf()));
    await session.close();
    session = await Session.open(folder, PASSPHRASE, () => now);
    await session.sign(crossed(move('c', 2)));
  });

  it.each(['pay', 'cancel'] as const)('is no limit of a policy: %s', async (purpose) => {
    now += 1_000;
    await session.grant(...(await grantOf()));
    const units = (10n ** 18n).toString();
    const account = { network: 'mainnet', accountNo: 0, asset: 'ETH' } as const;
    const limit: PolicyGrant = { ...account, perWithdrawal: units, perDay: units, addresses: null, issuedAt: now };
    await session.grant(limit, grantMac(approvalKey(SEED), await epochOf(folder), limit));
    const given = move(`by-policy-${purpose}`, purpose === 'pay' ? 40 : 41);
    await session.sign(crossed(given));
    const plan: EvmPlan = { ...given.plan, maxFeePerGas: 30n * GWEI, fee: 21_000n * 30n * GWEI };
    if (purpose === 'cancel') plan.outputs = [{ ...plan.outputs[0]!, ...own(1, 0), units: 0n }];
    const withdrawals = given.withdrawals.map(({ intent }) => ({ intent, approval: { by: 'policy' as const } }));
    expect(await refusal({ purpose, plan, withdrawals })).toBe('signer.differs');
  });

  it('gives deposit addresses twice the gas of the grant at most, and the same again under the next one', async () => {
    now += 1_000;
    const units = 10n ** 15n;
    const give = (uuid: string, nonce: number, given = units, maxFeePerGas = GWEI / 10n): EvmOrder =>
      move(uuid, nonce, {
        maxFeePerGas,
        maxPriorityFeePerGas: 0n,
        fee: 21_000n * maxFeePerGas,
        outputs: [{ kind: 'change', ...own(0, 3), units: given }],
      });
    await session.grant(...(await grantOf({ feeMax: units.toString() })));
    await session.sign(crossed(give('gas-1', 10)));
    // of the versions of one move one confirms
    await session.sign(crossed(give('gas-1', 10, units, GWEI / 5n)));
    await session.sign(crossed(give('gas-1', 10, (units * 3n) / 2n, GWEI / 4n)));
    await session.close();
    session = await Session.open(folder, PASSPHRASE, () => now);
    expect(await refusal(give('gas-2', 11, units / 2n + 1n))).toBe('signer.limit');
    await session.sign(crossed(give('gas-2', 11, units / 2n)));
    expect(await refusal(give('gas-3', 12, 1n))).toBe('signer.limit');
    // the tank may get anything
    const tank = { outputs: [{ kind: 'change' as const, ...own(1, 0), units: 10n ** 20n }] };
    const from = own(0, 3);
    const sender = { branch: from.branch, index: from.index, address: from.address };
    const cheap = { maxFeePerGas: GWEI / 10n, maxPriorityFeePerGas: 0n, fee: 21_000n * (GWEI / 10n) };
    await session.sign(crossed(move('home', 0, { ...tank, ...cheap, sender })));
    now += 1_000;
    await session.grant(...(await grantOf({ feeMax: units.toString() })));
    await session.sign(crossed(give('gas-3', 12, 2n * units)));
    expect(await refusal(give('gas-4', 13, 1n))).toBe('signer.limit');
  });

  it('gives gas only up to 100,000 addresses above those that had some before the grant, and a million', async () => {
    const to = (index: number, uuid = `to-${index}`): EvmOrder =>
      move(uuid, 100 + (index % 1_000), {
        maxFeePerGas: 10n,
        maxPriorityFeePerGas: 0n,
        fee: 210_000n,
        outputs: [{ kind: 'change', ...own(0, index), units: 1n }],
      });
    const grantAgain = async () => {
      now += 1_000;
      await session.grant(...(await grantOf()));
    };
    await grantAgain();
    expect(await refusal(to(1_100_000_000))).toBe('signer.differs');
    expect(await refusal(to(1_000_001))).toBe('signer.differs');
    await session.sign(crossed(to(1_000_000)));
    // no step of the same grant leads further
    expect(await refusal(to(1_000_001))).toBe('signer.differs');
    await grantAgain();
    await session.sign(crossed(to(1_100_000)));
    expect(await refusal(to(1_100_001))).toBe('signer.differs');
    await session.close();
    session = await Session.open(folder, PASSPHRASE, () => now);
    expect(await refusal(to(1_100_001))).toBe('signer.differs');
    // a payment to ourselves that the operator approved names no address either
    const { plan, withdrawals } = to(1_200_001);
    const { intent } = withdrawals[0]!;
    const approved = { ...intent, feeAsset: 'ETH' as const };
    const byOperator = {
      purpose: 'pay' as const,
      plan,
      withdrawals: [{ intent: approved, approval: approve(approved) }],
    };
    expect(await refusal(byOperator)).toBe('signer.differs');
  });

  it('hides no money at an address where a search by the words does not look', async () => {
    const to = (place: ReturnType<typeof own>, units: bigint): EvmOrder =>
      move('hidden', 3, { outputs: [{ kind: 'change', ...place, units }] });
    expect(await refusal(to(own(1, 1_000_000), 1n))).toBe('signer.differs');
    expect(await refusal(to(own(0, 1_000_000), 10n ** 18n))).toBe('signer.differs');
    const tokens: Partial<EvmPlan> = {
      asset: 'USDT_ERC20',
      contract: TETHER,
      gasLimit: 65_000n,
      fee: 65_000n * 20n * GWEI,
      outputs: [{ kind: 'change', ...own(0, 1_000_000), units: 1n }],
    };
    const intent = { asset: 'USDT_ERC20' as const, feeAsset: 'ETH' as const };
    expect(await refusal(move('hidden', 3, tokens, intent))).toBe('signer.differs');
  });

  it('collects into the tank that the operator named last, through later grants, epochs and lives, and into no other', async () => {
    const from = own(0, 5);
    const sender = { branch: from.branch, index: from.index, address: from.address };
    const cheap = { maxFeePerGas: GWEI / 100n, maxPriorityFeePerGas: 0n, fee: 21_000n * (GWEI / 100n) };
    let nonce = 0;
    const into = (index: number, units = 10n ** 20n): EvmOrder =>
      move(`into-${nonce}-${index}`, nonce++, {
        ...cheap,
        sender,
        outputs: [{ kind: 'change', ...own(1, index), units }],
      });
    const grantAgain = async (fields: Partial<GasGrant> = {}): Promise<void> => {
      now += 1_000;
      await session.grant(...(await grantOf(fields)));
    };
    const reopened = async (): Promise<void> => {
      await session.close();
      session = await Session.open(folder, PASSPHRASE, () => now);
    };
    await grantAgain();
    expect(await refusal(into(1))).toBe('signer.differs');
    now += 1_000;
    const [named] = await grantOf({ feeMax: '0', tank: 1 });
    // the word for a tank is bound to it
    const mac = grantMac(approvalKey(SEED), await epochOf(folder), { ...named, tank: 2 });
    expect(await codeOf(session.grant(named, mac))).toBe('signer.approval');
    const [, plain] = await grantOf({ feeMax: '0' });
    expect(await codeOf(session.grant(named, plain))).toBe('signer.approval');
    await grantAgain({ feeMax: '0', tank: 1 });
    // naming it permits nothing
    expect(await refusal(into(1))).toBe('signer.limit');
    await grantAgain();
    await session.sign(crossed(into(1)));
    expect(await refusal(into(0))).toBe('signer.differs');
    expect(await refusal(into(2))).toBe('signer.differs');
    await reopened();
    await session.sign(crossed(into(1)));
    // the former one may get gas for what is left there, and no more
    await session.sign(crossed(into(0, 10n ** 14n)));
    expect(await refusal(into(2, 10n ** 14n))).toBe('signer.differs');
  });

  it('pays nobody else', async () => {
    const stranger = { kind: 'payout' as const, address: STRANGER, script: Buffer.alloc(20, 0xab), units: 1n };
    expect(await refusal(move('d', 3, { outputs: [stranger] }))).toBe('signer.differs');
    expect(await refusal(move('d', 3, { outputs: [{ ...stranger, kind: 'change', index: 0 }] }))).toBe(
      'signer.differs',
    );
    expect(await refusal(move('d', 3, {}, { address: STRANGER, units: '1' }))).toBe('signer.differs');
    expect(await refusal({ ...order(), withdrawals: move('d', 3).withdrawals })).toBe('signer.differs');
  });

  it('is refused without the operator’s approval, too long, and when a newer one is in force', async () => {
    const [grant] = await grantOf();
    expect(await codeOf(session.grant(grant, '00'.repeat(32)))).toBe('signer.approval');
    expect(await codeOf(session.grant(...(await grantOf({ until: now + 33 * 86_400_000 }))))).toBe('signer.approval');
    expect(await codeOf(session.grant(...(await grantOf({ issuedAt: now - 10_000_000 }))))).toBe('signer.approval');
  });
});

describe("the operator's reading", () => {
  const raw = (plan: Partial<EvmPlan> = {}): string =>
    `0x${Buffer.from(unsignedBytes(transactionOf(order(plan).plan))).toString('hex')}`;
  const reading = evmReading('ETH', 'mainnet', 'USDT_ERC20');

  it('finds recipient, amount and highest fee in the bytes', () => {
    expect(reading.bytes(raw())).toEqual({
      keys: [],
      outputs: [{ to: 'ab'.repeat(20), units: 25_000_000n }],
      fee: 65_000n * 20n * GWEI,
      gasLimit: 65_000n,
    });
    expect(reading.destination(STRANGER)).toBe('ab'.repeat(20));
    expect(reading.destination(STRANGER.replace(/[a-f]/, (letter: string) => letter.toUpperCase()))).toBeNull();
  });

  it.each([
    ['bytes of another chain', () => raw({ chain: 'BSC' })],
    ['another contract', () => raw({ contract: `0x${'11'.repeat(20)}` })],
    ['the native coin', () => raw({ contract: null })],
    ['bytes that are none', () => '0x02c0'],
    ['no bytes', () => null],
  ])('refuses %s', (_, bytes) => {
    expect(() => reading.bytes(bytes())).toThrow('Nothing was approved');
  });

  it.each([
    ['coin', 'ETH', { contract: null }],
    ['token', 'USDT_ERC20', {}],
  ] as const)('takes no transaction for one of a %s of the other chain', (_, asset, change) => {
    const there = raw({ chain: 'BSC', ...change });
    expect(() => evmReading('BSC', 'mainnet', asset).bytes(there)).toThrow(`it does not move ${asset}`);
  });
});
