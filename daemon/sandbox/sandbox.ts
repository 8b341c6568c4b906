/**
 * The sandbox: a network whose chains live in this process and its database. It is the merchant's test mode and the fast
 * chain of every test.
 *
 * Invariant: a control or a block is one transaction of the database and is answered after its commit, so an answered
 * control survives a power cut. Waiting syncs are woken after the commit.
 */
import type { ChainAdapter, WatchList } from '../chains/adapter.ts';
import type { Spending } from '../chains/spending.ts';
import { UtxoSpending } from '../chains/utxo/spend/spending.ts';
import { type AssetId, assetOf, type ChainId } from '../domain/assets.ts';
import { assert, Rejected } from '../domain/errors.ts';
import { formatUnits } from '../domain/money.ts';
import { SimulatedAccountSpending } from './account-spending.ts';
import { SandboxAdapter, sourceDown } from './adapter.ts';
import { isUtxo, scriptAt, unitsMax } from './addresses.ts';
import {
  ensureChain,
  evict,
  type IsOurs,
  isBlockDue,
  mineBlock,
  needRoom,
  REORG_BLOCKS_MAX,
  reorganise,
  roomForBlocks,
  tipOfChain,
} from './consensus.ts';
import { loadPayer, premine, type Recipient } from './payer.ts';
import type { SandboxStore } from './rows.ts';
import { PREMINED, type SandboxWriter } from './rows.ts';
import { acceptSimulated } from './simulated.ts';
import { acceptAccount, isAccountChain } from './simulated-accounts.ts';
import { SimulatedSpending } from './simulated-spending.ts';
import { SandboxSpending } from './spending.ts';

const MINE_BLOCKS_MAX = 100;
const RECIPIENTS_MAX = 100;

type Payment = { address: string; asset: AssetId; units: bigint };

export interface Sandbox {
  /** The adapter of one simulated chain; each call makes another one. */
  adapter(chain: ChainId): ChainAdapter;
  /**
   * Adds a transaction to the mempool that pays `units` of an asset to the address, and to all further ones.
   * `Rejected`: `sandbox.asset`, `.address`, `.amount`, `.full`.
   */
  pay(chain: ChainId, payment: Payment, ...more: Payment[]): Promise<{ txid: string }>;
  /** Mines 1 to 100 blocks, each with the oldest 2,000 of the mempool. `Rejected`: `sandbox.blocks`, `.full`. */
  mine(chain: ChainId, blocks: number): Promise<{ height: number }>;
  /** Replaces the last 1 to 100 blocks by `depth + 1` empty ones; their transactions return to the mempool, or vanish
   * with `drop`. `Rejected`: `sandbox.depth`, `.full`. */
  reorg(chain: ChainId, depth: number, drop: boolean): Promise<{ height: number }>;
  /**
   * Replaces a payment in the mempool by one that spends the same coin and pays somebody else. Its descendants are
   * removed too. `Rejected`: `sandbox.unknown_tx`, `.already_mined`, `.not_the_payers`.
   */
  doubleSpend(chain: ChainId, txid: string): Promise<{ txid: string }>;
  /** Switches the chain's source off or on, also across restarts. The chain itself continues. */
  outage(chain: ChainId, down: boolean): Promise<void>;
  /**
   * Accepts a real signed transaction of BTC, LTC or BCH, or the JSON of a simulated one. A known one is a success.
   * Throws `Unavailable` while the source is down, and `Rejected('broadcast.…')` if a node would refuse it: see
   * `accept.ts` and `simulated.ts`.
   */
  broadcast(chain: ChainId, raw: Uint8Array): Promise<{ txid: string }>;
  start(): void;
  /** Stops the block timer and waits for the block under way. */
  close(): Promise<void>;
}

type SandboxOptions = {
  store: SandboxStore;
  chains: readonly ChainId[];
  watch: (chain: ChainId) => WatchList;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Seconds between automatic blocks while a chain is used (`isBlockDue`); 0: there are none. */
  blockSeconds: number;
  /** Called when a block could not be mined. The next one is tried at its time. */
  log?: (message: string, error: unknown) => void;
};

export function createSandbox(options: SandboxOptions): Sandbox {
  return new SimulatedChains(options);
}

class SimulatedChains implements Sandbox {
  readonly #options: SandboxOptions;
  readonly #wakers = new Map<ChainId, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;
  #ticking: Promise<void> | null = null;

  constructor(options: SandboxOptions) {
    this.#options = options;
    for (const chain of options.chains) this.#wakers.set(chain, new Set());
  }

  adapter(chain: ChainId): ChainAdapter {
    const { store, watch, now } = this.#options;
    const source = new SandboxSpending(chain, store, (raw) => this.broadcast(chain, raw));
    const spending = spendingOn(chain, source);
    return new SandboxAdapter({ chain, store, watch: watch(chain), now, wakers: this.#wakersOf(chain), spending });
  }

  async pay(chain: ChainId, payment: Payment, ...more: Payment[]): Promise<{ txid: string }> {
    const { asset } = payment;
    if (assetOf(asset).chain !== chain || more.some((other) => other.asset !== asset)) {
      throw new Rejected('sandbox.asset', `${asset} is not on the chain ${chain}`, 'crypto');
    }
    assert(more.length < RECIPIENTS_MAX, `a payment has at most ${RECIPIENTS_MAX} recipients`);
    const to = [payment, ...more].map((each) => recipientOf(chain, each));
    const units = to.reduce((sum, each) => sum + each.units, 0n);
    const payer = await loadPayer(chain);
    const txid = await this.#change(chain, (tx, now) => {
      needRoom(tx, chain);
      const coin = premine(tx, chain, { script: payer.script, asset, units: units + payer.fee });
      return payer.send(tx, coin, to, now);
    });
    return { txid };
  }

