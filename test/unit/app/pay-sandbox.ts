/**
 * A chain of the sandbox with accounts or key images, driven block by block. Its business is one of mainnet, so that alerts,
 * locks and approvals are those of real money.
 */
import { watchList } from '../../../daemon/app/addresses/watch.ts';
import type { ChainAdapter } from '../../../daemon/chains/adapter.ts';
import { type AssetId, assetOf, type ChainId, nativeAsset } from '../../../daemon/domain/assets.ts';
import { type AccountKey, type Branch, chainKey, type DerivedAddress } from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { nonceOf } from '../../../daemon/domain/spend.ts';
import { deriveAddress, scriptAt } from '../../../daemon/sandbox/addresses.ts';
import { addToMempool, evict, hashFor, mineBlock, reorganise, tipOfChain } from '../../../daemon/sandbox/consensus.ts';
import { premine } from '../../../daemon/sandbox/payer.ts';
import {
  type SandboxOutput,
  type SandboxStore,
  type SandboxWriter,
  sandboxStore,
} from '../../../daemon/sandbox/rows.ts';
import { createSandbox } from '../../../daemon/sandbox/sandbox.ts';
import { simulatedRaw } from '../../../daemon/sandbox/simulated.ts';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import type { Store } from '../../../daemon/store/store.ts';
import { testAccount } from '../../adapters/keys.ts';
import { moneroAccount } from '../../adapters/sandbox-kit.ts';
import type { Deposit, PayNetwork } from './pay-network.ts';

/** A payment of the payer's, with the coin that it spends. */
type SandboxDeposit = Deposit & { raw: string; to: DerivedAddress; coin: SandboxOutput; units: bigint };

/** Enough for the fees of some hundred transactions. */
const GAS = 10n ** 17n;
const PAYER = Buffer.from('the payer');
const STRANGER_XMR: AccountKey = {
  kind: 'monero',
  privateViewKey: '0d'.padEnd(64, '0'),
  publicSpendKey: `58${'66'.repeat(31)}`,
};
/** BIP-32's second test vector, master key. */
const STRANGER_EVM: AccountKey = {
  kind: 'secp256k1',
  publicKey: '03cbcaa9c98c877a26977d00825c956a238e8dddfbd322cce4f74b0b5bd6ace4a7',
  chainCode: '60499f801b896d83179a4374aeb7822aaeaceaa0db1f85ee3e904c4defbd9689',
};

const outputsOfAsset = statement((p: { chain: string; asset: AssetId }) =>
  sqlite
    .selectFrom('sandbox_output as o')
    .innerJoin('sandbox_tx as t', 't.id', 'o.tx_id')
    .leftJoin('sandbox_tx as s', 's.id', 'o.spent_by')
    .select(['o.outpoint', 'o.script', 'o.units', 't.txid', 's.block_height as spent_height'])
    .where('o.chain', '=', p.chain)
    .where('o.asset', '=', p.asset)
    .where('t.block_height', 'is not', null),
);

/** Addresses are the same in every test, and those of Monero take milliseconds. */
const derived = new Map<string, DerivedAddress>();

function derive(chain: ChainId, account: AccountKey, branch: Branch, index: number): DerivedAddress {
  const name = JSON.stringify([chain, account, branch, index]);
  const known = derived.get(name) ?? deriveAddress(chain, account, branch, index);
  derived.set(name, known);
  return known;
}

export class PaySandbox implements PayNetwork<SandboxDeposit> {
  readonly asset: AssetId;
  readonly chain: ChainId;
  readonly coin: bigint;
  readonly account: AccountKey;
  readonly flags: Record<string, string>;
  readonly reusesAddresses: boolean;
  readonly offered: string[] = [];
  refuses: PayNetwork['refuses'] = null;
  #store: Store | null = null;
  #rows: SandboxStore | null = null;
  #adapter: ChainAdapter | null = null;
  #targetIdOf: (script: Uint8Array) => number | undefined = () => undefined;
  #now: () => number = Date.now;
  readonly #dead = new Set<string>();

