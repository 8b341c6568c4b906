/** Orders to the signer of Ethereum. */
import { checksumAddress } from '../../../daemon/chains/evm/address.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import type { Branch } from '../../../daemon/domain/chain.ts';
import type { EvmPlan } from '../../../daemon/domain/spend.ts';
import { addressOf } from '../../../daemon/wallet/signer/evm-address.ts';
import { withAccountKeys } from '../../../daemon/wallet/signer/keys.ts';
import type { EvmOrder, Intent } from '../../../daemon/wallet/signer/port.ts';
import { approve, SEED } from './signer-kit.ts';

export const TETHER = assetOf('USDT_ERC20').contract?.toLowerCase() ?? '';
export const GWEI = 10n ** 9n;
export const STRANGER = checksumAddress(Buffer.alloc(20, 0xab));

export const own = (branch: Branch, index: number, network: EvmPlan['network'] = 'mainnet') => {
  const hex = withAccountKeys(SEED, 'ETH', network, 0, (keys) => addressOf(keys.publicKey(branch, index)));
  const script = Uint8Array.from(Buffer.from(hex, 'hex'));
  return { branch, index, address: checksumAddress(script), script };
};

let count = 0;
/** A payment of 25 Tether from the address 0/3 to a stranger, for at most 0.0013 ETH. */
export function order(plan: Partial<EvmPlan> = {}, intent: Partial<Intent> = {}): EvmOrder {
  const { address, branch, index } = own(0, 3, plan.network);
  const whole: EvmPlan = {
    kind: 'evm',
    network: 'mainnet',
    chain: 'ETH',
    accountNo: 0,
    asset: 'USDT_ERC20',
    contract: TETHER,
    sender: { branch, index, address },
    nonce: 4n,
    lowestNonce: 4n,
    gasLimit: 65_000n,
    maxFeePerGas: 20n * GWEI,
    maxPriorityFeePerGas: GWEI,
    outputs: [
      { kind: 'payout', address: STRANGER, script: Uint8Array.from(Buffer.alloc(20, 0xab)), units: 25_000_000n },
    ],
    fee: 65_000n * 20n * GWEI,
    ...plan,
  };
  const said: Intent = {
    uuid: `evm-${count++}`,
    network: whole.network,
    accountNo: 0,
    chain: whole.chain,
    asset: whole.asset,
    address: STRANGER,
    units: '25000000',
    sweep: false,
    coins: null,
    feeMax: (65_000n * 20n * GWEI).toString(),
    feeAsset: 'ETH',
    ...intent,
  };
  return { purpose: 'pay', plan: whole, withdrawals: [{ intent: said, approval: approve(said) }] };
}
