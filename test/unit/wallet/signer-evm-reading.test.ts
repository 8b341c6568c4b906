/** What the signer reads of addresses and transactions of Ethereum and BNB Smart Chain, and the bounds of their fees and gas. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transferData } from '../../../daemon/domain/evm-transaction.ts';
import type { EvmPlan } from '../../../daemon/domain/spend.ts';
import { evmDestination } from '../../../daemon/wallet/signer/evm-address.ts';
import { isContractOf, movementOf } from '../../../daemon/wallet/signer/evm-movement.ts';
import { ADDRESS_SELF, type EvmOrder, type Intent } from '../../../daemon/wallet/signer/port.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { GWEI, order, own, TETHER } from './signer-evm-kit.ts';
import { approve, PASSPHRASE, walletFolder } from './signer-kit.ts';

describe('an address', () => {
  // from EIP-55
  const mixed = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  const digits = mixed.slice(2).toLowerCase();
  it.each([
    ['with its checksum', mixed, digits],
    ['in lower case', `0x${digits}`, digits],
    ['in upper case', `0x${digits.toUpperCase()}`, digits],
    ['with another checksum', mixed.replace('aA', 'Aa'), null],
    ['with an upper prefix', `0X${digits}`, null],
    ['without a prefix', digits, null],
    ['of 19 bytes', `0x${digits.slice(2)}`, null],
    ['of 21 bytes', `0x${digits}00`, null],
    ['behind something', ` 0x${digits}`, null],
    ['with what is no digit', `0x${digits.slice(1)}g`, null],
  ])('%s', (_, text, bytes) => expect(evmDestination(text)).toBe(bytes));
});

describe('a transaction', () => {
  const to = new Uint8Array(20).fill(0xab);
  const tether = Uint8Array.from(Buffer.from(TETHER.slice(2), 'hex'));
  const data = transferData(to, 25n);
  const none = new Uint8Array();
  it.each([
    ['of the coin', { to, value: 7n, data: none }, { contract: null, to: 'ab'.repeat(20), units: 7n }],
    ['of a token', { to: tether, value: 0n, data }, { contract: TETHER, to: 'ab'.repeat(20), units: 25n }],
    ['of both', { to: tether, value: 1n, data }, null],
    ['with another call', { to: tether, value: 0n, data: data.slice(1) }, null],
    ['with another call and the coin', { to: tether, value: 1n, data: data.slice(1) }, null],
  ])('%s moves that or nothing', (_, transaction, moved) => expect(movementOf(transaction)).toEqual(moved));

  it.each([
    ['ETH', 'mainnet', 'ETH', null, true],
    ['ETH', 'mainnet', 'BSC', null, false],
    ['ETH', 'mainnet', 'ETH', TETHER, false],
    ['ETH', 'testnet', 'ETH', TETHER, false],
    ['USDT_ERC20', 'mainnet', 'ETH', TETHER, true],
    ['USDT_ERC20', 'mainnet', 'ETH', null, false],
    ['USDT_ERC20', 'testnet', 'ETH', null, false],
    ['USDT_ERC20', 'mainnet', 'ETH', `0x${'11'.repeat(20)}`, false],
    ['USDT_ERC20', 'testnet', 'ETH', `0x${'11'.repeat(20)}`, true],
    ['USDT_ERC20', 'testnet', 'BSC', TETHER, false],
  ] as const)('moves %s on %s of %s by %s: %s', (asset, network, chain, contract, isIt) => {
    expect(isContractOf(asset, { network, chain }, contract)).toBe(isIt);
  });
});

describe('the signer', () => {
  let session: Session;
  let remove: () => Promise<void>;
  beforeAll(async () => {
    const wallet = await walletFolder();
    remove = wallet.remove;
    session = await Session.open(wallet.folder, PASSPHRASE, Date.now);
  });
  afterAll(async () => {
    await session.close();
    await remove();
  });
  const priced = (gasLimit: bigint, maxFeePerGas: bigint): Partial<EvmPlan> => ({
    gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas: maxFeePerGas,
    fee: gasLimit * maxFeePerGas,
  });
  const any: Partial<Intent> = { feeMax: `${10n ** 30n}` };
  const MILLION = 1_000_000n;
  const TENTH = 100n * GWEI;
  const self = { address: ADDRESS_SELF, units: '0' };
  const nothingTo = (index: number): Partial<EvmPlan> => ({
    outputs: [{ kind: 'change', ...own(1, index), units: 0n }],
  });
  const isContract = 'it is neither collected into the tank nor gas for a deposit address';

  it.each<[string, Partial<EvmPlan>, Partial<Intent>, string]>([
    ['less gas than any transaction needs', priced(20_999n, GWEI), any, 'a limit of 20999 gas'],
    ['more gas than is signed', priced(MILLION + 1n, GWEI), any, 'a limit of 1000001 gas'],
    ['a fee above a tenth of a coin', priced(MILLION, TENTH + 1n), any, `a fee of ${10n ** 17n + MILLION} is above`],
    ['a price above any', priced(21_000n, 2_000n * GWEI + 1n), any, 'a fee of 42000000000021000 is above'],
    ['a tip above its fee', { maxPriorityFeePerGas: 21n * GWEI }, {}, 'the tip is above the whole fee'],
    [
      'a fee above the approved one',
      { fee: 65_000n * GWEI, maxFeePerGas: GWEI },
      { feeMax: '1' },
      'is above the limit of 1',
    ],
    ['what is no address', {}, { address: '0x12' }, '0x12 is no address of ETH on mainnet'],
    ['the sender of another', { sender: { ...own(0, 4), address: own(0, 3).address } }, {}, 'the sender is not ours'],
    ['a payment to ourselves of others', {}, self, 'it pays others than ourselves'],
    ['nothing of a token to what is no tank', nothingTo(3), self, isContract],
  ])('signs nothing with %s', async (_, plan, intent, why) => {
    await expect(session.sign(order(plan, intent))).rejects.toThrow(why);
  });

  it('signs the highest fee with the most gas, and the highest price', async () => {
    const fee = 10n ** 17n;
    expect(await session.sign(order(priced(MILLION, TENTH), { feeMax: `${fee}` }))).toMatchObject({ fee, size: 1e6 });
    const dear = order({ ...priced(21_000n, 2_000n * GWEI), nonce: 5n }, any);
    expect((await session.sign(dear)).fee).toBe(42_000_000n * GWEI);
  });

  it('signs one payment at a time', async () => {
    const both: EvmOrder = { ...order(), withdrawals: [...order().withdrawals, ...order().withdrawals] };
    await expect(session.sign(both)).rejects.toThrow('a transaction of this chain is one payment');
    await expect(session.sign({ ...both, withdrawals: [] })).rejects.toThrow(
      'a transaction of this chain is one payment',
    );
  });

  it('cancels by a transaction of nothing to any address that can be a tank', async () => {
    const given = order({ nonce: 6n });
    await session.sign(given);
    const { intent } = given.withdrawals[0]!;
    const cancel = (index: number): EvmOrder => ({
      purpose: 'cancel',
      plan: { ...given.plan, ...nothingTo(index), contract: null },
      withdrawals: [{ intent, approval: approve(intent, Date.now() + 60_000, 'cancel') }],
    });
    await expect(session.sign(cancel(8))).rejects.toThrow(isContract);
    expect((await session.sign(cancel(7))).fee).toBe(given.plan.fee);
  });
});