  async mine(chain: ChainId, blocks: number): Promise<{ height: number }> {
    needCount(blocks, MINE_BLOCKS_MAX, 'blocks');
    const height = await this.#change(chain, (tx, now) => {
      if (roomForBlocks(tx, chain) < blocks) {
        throw new Rejected('sandbox.full', 'Too many blocks were mined since the source went down', 'blocks');
      }
      for (let i = 0; i < blocks; i++) mineBlock(tx, chain, now, this.#isOurs(chain));
      return tipOfChain(tx, chain).height;
    });
    return { height };
  }

  async reorg(chain: ChainId, depth: number, drop: boolean): Promise<{ height: number }> {
    needCount(depth, REORG_BLOCKS_MAX, 'depth');
    const { height } = await this.#change(chain, (tx, now) => reorganise(tx, chain, { depth, drop, now }));
    return { height };
  }

  async doubleSpend(chain: ChainId, txid: string): Promise<{ txid: string }> {
    const payer = await loadPayer(chain);
    const replacement = await this.#change(chain, (tx, now) => {
      const paid = tx.transaction(chain, txid);
      if (!paid) throw new Rejected('sandbox.unknown_tx', 'There is no such transaction', 'tx_id');
      if (paid.height !== null) throw new Rejected('sandbox.already_mined', 'It is in a block: reorganise', 'tx_id');
      const coin = tx.spentBy(paid.id).find(({ transactionId }) => transactionId === PREMINED);
      if (!coin) {
        throw new Rejected('sandbox.not_the_payers', 'Only what the payer sent can be double-spent', 'tx_id');
      }
      const units = tx.outputsOf(paid.id).reduce((sum, output) => sum + output.units, 0n);
      evict(tx, chain, paid.id);
      tx.addOutput(chain, { ...coin, spentBy: null });
      // The fee of a replacement must rise, if the amount allows it.
      const left = units > payer.fee ? units - payer.fee : units;
      return payer.send(tx, coin, [{ ...payer.stranger, units: left }], now);
    });
    return { txid: replacement };
  }

  async outage(chain: ChainId, down: boolean): Promise<void> {
    await this.#change(chain, (tx) => tx.setDown(chain, down));
  }

  async broadcast(chain: ChainId, raw: Uint8Array): Promise<{ txid: string }> {
    if (this.#options.store.chain(chain)?.down) throw sourceDown();
    if (!isUtxo(chain)) {
      const text = Buffer.from(raw).toString('utf8');
      const take = isAccountChain(chain) ? acceptAccount : acceptSimulated;
      return { txid: await this.#change(chain, (tx, now) => take(tx, chain, text, now)) };
    }
    const [{ accept }, { decode }] = await Promise.all([import('./accept.ts'), import('./signed.ts')]);
    const signed = decode(chain, raw);
    await this.#change(chain, (tx, now) => accept(tx, chain, signed, now));
    return { txid: signed.txid };
  }

  start(): void {
    const { blockSeconds } = this.#options;
    if (blockSeconds <= 0 || this.#timer) return;
    this.#timer = setInterval(() => {
      this.#ticking ??= this.#tick().finally(() => {
        this.#ticking = null;
      });
    }, blockSeconds * 1_000);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    await this.#ticking;
  }

  /** A block on every chain where one is due, in one transaction. */
  async #tick(): Promise<void> {
    const { store, chains, now, log } = this.#options;
    try {
      const mined = await store.write((tx) =>
        chains.filter((chain) => {
          ensureChain(tx, chain, now());
          const isDue = isBlockDue(tx, chain, now());
          if (isDue) mineBlock(tx, chain, now(), this.#isOurs(chain));
          return isDue;
        }),
      );
      for (const chain of mined) this.#wake(chain);
    } catch (error) {
      log?.('The sandbox could not mine a block', error);
    }
  }

  async #change<T>(chain: ChainId, work: (tx: SandboxWriter, now: number) => T): Promise<T> {
    this.#wakersOf(chain);
    const result = await this.#options.store.write((tx) => {
      const now = this.#options.now();
      ensureChain(tx, chain, now);
      return work(tx, now);
    });
    this.#wake(chain);
    return result;
  }

  #wake(chain: ChainId): void {
    for (const wake of this.#wakersOf(chain)) wake();
  }

  #wakersOf(chain: ChainId): Set<() => void> {
    const wakers = this.#wakers.get(chain);
    assert(wakers, `the sandbox simulates ${chain}`);
    return wakers;
  }

  #isOurs(chain: ChainId): IsOurs {
    const watch = this.#options.watch(chain);
    return (script) => watch.targetIdOf(script) !== undefined;
  }
}

function spendingOn(chain: ChainId, source: SandboxSpending): Spending {
  if (isUtxo(chain)) return new UtxoSpending(chain, 'sandbox', source);
  return isAccountChain(chain) ? new SimulatedAccountSpending(chain, source) : new SimulatedSpending(chain, source);
}

function recipientOf(chain: ChainId, { address, asset, units }: Payment): Recipient {
  const script = scriptAt(chain, address);
  if (!script) throw new Rejected('sandbox.address', `This is no address of the sandbox's ${chain}`, 'address');
  if (units <= 0n || units > unitsMax(asset)) {
    const most = formatUnits(unitsMax(asset), assetOf(asset));
    throw new Rejected('sandbox.amount', `The amount must be above 0 and at most ${most} ${asset}`, 'amount');
  }
  return { script, address, units };
}

function needCount(count: number, max: number, field: 'blocks' | 'depth'): void {
  if (!Number.isInteger(count) || count < 1 || count > max) {
    throw new Rejected(`sandbox.${field}`, `The ${field} must be a whole number from 1 to ${max}`, field);
  }
}