  constructor(asset: AssetId, flags: Record<string, string> = {}) {
    const { chain, decimals } = assetOf(asset);
    this.asset = asset;
    this.flags = flags;
    this.chain = chain;
    this.coin = 10n ** BigInt(decimals);
    this.account = chain === 'XMR' ? moneroAccount : testAccount;
    this.reusesAddresses = chain !== 'XMR';
  }

  get adapter(): ChainAdapter {
    if (!this.#adapter) throw new Error('it is connected');
    return this.#adapter;
  }

  get #chainRows(): SandboxStore {
    if (!this.#rows) throw new Error('it is connected');
    return this.#rows;
  }

  /** Its blocks and its mempool are in the service's database. */
  copy(): PaySandbox {
    const copy = new PaySandbox(this.asset, this.flags);
    for (const txid of this.#dead) copy.#dead.add(txid);
    return copy;
  }

  connect(store: Store, now: () => number): ChainAdapter {
    const { chain } = this;
    this.#store = store;
    this.#rows = sandboxStore(store);
    this.#now = now;
    const watch = watchList(store, chainKey('mainnet', chain));
    this.#targetIdOf = watch.targetIdOf;
    const sandbox = createSandbox({ store: this.#rows, chains: [chain], watch: () => watch, now, blockSeconds: 0 });
    const real = sandbox.adapter(chain);
    const { spending } = real;
    if (!spending) throw new Error('the sandbox pays out');
    const node = spending.broadcast.bind(spending);
    spending.broadcast = async (raw, signal) => {
      const { txid } = spending.decode(raw);
      this.offered.push(txid);
      const refusal = await this.refuses?.({ txid, raw });
      if (refusal) throw new Rejected('broadcast.refused', refusal);
      await node(raw, signal);
    };
    this.take = (raw) => node(raw, new AbortController().signal);
    this.#adapter = {
      network: 'mainnet',
      chain,
      spending,
      ...(real.accountBased && { accountBased: true }),
      deriveAddress: async (account, branch, index) => derive(chain, account, branch, index),
      isValidAddress: (text) => real.isValidAddress(text),
      begin: (birthday, signal) => real.begin(birthday, signal),
      sync: (since, signal) => real.sync(since, signal),
      onHint: (wake) => real.onHint(wake),
      health: () => real.health(),
      close: () => real.close(),
    };
    return this.#adapter;
  }

  stranger(index: number): string {
    return derive(this.chain, this.chain === 'XMR' ? STRANGER_XMR : STRANGER_EVM, 0, index).address;
  }

  async deposit(to: DerivedAddress, units: bigint): Promise<SandboxDeposit> {
    const native = nativeAsset(this.chain).symbol;
    if (native !== this.asset) await this.give(to, native, GAS);
    return this.give(to, this.asset, units);
  }

  /** A deposit of one asset alone. */
  give(to: DerivedAddress, asset: AssetId, units: bigint): Promise<SandboxDeposit> {
    return this.#write((tx) => {
      const coin = premine(tx, this.chain, { script: PAYER, asset, units });
      return this.#pay(tx, coin, to, units);
    });
  }

  take: PayNetwork['take'] = () => {
    throw new Error('it is connected');
  };

  async mine(count = 1): Promise<void> {
    await this.#write((tx) => {
      for (let i = 0; i < count; i++) mineBlock(tx, this.chain, this.#now(), () => true);
    });
  }

