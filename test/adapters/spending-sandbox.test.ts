/** The conformance suite of spending on the sandbox: coins, accounts with and without tokens, and Monero. */
import type { WatchList } from '../../daemon/chains/adapter.ts';
import { type AssetId, assetOf, CHAINS } from '../../daemon/domain/assets.ts';
import { scriptAt } from '../../daemon/sandbox/addresses.ts';
import { sandboxStore } from '../../daemon/sandbox/rows.ts';
import { createSandbox } from '../../daemon/sandbox/sandbox.ts';
import { simulatedSpend } from '../../daemon/sandbox/simulated.ts';
import { accountSpend } from '../../daemon/sandbox/simulated-accounts.ts';
import { sqlite, statement } from '../../daemon/store/statement.ts';
import { Store } from '../../daemon/store/store.ts';
import { accountKey } from '../../daemon/wallet/accounts.ts';
import { seedOf } from '../../daemon/wallet/mnemonic.ts';
import { signPlan } from '../../daemon/wallet/signer/sign.ts';
import { FactBook } from './fact-book.ts';
import { type SpendingControls, type SpendingHarness, spendingConformance } from './spending-conformance.ts';

/** BIP-39's first test vector. */
const WORDS = `${'abandon '.repeat(11)}about`;
const STRANGERS_ACCOUNT = 7;

const paidInBlocks = statement((p: { chain: string; script: Uint8Array; asset: AssetId }) =>
  sqlite
    .selectFrom('sandbox_output as o')
    .innerJoin('sandbox_tx as t', 't.id', 'o.tx_id')
    .select('o.units')
    .where('o.chain', '=', p.chain)
    .where('o.script', '=', p.script)
    .where('o.asset', '=', p.asset)
    .where('t.block_height', 'is not', null),
);

async function controls(asset: AssetId): Promise<SpendingControls> {
  const { chain, decimals } = assetOf(asset);
  const store = await Store.inMemory();
  const seed = await seedOf(WORDS, '');
  let watched: WatchList = new FactBook();
  const sandbox = createSandbox({
    store: sandboxStore(store),
    chains: CHAINS,
    now: Date.now,
    blockSeconds: 0,
    watch: () => watched,
  });
  const strangers = accountKey(seed, chain, 'sandbox', STRANGERS_ACCOUNT);
  let made = 0;
  return {
    asset,
    account: accountKey(seed, chain, 'sandbox', 0),
    units: 10n ** BigInt(decimals),
    gas: 10n ** 17n,
    connect(watch) {
      watched = watch;
      return sandbox.adapter(chain);
    },
    async pay(to) {
      await sandbox.pay(chain, to);
    },
    async mine(count) {
      await sandbox.mine(chain, count);
    },
    async reorg(depth) {
      await sandbox.reorg(chain, depth, true);
    },
    async sign({ plan }) {
      if (plan.kind === 'utxo') return signPlan(seed, plan);
      if (plan.kind === 'sandbox') return simulatedSpend(plan);
      if (plan.kind === 'sandbox-account') return accountSpend(plan);
      throw new Error('a plan of the sandbox');
    },
    stranger: async () => (await sandbox.adapter(chain).deriveAddress(strangers, 0, made++)).address,
    async received(address) {
      const script = scriptAt(chain, address);
      if (!script) throw new Error('an address of the sandbox');
      return store.all(paidInBlocks, { chain, script, asset }).reduce((sum, { units }) => sum + units, 0n);
    },
    disconnect: () => sandbox.outage(chain, true),
    reconnect: () => sandbox.outage(chain, false),
    async stop() {
      await sandbox.close();
      await store.close();
    },
  };
}

const FAMILIES: readonly [AssetId, Partial<SpendingHarness>][] = [
  ['LTC', {}],
  ['BCH', {}],
  ['XMR', { ripeAfter: 10 }],
  ['ETH', { hasAccounts: true }],
  ['USDT_BEP20', { hasAccounts: true, hasGas: true }],
];

for (const [asset, family] of FAMILIES) {
  spendingConformance({ name: `the sandbox's ${asset}`, start: () => controls(asset), ...family });
}
