/**
 * A simulated network of Ethereum or BNB Smart Chain: blocks with real headers, receipts and state, made by EthereumJS's
 * virtual machine, and a pool of waiting transactions. One miner; every node shows the same chain (`rpc.ts`).
 */
import { bytesToHex, type Hex, hexToBytes } from 'viem';
import { chainIdOf, type EvmChain } from '../../../daemon/domain/evm.ts';
import {
  type Machine,
  type MachineBlock,
  type MachineLog,
  type MachineReceipt,
  type MachineTx,
  openMachine,
} from './machine.ts';

const GAS_LIMIT = 30_000_000n;
const BLOCK_SECONDS = 12;
export const FINAL_DEPTH = 8;
const GWEI = 1_000_000_000n;
/** Private keys of payers. Each sends one transaction after the other. */
const PAYER_KEY = new Uint8Array(32).fill(7);
const PAYER_UNITS = 10n ** 30n;
/** Refused replacements raise a fee by less (as go-ethereum's pool). */
const REPLACEMENT_PERCENT = 110n;

/** A log as endpoints show it. */
export type ShownLog = {
  address: Hex;
  topics: Hex[];
  data: Hex;
  blockNumber: Hex;
  blockHash: Hex;
  transactionHash: Hex;
  transactionIndex: Hex;
  logIndex: Hex;
  removed: boolean;
};

type MinedTx = {
  tx: MachineTx;
  id: Hex;
  from: Hex;
  gasUsed: bigint;
  price: bigint;
  receipt: MachineReceipt;
  logs: ShownLog[];
  created: Hex | null;
};
export type Mined = {
  block: MachineBlock;
  hash: Hex;
  height: number;
  seconds: number;
  root: Uint8Array;
  txs: MinedTx[];
};

const quantity = (number: bigint | number): Hex => `0x${number.toString(16)}`;
export const idOf = (tx: MachineTx): Hex => bytesToHex(tx.hash());
const senderOf = (tx: MachineTx): Hex => bytesToHex(tx.getSenderAddress().bytes);

/** The most that a transaction may take from its sender, wei. */
const costOf = ({ gasLimit, maxFeePerGas, value }: MachineTx): bigint => gasLimit * maxFeePerGas + value;

/** What a node shows of the network, and takes from others. */
export type Shown = Pick<
  AccountNetwork,
  | 'name'
  | 'machine'
  | 'chain'
  | 'byHash'
  | 'pool'
  | 'baseFee'
  | 'tip'
  | 'final'
  | 'isCanonical'
  | 'placeOf'
  | 'nonceInPool'
  | 'accountAt'
  | 'call'
  | 'submit'
>;

export class AccountNetwork {
  readonly name: EvmChain;
  readonly machine: Machine;
  /** The chain, the first block first. */
  readonly chain: Mined[];
  readonly byHash = new Map<Hex, Mined>();
  /** Waiting transactions by their id. */
  readonly pool = new Map<Hex, MachineTx>();
  /** Every transaction that was ever seen. */
  readonly seen = new Map<Hex, MachineTx>();
  baseFee = 2n * GWEI;
  readonly payer: Hex;
  #payerNonce = 0n;
  #branch = 0;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #seconds: () => number;