  async undo(depth: number, dropped: readonly SandboxDeposit[], killed: readonly SandboxDeposit[] = []): Promise<void> {
    await this.#write((tx) => {
      reorganise(tx, this.chain, { depth, drop: false, now: this.#now() });
      for (const { txid } of [...dropped, ...killed]) this.#evict(tx, txid);
      for (const one of killed) this.#supersede(tx, one);
      if (killed.length > 0) mineBlock(tx, this.chain, this.#now(), () => true);
    });
  }

  async again({ txid, raw, to, coin, units }: SandboxDeposit): Promise<void> {
    const { chain } = this;
    if (this.#dead.has(txid)) throw new Rejected('broadcast.refused', 'its coin was spent');
    await this.#write((tx) => {
      if (tx.transaction(chain, txid)) return;
      tx.addOutput(chain, { ...coin, spentBy: null });
      const outputs = [{ script: to.script, asset: coin.asset, units }];
      addToMempool(tx, chain, { txid, raw, inputs: [coin.outpoint], outputs }, this.#now());
    });
  }

  async kill(deposit: SandboxDeposit): Promise<void> {
    await this.#write((tx) => {
      this.#evict(tx, deposit.txid);
      this.#supersede(tx, deposit);
      mineBlock(tx, this.chain, this.#now(), () => true);
    });
  }

  async forget(txid: string): Promise<void> {
    await this.#write((tx) => {
      if (tx.transaction(this.chain, txid)?.height === null) this.#evict(tx, txid);
    });
  }

  waiting(): string[] {
    return this.#chainRows.transactionsIn(this.chain, null, 1_000).map(({ txid }) => txid);
  }

  depthOf(txid: string): number {
    const height = this.#chainRows.transaction(this.chain, txid)?.height ?? null;
    return height === null ? 0 : tipOfChain(this.#chainRows, this.chain).height - height + 1;
  }

  isDead({ txid }: SandboxDeposit): boolean {
    return this.#dead.has(txid);
  }

  feeds({ txid, to }: SandboxDeposit, conflictKey: string): boolean {
    const nonce = nonceOf(conflictKey);
    return nonce ? nonce.address === to.address : conflictKey.startsWith(`${txid}:`);
  }

  paidTo(address: string): string[] {
    const script = scriptAt(this.chain, address) ?? new Uint8Array();
    return this.#inBlocks()
      .filter((output) => Buffer.compare(output.script, script) === 0)
      .map(({ txid }) => txid);
  }

  unspent(): bigint {
    return this.#inBlocks()
      .filter(({ script, spent_height }) => spent_height === null && this.#targetIdOf(script) !== undefined)
      .reduce((sum, { units }) => sum + units, 0n);
  }

  #inBlocks() {
    if (!this.#store) throw new Error('it is connected');
    return this.#store.all(outputsOfAsset, { chain: this.chain, asset: this.asset });
  }

  #write<T>(work: (tx: SandboxWriter) => T): Promise<T> {
    return this.#chainRows.write(work);
  }

  #pay(tx: SandboxWriter, coin: SandboxOutput, to: DerivedAddress, units: bigint): SandboxDeposit {
    const { chain } = this;
    const output = { address: to.address, asset: coin.asset, units };
    const raw = simulatedRaw(chain, [coin.outpoint], [output]);
    const txid = hashFor(chain, raw);
    const outputs = [{ script: to.script, asset: coin.asset, units }];
    addToMempool(tx, chain, { txid, raw, inputs: [coin.outpoint], outputs }, this.#now());
    return { txid, raw, to, coin, units };
  }

  /** A payment to a stranger of the coin that a deposit spent. */
  #supersede(tx: SandboxWriter, { txid, coin, units }: SandboxDeposit): void {
    this.#dead.add(txid);
    if (!tx.output(this.chain, coin.outpoint)) tx.addOutput(this.chain, { ...coin, spentBy: null });
    const address = this.stranger(99_999);
    const script = scriptAt(this.chain, address);
    if (script) this.#pay(tx, coin, { address, script }, units);
  }

  #evict(tx: SandboxWriter, txid: string): void {
    const row = tx.transaction(this.chain, txid);
    if (row) evict(tx, this.chain, row.id);
  }
}
