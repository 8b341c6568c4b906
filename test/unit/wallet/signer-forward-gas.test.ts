/**
 * Gas for deposit addresses under a grant of forwarding: to addresses of ours alone, within the fees of a payment and of a day, and no more in 24
 * hours than twice those.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../../daemon/chains/evm/address.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import type { Branch } from '../../../daemon/domain/chain.ts';
import type { EvmPlan } from '../../../daemon/domain/spend.ts';
import { addressOf } from '../../../daemon/wallet/signer/evm-address.ts';
import { withAccountKeys } from '../../../daemon/wallet/signer/keys.ts';
import {
  ADDRESS_SELF,
  type Approval,
  type EvmOrder,
  type ForwardGrant,
  type GasGrant,
  type Intent,
} from '../../../daemon/wallet/signer/port.ts';
import { endOf, limitsHeldIn } from '../../../daemon/wallet/signer/register.ts';
import { Session } from '../../../daemon/wallet/signer/session.ts';
import { decodeOrder, encodeOrder, Request } from '../../../daemon/wallet/signer/wire.ts';
import { approve, codeOf, grantOf, PASSPHRASE, SEED, walletFolder } from './signer-kit.ts';

const TETHER = assetOf('USDT_ERC20').contract?.toLowerCase() ?? '';
const GWEI = 10n ** 9n;
const HOUR = 3_600_000;
const START = Date.parse('2026-11-20T00:00:00Z');
/** The fee of a plain transfer, and of one of Tether, at a gwei. */
const PLAIN = 21_000n * GWEI;
const TOKEN = 65_000n * GWEI;
const FEE_DAY = 4n * TOKEN;

const own = (branch: Branch, index: number) => {
  const hex = withAccountKeys(SEED, 'ETH', 'mainnet', 0, (keys) => addressOf(keys.publicKey(branch, index)));
  const script = Uint8Array.from(Buffer.from(hex, 'hex'));
  return { branch, index, address: checksumAddress(script), script };
};
const TANK = own(1, 0);
const COLD = checksumAddress(Buffer.alloc(20, 0xab));
const THIEF = { address: checksumAddress(Buffer.alloc(20, 0xcd)), script: Uint8Array.from(Buffer.alloc(20, 0xcd)) };

const grant: ForwardGrant = {
  kind: 'forward',
  network: 'mainnet',
  accountNo: 0,
  asset: 'USDT_ERC20',
  address: COLD,
  feeSharePpm: null,
  feeMax: `${TOKEN}`,
  feeDay: `${FEE_DAY}`,
  issuedAt: START,
};
const BY_PLAN: Approval = { by: 'forward', asset: 'USDT_ERC20' };

type Change = { plan?: Partial<EvmPlan>; intent?: Partial<Intent>; approval?: Approval; purpose?: 'cancel' };

/** The gas of a payment of Tether, from the tank to the deposit address 3. */
function gas(uuid: string, nonce: number, { plan, intent, approval = BY_PLAN, purpose }: Change = {}): EvmOrder {
  const { branch, index, address } = TANK;
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
    feeMax: `${PLAIN}`,
    ...intent,
  };
  return {
    purpose: purpose ?? 'pay',
    plan: {
      kind: 'evm',
      network: 'mainnet',
      chain: 'ETH',
      accountNo: 0,
      asset: 'ETH',
      contract: null,
      sender: { branch, index, address },
      nonce: BigInt(nonce),
      lowestNonce: 0n,
      gasLimit: 21_000n,
      maxFeePerGas: GWEI,
      maxPriorityFeePerGas: 0n,
      outputs: [{ kind: 'change', ...own(0, 3), units: TOKEN }],
      fee: PLAIN,
      ...plan,
    },
    withdrawals: [{ intent: said, approval }],
  };
}

const to = (place: ReturnType<typeof own>, units = TOKEN): Change => ({
  plan: { outputs: [{ kind: 'change', ...place, units }] },
});
const dear = (gwei: bigint): Partial<EvmPlan> => ({ maxFeePerGas: gwei * GWEI, fee: PLAIN * gwei });
/** Tether of this address of ours, and the intent that names it. */
const tether = (plan: Partial<EvmPlan>): Change => ({
  plan: { asset: 'USDT_ERC20', contract: TETHER, gasLimit: 65_000n, fee: TOKEN, ...plan },
  intent: { asset: 'USDT_ERC20', feeAsset: 'ETH' },
});

