/** How the conformance suites move a monerod, and what pays there. */
import type { ScriptList } from '../../daemon/chains/adapter.ts';
import { MoneroAdapter, type MoneroOptions } from '../../daemon/chains/xmr/adapter.ts';
import type { DerivedAddress } from '../../daemon/domain/chain.ts';
import type { MoneroUnsigned, SignedSpend } from '../../daemon/domain/spend.ts';
import { addressAt } from '../../daemon/monero/address.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { FeeCover } from '../../daemon/wallet/signer/fee-cover.ts';
import type { Memory } from '../../daemon/wallet/signer/permission.ts';
import { ADDRESS_SELF, type Intent } from '../../daemon/wallet/signer/port.ts';
import { SignedChanges } from '../../daemon/wallet/signer/signed-changes.ts';
import { judgeMonero } from '../../daemon/wallet/signer/xmr/judge.ts';
import type { Monerod } from '../nodes/monerod.ts';
import { MonerodProxy } from '../nodes/monerod-proxy.ts';
import { startMonerod } from '../support/monerod.ts';
import type { ChainControls } from './conformance.ts';
import type { SpendingControls } from './spending-conformance.ts';

const SEED = Buffer.alloc(64, 7);
/** The suites spend a third of what they are paid. */
const UNITS = 10n ** 11n;
const NOTHING_SIGNED: Memory = {
  grants: new Map(),
  gasGrants: new Map(),
  forwardGrants: new Map(),
  forwardIndices: { next: (_key: string, from: number) => from },
  tanks: new Map(),
  gasUsed: new Map(),
  policySpends: [],
  changes: new SignedChanges(),
  policyFees: new FeeCover(),
  gasFunded: new Map(),
  fundedBefore: new Map(),
  isFresh: false,
  epochs: [null],
  signed: new Map(),
};

/** A node with a payer, an RPC before it, and what connects an adapter to them. */
export class MoneroScene {
  readonly account = accountKey(SEED, 'XMR', 'regtest', 0);
  readonly node: Monerod;
  readonly proxy: MonerodProxy;

  private constructor(node: Monerod, proxy: MonerodProxy) {
    this.node = node;
    this.proxy = proxy;
  }

  static async start(): Promise<MoneroScene> {
    const node = await startMonerod();
    return new MoneroScene(node, await MonerodProxy.start(node.url));
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.node.remove();
  }

  /** The account's standard address, as a wallet of Monero is made from it. */
  standard(): DerivedAddress {
    return addressAt(this.account, 1, 0, 'regtest');
  }

  connect(
    list: ScriptList,
    urls: readonly string[] = [this.proxy.url],
    options: Partial<MoneroOptions> = {},
  ): MoneroAdapter {
    return new MoneroAdapter({
      network: 'regtest',
      urls,
      list,
      accounts: () => [this.account],
      needsAgreement: () => true,
      alert: () => {},
      onOdd: () => {},
      pollMs: 100,
      blocksPerStep: 5,
      ...options,
    });
  }

  get controls(): ChainControls {
    const { node, proxy } = this;
    return {
      account: this.account,
      connect: (list) => this.connect(list),
      mine: (count) => node.mine(count),
      pay: (outputs) => node.pay(outputs),
      reorg: (depth, drop) => node.reorg(depth, drop),
      replace: (txid) => node.flush([txid]),
      evictAll: () => node.flush(),
      spend: async () => {
        throw new Error('a view key sees no spend');
      },
      lag: async () => {
        const { height } = await node.rpc<{ height: number }>('get_info', {});
        await proxy.fallBehind(height - 2);
      },
      catchUp: async () => {
        proxy.change = () => undefined;
      },
      disconnect: () => proxy.close(),
      reconnect: () => proxy.listen(),
      stop: async () => {},
    };
  }

  get spending(): SpendingControls {
    const { node, proxy } = this;
    return {
      asset: 'XMR',
      account: this.account,
      units: UNITS,
      connect: (list) => this.connect(list),
      async pay(to) {
        await node.pay([to]);
      },
      mine: (count) => node.mine(count),
      reorg: (depth) => node.reorg(depth, false),
      async sign(unsigned) {
        if (!('rings' in unsigned)) throw new Error('a plan of Monero');
        return sign(unsigned);
      },
      stranger: () => node.newAddress(),
      received: (address) => node.received(address),
      disconnect: () => proxy.close(),
      reconnect: () => proxy.listen(),
      stop: async () => {},
    };
  }
}

/** Signs as the product's signer does what a suite planned. */
export function sign(unsigned: MoneroUnsigned): Promise<SignedSpend> {
  const { plan } = unsigned;
  const payouts = plan.outputs.filter(({ kind }) => kind === 'payout');
  const common = { network: plan.network, accountNo: 0, chain: 'XMR' as const, asset: 'XMR' as const };
  const coins = plan.inputs.map(({ outpoint }) => outpoint);
  const intents = payouts.map(({ address, units }, at): Intent => {
    const sweep = plan.outputs.length === 1;
    return { ...common, uuid: `payment ${at}`, address, units: `${units}`, sweep, coins: null, feeMax: `${plan.fee}` };
  });
  const self: Intent = { ...common, uuid: 'self', address: ADDRESS_SELF, units: '0', sweep: false, coins, feeMax: '0' };
  const wanted = intents.length > 0 ? intents : [{ ...self, feeMax: `${plan.fee}` }];
  const order = {
    ...unsigned,
    purpose: 'pay' as const,
    withdrawals: wanted.map((intent) => ({ intent, approval: { by: 'operator' as const, until: 1, mac: '' } })),
  };
  return Promise.resolve(
    judgeMonero(order, { seed: SEED, imported: [] }, { memory: NOTHING_SIGNED, now: 0, isApproved: () => true }).sign(),
  );
}
