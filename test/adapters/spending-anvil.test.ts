/** The conformance suite of spending on an anvil of each chain: the native coin, and a token of each. */
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { NATIVE_COIN } from '../../daemon/domain/evm.ts';
import type { SpendPlan } from '../../daemon/domain/spend.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { seedOf } from '../../daemon/wallet/mnemonic.ts';
import { identityText } from '../../daemon/wallet/signer/approval.ts';
import { judgeEvm } from '../../daemon/wallet/signer/evm.ts';
import { FeeCover } from '../../daemon/wallet/signer/fee-cover.ts';
import { gasSubjectOf } from '../../daemon/wallet/signer/gas.ts';
import { ADDRESS_SELF, type Intent } from '../../daemon/wallet/signer/port.ts';
import { SignedChanges } from '../../daemon/wallet/signer/signed-changes.ts';
import { callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { EvmScene } from './evm-controls.ts';
import { type SpendingControls, spendingConformance } from './spending-conformance.ts';

const seed = await seedOf(`${'abandon '.repeat(11)}about`, '');
const GAS = 10n ** 17n;

/** The intent of what a plan pays: the suite approves whatever it plans. */
function intentOf(plan: Extract<SpendPlan, { kind: 'evm' }>): Intent {
  const [output] = plan.outputs;
  const isOwn = output?.kind === 'change';
  return {
    uuid: 'a payment of the suite',
    network: plan.network,
    accountNo: 0,
    chain: plan.chain,
    asset: plan.asset,
    address: isOwn ? ADDRESS_SELF : (output?.address ?? ''),
    units: isOwn ? '0' : `${output?.units}`,
    sweep: false,
    coins: null,
    feeMax: `${plan.fee}`,
    feeAsset: NATIVE_COIN[plan.chain],
  };
}

async function controls(chain: 'ETH' | 'BSC', isToken: boolean): Promise<SpendingControls> {
  const scene = await EvmScene.start(chain);
  const coin = NATIVE_COIN[chain];
  const asset = isToken ? scene.asset : coin;
  let made = 0xcafe00;
  return {
    asset,
    account: accountKey(seed, chain, 'regtest', 0),
    units: isToken ? 10n ** 6n : 10n ** 16n,
    gas: GAS,
    connect: (list) => scene.connect(list),
    async pay({ address, asset: paid, units }) {
      if (paid === coin) await scene.payCoins([{ address, units }]);
      else await scene.payTokens([{ address, units }]);
    },
    mine: (count) => scene.anvil.mine(count),
    reorg: (depth) => scene.reorg(depth, true),
    async sign(unsigned) {
      const { plan } = unsigned;
      if (plan.kind !== 'evm') throw new Error('a plan of an account chain');
      const intent = intentOf(plan);
      const [output] = plan.outputs;
      const isCancel = output?.kind === 'change' && output.units === 0n;
      const grant = {
        kind: 'gas',
        network: 'regtest',
        accountNo: 0,
        chain,
        feeMax: `${GAS}`,
        until: 1,
        issuedAt: 0,
      } as const;
      const known = { identity: identityText(intent), versions: [], feeMax: plan.fee, policyFee: 0n };
      const memory = {
        grants: new Map(),
        gasUsed: new Map(),
        policySpends: [],
        policyFees: new FeeCover(),
        gasFunded: new Map(),
        fundedBefore: new Map(),
        changes: new SignedChanges(),
        isFresh: false,
        epochs: [null],
        signed: new Map(isCancel ? [[intent.uuid, known]] : []),
        gasGrants: new Map([[gasSubjectOf(grant), grant]]),
        forwardGrants: new Map(),
        forwardIndices: { next: (_key: string, from: number) => from },
        tanks: new Map(),
      };
      const approval =
        intent.address === ADDRESS_SELF ? { by: 'gas' as const } : { by: 'operator' as const, until: 1, mac: '' };
      const order = {
        purpose: isCancel ? ('cancel' as const) : ('pay' as const),
        plan,
        withdrawals: [{ intent, approval }],
      };
      return judgeEvm(order, seed, { memory, now: 0, isApproved: () => true }).sign();
    },
    stranger: async () => checksumAddress(Buffer.from((++made).toString(16).padStart(40, '0'), 'hex')),
    async received(address) {
      if (!isToken) return BigInt(await scene.anvil.rpc<string>('eth_getBalance', [address, 'latest']));
      const data = callOf('Standard', 'balanceOf', [address]);
      return BigInt(await scene.anvil.rpc<string>('eth_call', [{ to: scene.token, data }, 'latest']));
    },
    disconnect: () => scene.proxy.close(),
    reconnect: () => scene.proxy.listen(),
    stop: () => scene.stop(),
  };
}

if (hasAnvil) {
  for (const [chain, isToken] of [
    ['ETH', true],
    ['BSC', false],
  ] as const) {
    spendingConformance({
      name: `${chain} on anvil, ${isToken ? 'a token' : 'the coin'}`,
      start: () => controls(chain, isToken),
      hasAccounts: true,
      hasGas: isToken,
    });
  }
}