  private constructor(name: EvmChain, machine: Machine, genesis: Mined, seconds: () => number) {
    this.name = name;
    this.machine = machine;
    this.chain = [genesis];
    this.byHash.set(genesis.hash, genesis);
    this.#seconds = seconds;
    this.payer = senderOf(this.#signed({ nonce: 0n, gasLimit: 21_000n, to: `0x${'22'.repeat(20)}` as Hex, value: 0n }));
  }

  /** `seconds`: the world's time. */
  static async start(name: EvmChain, seconds: () => number): Promise<AccountNetwork> {
    const machine = await openMachine(chainIdOf('regtest', name));
    const probe = machine.sign({ nonce: 0n, gasLimit: 21_000n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }, PAYER_KEY);
    await machine.state.putAccount(probe.getSenderAddress(), machine.account({ balance: PAYER_UNITS, nonce: 0n }));
    const stateRoot = await machine.state.getStateRoot();
    const timestamp = BigInt(seconds() - BLOCK_SECONDS);
    const block = machine.genesis({ number: 0n, gasLimit: GAS_LIMIT, timestamp, stateRoot, baseFeePerGas: 2n * GWEI });
    const hash = bytesToHex(block.hash());
    const first = { block, hash, height: 0, seconds: Number(timestamp), root: stateRoot, txs: [] };
    return new AccountNetwork(name, machine, first, seconds);
  }

  get tip(): Mined {
    return this.chain.at(-1) as Mined;
  }

  /** The newest final block. */
  get final(): Mined {
    return this.chain[Math.max(0, this.tip.height - FINAL_DEPTH)] as Mined;
  }

  isCanonical({ height, hash }: Mined): boolean {
    return this.chain[height]?.hash === hash;
  }

  /** Where a transaction is in the chain; null: nowhere. */
  placeOf(id: Hex): { mined: Mined; at: number } | null {
    for (const mined of this.chain) {
      const at = mined.txs.findIndex((one) => one.id === id);
      if (at >= 0) return { mined, at };
    }
    return null;
  }

  /** The state is one, so whoever works on it has it alone. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Mines blocks, the first with what waits and can pay. */
  mine(count = 1): Promise<void> {
    return this.alone(async () => {
      for (let i = 0; i < count; i++) await this.#mineOne();
    });
  }

  async #mineOne(): Promise<void> {
    const { machine, tip } = this;
    await machine.state.setStateRoot(tip.root);
    const seconds = Math.max(tip.seconds + 1, this.#seconds());
    const builder = await machine.build(tip.block, {
      timestamp: BigInt(seconds),
      gasLimit: GAS_LIMIT,
      baseFeePerGas: this.baseFee,
      // blocks of another branch differ
      coinbase: machine.addressOf(quantity(0x9900000000000000000000000000000000000000n + BigInt(this.#branch))),
    });
    const taken: { tx: MachineTx; gasUsed: bigint; receipt: MachineReceipt; created: Hex | null }[] = [];
    for (const tx of this.#payable()) {
      const id = idOf(tx);
      try {
        const { totalGasSpent, receipt, createdAddress } = await builder.addTransaction(tx);
        const created = createdAddress ? bytesToHex(createdAddress.bytes) : null;
        taken.push({ tx, gasUsed: totalGasSpent, receipt, created });
        this.pool.delete(id);
      } catch {
        // it waits for a lower price or an earlier nonce, or its nonce was used; nodes drop what costs more than its sender has
        // (go-ethereum's core/txpool/legacypool: demoteUnexecutables)
        const { nonce, balance } = await this.#now(tx);
        if (tx.nonce < nonce || balance < costOf(tx)) this.pool.delete(id);
      }
    }
    const { block } = await builder.build();
    const hash = bytesToHex(block.hash());
    const height = Number(block.header.number);
    const mined: Mined = { block, hash, height, seconds, root: block.header.stateRoot, txs: [] };
    let logIndex = 0;
    for (const [at, { tx, gasUsed, receipt, created }] of taken.entries()) {
      const id = idOf(tx);
      const logs = receipt.logs.map((log) => shownLog(log, mined, { id, at, index: logIndex++ }));
      const tip =
        tx.maxPriorityFeePerGas < tx.maxFeePerGas - this.baseFee
          ? tx.maxPriorityFeePerGas
          : tx.maxFeePerGas - this.baseFee;
      mined.txs.push({ tx, id, from: senderOf(tx), gasUsed, price: this.baseFee + tip, receipt, logs, created });
    }
    this.chain.push(mined);
    this.byHash.set(hash, mined);
  }

  /** The sender's account within the block that is made. */
  async #now(tx: MachineTx): Promise<{ nonce: bigint; balance: bigint }> {
    const account = await this.machine.state.getAccount(tx.getSenderAddress());
    return { nonce: account?.nonce ?? 0n, balance: account?.balance ?? 0n };
  }

  /** What waits, each sender's in the order of its nonces. */
  #payable(): MachineTx[] {
    return [...this.pool.values()]
      .filter(({ maxFeePerGas }) => maxFeePerGas >= this.baseFee)
      .sort((a, b) => Number(a.nonce - b.nonce));
  }

  /** The last `depth` blocks give way to `depth + 1` others. What they had waits again, or is gone. */
  async reorganise(depth: number, isGone: (id: Hex) => boolean): Promise<void> {
    const orphaned = this.chain.splice(Math.max(1, this.chain.length - depth));
    this.#branch++;
    for (const { tx, id, from } of orphaned.flatMap(({ txs }) => txs)) {
      if (from === this.payer || !isGone(id)) this.pool.set(id, tx);
    }
    await this.mine(orphaned.length + 1);
  }

  /** Takes signed bytes into the pool. Returns the refusal, as nodes word it, or null. */
  async submit(raw: Uint8Array): Promise<string | null> {
    const tx = this.machine.read(raw);
    const id = idOf(tx);
    if (this.pool.has(id)) return 'already known';
    const { nonce, balance } = await this.accountAt(senderOf(tx), this.tip);
    if (tx.nonce < nonce) return 'nonce too low';
    if (balance < costOf(tx)) return 'insufficient funds for gas * price + value';
    const from = senderOf(tx);
    const other = [...this.pool.values()].find((one) => one.nonce === tx.nonce && senderOf(one) === from);
    if (other) {
      const isDearer = (now: bigint, before: bigint): boolean => now * 100n >= before * REPLACEMENT_PERCENT;
      const pays =
        isDearer(tx.maxFeePerGas, other.maxFeePerGas) && isDearer(tx.maxPriorityFeePerGas, other.maxPriorityFeePerGas);
      if (!pays) return 'replacement transaction underpriced';
      this.pool.delete(idOf(other));
    }
    this.pool.set(id, tx);
    this.seen.set(id, tx);
    return null;
  }

  /** The nonce after those of an address that wait one after the other. `nonce`: the next one after its blocks. */
  nonceInPool(address: Hex, nonce: bigint): bigint {
    const waiting = [...this.pool.values()].filter((tx) => senderOf(tx) === address);
    let next = nonce;
    while (waiting.some((tx) => tx.nonce === next)) next++;
    return next;
  }

  #signed(fields: { nonce: bigint; gasLimit: bigint; to?: Hex; value: bigint; data?: Uint8Array }): MachineTx {
    const { to, ...rest } = fields;
    const maxFeePerGas = 10_000n * GWEI;
    const target = to === undefined ? {} : { to: this.machine.addressOf(to) };
    return this.machine.sign({ ...rest, ...target, maxFeePerGas, maxPriorityFeePerGas: GWEI }, PAYER_KEY);
  }

  /** The payer sends a transaction. Returns its id. */
  pay(to: Hex | null, value: bigint, data?: Hex): Hex {
    const call = data === undefined ? {} : { data: hexToBytes(data) };
    const target = to === null ? {} : { to };
    const tx = this.#signed({ nonce: this.#payerNonce++, gasLimit: 3_000_000n, ...target, value, ...call });
    const id = idOf(tx);
    this.pool.set(id, tx);
    this.seen.set(id, tx);
    return id;
  }

  /** Makes a contract and mines it. */
  async deploy(data: Hex): Promise<Hex> {
    const id = this.pay(null, 0n, data);
    await this.mine();
    const place = this.placeOf(id);
    const created = place?.mined.txs[place.at]?.created;
    if (!created) throw new Error('a contract was not made');
    return created;
  }

  /** An account after a block. */
  accountAt(address: Hex, mined: Mined): Promise<{ nonce: bigint; balance: bigint }> {
    return this.alone(async () => {
      await this.machine.state.setStateRoot(mined.root);
      const account = await this.machine.state.getAccount(this.machine.addressOf(address));
      return { nonce: account?.nonce ?? 0n, balance: account?.balance ?? 0n };
    });
  }

  /** Runs a call after a block, and forgets it. `to` null: as the code that would make a contract. */
  call({ from, to, value, data }: { from: Hex | null; to: Hex | null; value: bigint; data: Hex }, mined: Mined) {
    return this.alone(async () => {
      const { machine } = this;
      await machine.state.setStateRoot(mined.root);
      await machine.state.checkpoint();
      try {
        const { execResult } = await machine.vm.evm.runCall({
          caller: machine.addressOf(from ?? `0x${'00'.repeat(20)}`),
          ...(to !== null && { to: machine.addressOf(to) }),
          value,
          data: hexToBytes(data),
          gasLimit: GAS_LIMIT,
          gasPrice: 0n,
          block: mined.block,
          skipBalance: from === null,
        });
        const { exceptionError, returnValue, executionGasUsed } = execResult;
        const bytes = hexToBytes(data);
        const zeros = BigInt(bytes.filter((byte) => byte === 0).length);
        const gas = 21_000n + 4n * zeros + 16n * (BigInt(bytes.length) - zeros) + executionGasUsed;
        return { failed: exceptionError?.error ?? null, returned: bytesToHex(returnValue), gas };
      } finally {
        await machine.state.revert();
      }
    });
  }
}

function shownLog(log: MachineLog, { hash, height }: Mined, place: { id: Hex; at: number; index: number }): ShownLog {
  const [contract, topics, data] = log;
  return {
    address: bytesToHex(contract),
    topics: topics.map((topic) => bytesToHex(topic)),
    data: bytesToHex(data),
    blockNumber: quantity(height),
    blockHash: hash,
    transactionHash: place.id,
    transactionIndex: quantity(place.at),
    logIndex: quantity(place.index),
    removed: false,
  };
}