describe('gas under a grant of forwarding', () => {
  let wallet: Awaited<ReturnType<typeof walletFolder>>;
  let session: Session;
  let now = START;
  const open = async (): Promise<void> => {
    session = await Session.open(wallet.folder, PASSPHRASE, () => now);
  };
  /** As it crosses to the signer's process. */
  const sign = (given: EvmOrder) => {
    const request = Request.parse({ id: 1, call: 'sign', order: JSON.parse(JSON.stringify(encodeOrder(given))) });
    return session.sign(decodeOrder(request.call === 'sign' ? request.order : (undefined as never)));
  };
  const refusal = (given: EvmOrder): Promise<string> => codeOf(sign(given));
  const give = (change: Partial<ForwardGrant>) =>
    session.grant(...grantOf({ ...grant, issuedAt: START + 1, ...change }));
  const used = async () => (await limitsHeldIn(wallet.folder, now)).forwards.map((one) => [one.used, one.gas]);
  beforeEach(async () => {
    now = START;
    wallet = await walletFolder();
    await open();
    await session.grant(...grantOf(grant));
  });
  afterEach(async () => {
    await session.close();
    await wallet.remove();
  });

  it('lets no token go by a share of it, since its fee is another coin', async () => {
    await give({ feeSharePpm: 1_000_000 });
    const { branch, index, address } = own(0, 3);
    const payout = { kind: 'payout' as const, address: COLD, script: Uint8Array.from(Buffer.alloc(20, 0xab)) };
    const paid = tether({ sender: { branch, index, address }, outputs: [{ ...payout, units: TOKEN }] });
    const intent = { ...paid.intent, address: COLD, units: `${TOKEN}`, feeMax: `${TOKEN}` };
    const order = gas('share', 0, { ...paid, intent, approval: { by: 'forward' } });
    await expect(sign(order)).rejects.toThrow('a share limits no fee in another coin');
  });

  it('lets a deposit address have it, and the address send its token on, with the fees of both counted together', async () => {
    expect((await sign(gas('gas', 0))).fee).toBe(PLAIN);
    expect(await used()).toEqual([[PLAIN, TOKEN]]);
    const { branch, index, address } = own(0, 3);
    const payout = { kind: 'payout' as const, address: COLD, script: Uint8Array.from(Buffer.alloc(20, 0xab)) };
    const paid = tether({ sender: { branch, index, address }, outputs: [{ ...payout, units: 25n }] });
    const intent = { ...paid.intent, address: COLD, units: '25', feeMax: `${TOKEN}` };
    await sign(gas('pay', 0, { ...paid, intent, approval: { by: 'forward' } }));
    expect(await used()).toEqual([[PLAIN + TOKEN, TOKEN]]);
  });

  it.each<[string, Partial<ForwardGrant>, Partial<EvmPlan>]>([
    ['the coin of another chain, under the grant of one', { asset: 'ETH' }, { asset: 'ETH' }],
    ['a fee in the coin of another chain, under the grant of a token', {}, { asset: 'USDT_ERC20', contract: TETHER }],
  ])('lets nobody send %s', async (_, granted, change) => {
    await give({ feeMax: `${10n * TOKEN}`, feeDay: `${10n * TOKEN}`, ...granted });
    const { branch, index, address } = own(0, 3);
    const payout = { kind: 'payout' as const, address: COLD, script: Uint8Array.from(Buffer.alloc(20, 0xab)) };
    const plan: Partial<EvmPlan> = {
      chain: 'BSC',
      sender: { branch, index, address },
      outputs: [{ ...payout, units: 25n }],
      gasLimit: 65_000n,
      fee: TOKEN,
      ...change,
    };
    const intent: Partial<Intent> = {
      chain: 'BSC',
      asset: plan.asset!,
      feeAsset: 'BNB',
      address: COLD,
      units: '25',
      feeMax: `${TOKEN}`,
    };
    expect(await refusal(gas('w', 0, { plan, intent, approval: { by: 'forward' } }))).toBe('signer.differs');
    for (const [fees] of await used()) expect(fees).toBe(0n);
  });

  it.each<[string, Change, string]>([
    [
      'for a stranger',
      { plan: { outputs: [{ kind: 'change', branch: 0, index: 3, ...THIEF, units: 1n }] } },
      'differs',
    ],
    ['for one who is not named as ours', { plan: { outputs: [{ kind: 'payout', ...THIEF, units: 1n }] } }, 'differs'],
    ['for an address further out than gas may go', to(own(0, 1_000_001)), 'differs'],
    ['for a tank that follows', to(own(1, 1)), 'differs'],
    ['for the tank, which collects under another grant', to(TANK, 1n), 'differs'],
    ['of nothing', to(own(0, 3), 0n), 'differs'],
    ['in a token', tether({ outputs: [{ kind: 'change', ...own(0, 3), units: 1n }] }), 'differs'],
    ['of a token into the tank', tether({ outputs: [{ kind: 'change', ...TANK, units: 1n }] }), 'differs'],
    ['as a payment of an amount', { intent: { units: '1' } }, 'differs'],
    ['as a payment to the destination', { intent: { address: COLD } }, 'differs'],
    ['of another account', { intent: { accountNo: 1 } }, 'differs'],
    ['for the coin itself', { approval: { by: 'forward', asset: 'ETH' } }, 'differs'],
    ['for a token of another chain', { approval: { by: 'forward', asset: 'USDT_BEP20' } }, 'differs'],
    ['for a token that is not forwarded', { approval: { by: 'forward', asset: 'XAUT' } }, 'limit'],
    ['as if it were a payment', { approval: { by: 'forward' } }, 'limit'],
    ['as if gas were granted', { approval: { by: 'gas' } }, 'limit'],
    [
      'as a cancellation',
      { purpose: 'cancel', plan: { outputs: [{ kind: 'change', ...TANK, units: 0n }] } },
      'approval',
    ],
    ['with a fee above that of a payment', { plan: dear(4n) }, 'limit'],
    ['above what a day may use', to(own(0, 3), 2n * FEE_DAY + 1n), 'limit'],
  ])('gives none %s', async (_, change, code) => {
    expect(await refusal(gas('w', 0, change))).toBe(`signer.${code}`);
  });

  it.each<[string, Partial<ForwardGrant>]>([
    ['after it ended', { feeDay: '0' }],
    ['without a highest fee', { feeMax: null, feeSharePpm: 1_000 }],
    ['above the fees of a day', { feeDay: `${PLAIN - 1n}` }],
  ])('gives none %s', async (_, change) => {
    await give(change);
    expect(await refusal(gas('w', 0, to(own(0, 3), 1n)))).toBe('signer.limit');
  });

  it('moves no more in a day than twice its fees, however small the parts and whoever gets them, a restart between them', async () => {
    const cheap = { maxFeePerGas: 1n, fee: 21_000n };
    const part = (uuid: string, nonce: number, units: bigint) => {
      const { plan } = to(own(0, nonce), units);
      return gas(uuid, nonce, { plan: { ...plan, ...cheap } });
    };
    await sign(part('a', 0, FEE_DAY));
    now += 12 * HOUR;
    await sign(part('b', 1, FEE_DAY - 1n));
    await session.close();
    await open();
    expect(await refusal(part('c', 2, 2n))).toBe('signer.limit');
    // a new grant does not begin another day
    await give({});
    expect(await refusal(part('c', 2, 2n))).toBe('signer.limit');
    await sign(part('c', 2, 1n));
    expect(await used()).toEqual([[63_000n, 2n * FEE_DAY]]);
    now += 12 * HOUR;
    await sign(part('d', 3, FEE_DAY));
    expect(await refusal(part('e', 4, 1n))).toBe('signer.limit');
  });

  it('counts what takes the place of a stuck one once: its higher fee, and the same gas', async () => {
    await sign(gas('w', 0));
    await sign(gas('w', 0, { plan: dear(2n) }));
    expect(await used()).toEqual([[2n * PLAIN, TOKEN]]);
    // the address that another version pays gets no more than was counted
    const { plan } = to(own(0, 9), TOKEN + 5n);
    await sign(gas('w', 0, { plan: { ...plan, ...dear(3n) } }));
    expect(await used()).toEqual([[3n * PLAIN, TOKEN + 5n]]);
    // both could confirm
    expect(await refusal(gas('w', 1))).toBe('signer.conflict');
  });

  it('gives the same bytes for the same order, also after it ended, and no more then', async () => {
    const first = await sign(gas('w', 0));
    await give(endOf(grant, now) as ForwardGrant);
    await session.close();
    await open();
    expect((await sign(gas('w', 0))).raw).toBe(first.raw);
    expect(await refusal(gas('w', 0, { plan: dear(2n) }))).toBe('signer.limit');
    expect(await refusal(gas('w', 0, to(own(0, 3), TOKEN + 1n)))).toBe('signer.limit');
    expect(await refusal(gas('v', 1))).toBe('signer.limit');
  });

  it('is no grant of gas, nor one of gas another of it, for what was signed before', async () => {
    const gasGrant: GasGrant = {
      kind: 'gas',
      network: 'mainnet',
      accountNo: 0,
      chain: 'ETH',
      feeMax: `${10n * PLAIN}`,
      until: START + HOUR,
      issuedAt: START,
    };
    await session.grant(...grantOf(gasGrant));
    await sign(gas('forwarded', 0));
    expect(await refusal(gas('forwarded', 0, { approval: { by: 'gas' } }))).toBe('signer.differs');
    await sign(gas('granted', 1, { approval: { by: 'gas' } }));
    expect(await refusal(gas('granted', 1))).toBe('signer.differs');
    const [held] = (await limitsHeldIn(wallet.folder, now)).gas;
    expect(held?.used).toBe(PLAIN);
    expect(await used()).toEqual([[PLAIN, TOKEN]]);
    // the operator's word for a payment is none for gas
    const { intent } = gas('w', 2).withdrawals[0]!;
    expect(await refusal(gas('w', 2, { approval: approve(intent) }))).toBe('signer.differs');
  });

  it('goes further out only by another word of the operator', async () => {
    const at = (index: number) => {
      const { plan } = to(own(0, index), 1n);
      return gas(`at-${index}`, index % 1_000, { plan: { ...plan, maxFeePerGas: 1n, fee: 21_000n } });
    };
    await sign(at(1_000_000));
    expect(await refusal(at(1_000_001))).toBe('signer.differs');
    await give({});
    await sign(at(1_100_000));
    expect(await refusal(at(1_100_001))).toBe('signer.differs');
    await session.close();
    await open();
    expect(await refusal(at(1_100_001))).toBe('signer.differs');
  });

  it('ends with the approvals of its epoch', async () => {
    await session.endApprovals();
    expect(await refusal(gas('w', 0))).toBe('signer.limit');
  });
});
