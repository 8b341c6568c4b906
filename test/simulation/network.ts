/**
 * A network of one coin: a tree of blocks, and nodes that each follow one branch and keep a mempool of their own. Rules of
 * money that matter here are checked (coins exist and are spent once, replacement, fees); signatures are not.
 *
 * `miner` stands for the rest of the world: what it has is what will be mined. `own` is the node that the appliance asks.
 */
import { Transaction } from 'bitcoinjs-lib';
import { UTXO_PARAMS, type UtxoChain } from '../../daemon/chains/utxo/params.ts';
import {
  compactSize,
  doubleSha256,
  idOf,
  type Written,
  writeCoinbase,
  writeTransaction,
} from '../adapters/fixtures/serial.ts';

export type Output = { units: bigint; script: string };
export type Tx = {
  txid: string;
  raw: Buffer;
  vsize: number;
  inputs: { outpoint: string; sequence: number }[];
  outputs: Output[];
  coinbase: boolean;
};
type Block = {
  hash: string;
  height: number;
  previous: Block | null;
  seconds: number;
  bytes: Buffer;
  txs: Tx[];
  /** The most confirmations that its transactions ever had, counted up to `DEPTH_COUNTED`. */
  depth: number;
};

/** The first block of Bitcoin's regtest, which is also that of BCH (chainparams.cpp, CreateGenesisBlock). */
const BITCOIN_FIRST =
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a' +
  '51323a9fb8aa4b1e5e4adae5494dffff7f2002000000010100000001000000000000000000000000000000000000000000000000000000000000' +
  '0000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f' +
  '66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b710' +
  '5cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000';
const NOBODY = '6a';
const PAYERS_COINS = 1_500;
export const PAYERS_COIN_UNITS = 50_000_000_000n;
const FIRST_BLOCKS = 12;
export const MEDIAN_BLOCKS = 11;
const DEPTH_COUNTED = 16;
const ANCESTORS_MAX = 25;
const SIGNALS_BELOW = 0xfffffffe;
const DUST = 294n;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Whether it says that it may be replaced (BIP-125). */
export const signals = ({ inputs }: Tx): boolean => inputs.some(({ sequence }) => sequence < SIGNALS_BELOW);

function readTx(raw: Buffer): Tx {
  const parsed = Transaction.fromBuffer(raw);
  return {
    txid: parsed.getId(),
    raw,
    vsize: parsed.virtualSize(),
    inputs: parsed.ins.map(({ hash, index, sequence }) => {
      return { outpoint: `${Buffer.from(hash).reverse().toString('hex')}:${index}`, sequence };
    }),
    outputs: parsed.outs.map(({ value, script }) => ({ units: BigInt(value), script: hex(script) })),
    coinbase: false,
  };
}

const reversed = (hex: string): Buffer => Buffer.from(hex, 'hex').reverse();

function merkleRoot(txids: readonly string[]): Buffer {
  let level = txids.map(reversed);
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => {
      const left = level[2 * i] as Buffer;
      return doubleSha256(Buffer.concat([left, level[2 * i + 1] ?? left]));
    });
    level = pairs;
  }
  return level[0] as Buffer;
}

/** A block with the work that regtest asks for: every second header has it. */
function writeBlock(previous: string, seconds: number, txs: readonly Tx[]): { hash: string; bytes: Buffer } {
  const header = Buffer.alloc(80);
  header.writeUInt32LE(0x2000_0000, 0);
  reversed(previous).copy(header, 4);
  merkleRoot(txs.map(({ txid }) => txid)).copy(header, 36);
  header.writeUInt32LE(seconds, 68);
  header.writeUInt32LE(0x207f_ffff, 72);
  for (let nonce = 0; ; nonce++) {
    header.writeUInt32LE(nonce, 76);
    const digest = doubleSha256(header);
    if ((digest[31] as number) >= 0x7f) continue;
    const bytes = Buffer.concat([header, compactSize(txs.length), ...txs.map(({ raw }) => raw)]);
    return { hash: digest.reverse().toString('hex'), bytes };
  }
}

function coinbaseOf(written: Written): Tx {
  const outputs = written.outputs.map(({ units, script }) => ({ units, script: hex(script) }));
  const raw = writeTransaction(written);
  return { txid: idOf(written), raw, vsize: raw.length, inputs: [], outputs, coinbase: true };
}

/** Bitcoin Core's words for an input that is not there. */
export const MISSING = 'bad-txns-inputs-missingorspent';

/** What a node has at one time. */
export class Node {
  readonly network: Network;
  /** By height. */
  chain: Block[] = [];
  /** The transaction that a coin was spent by in a block, or null while it is not. */
  readonly coins = new Map<string, string | null>();
  readonly mempool = new Map<string, Tx>();
  /** By outpoint, the unconfirmed transaction that spends it. */
  readonly spends = new Map<string, Tx>();

  constructor(network: Network) {
    this.network = network;
  }

  get tip(): Block {
    return this.chain.at(-1) as Block;
  }

  blockOf(txid: string): Block | null {
    const block = this.network.placeOf(txid).find((one) => this.chain[one.height] === one);
    return block ?? null;
  }

  /** Goes over to another tip. */
  follow(tip: Block): void {
    const path: Block[] = [];
    let at: Block | null = tip;
    for (; at && this.chain[at.height] !== at; at = at.previous) path.push(at);
    const fork = at ? at.height + 1 : 0;
    const back: Tx[] = [];
    while (this.chain.length > fork) back.unshift(...this.#disconnect());
    for (const block of path.reverse()) this.#connect(block);
    const rest = [...this.mempool.values()];
    this.#clear();
    // a block of BCH is ordered by id, so a transaction may come before the one that it spends from
    let left = [...back, ...rest];
    for (let before = Number.POSITIVE_INFINITY; left.length < before; ) {
      before = left.length;
      left = left.filter((tx) => this.accept(tx) === MISSING);
    }
  }

  #connect(block: Block): void {
    this.chain.push(block);
    for (const tx of block.txs) {
      for (const { outpoint } of tx.inputs) this.coins.set(outpoint, tx.txid);
    }
    for (const tx of block.txs) {
      tx.outputs.forEach((_, n) => {
        if (!this.coins.has(`${tx.txid}:${n}`)) this.coins.set(`${tx.txid}:${n}`, null);
      });
    }
  }

  #disconnect(): Tx[] {
    const block = this.chain.pop() as Block;
    for (const tx of block.txs) tx.outputs.forEach((_, n) => void this.coins.delete(`${tx.txid}:${n}`));
    for (const tx of block.txs) {
      for (const { outpoint } of tx.inputs) {
        if (this.coins.has(outpoint) || this.network.isMinted(outpoint)) this.coins.set(outpoint, null);
      }
    }
    // a parent in the same block was taken away before its child's input was given back
    for (const tx of block.txs) tx.outputs.forEach((_, n) => void this.coins.delete(`${tx.txid}:${n}`));
    return block.txs.filter(({ coinbase }) => !coinbase);
  }

  #clear(): void {
    this.mempool.clear();
    this.spends.clear();
  }

  /** Loses what is not in a block, as a node that starts anew. */
  forgetMempool(): void {
    this.#clear();
  }

  drop(txid: string): void {
    const tx = this.mempool.get(txid);
    if (!tx) return;
    this.mempool.delete(txid);
    for (const { outpoint } of tx.inputs) if (this.spends.get(outpoint) === tx) this.spends.delete(outpoint);
    tx.outputs.forEach((_, n) => {
      const child = this.spends.get(`${txid}:${n}`);
      if (child) this.drop(child.txid);
    });
  }

  /** The unconfirmed transactions that this one rests on, itself among them. */
  family(tx: Tx): Set<Tx> {
    const family = new Set<Tx>([tx]);
    for (const member of family) {
      for (const { outpoint } of member.inputs) {
        const parent = this.mempool.get(outpoint.split(':')[0] as string);
        if (parent) family.add(parent);
      }
    }
    return family;
  }

  /** Takes a transaction into the mempool. Null when it has it then, else why not, in the words of Bitcoin Core. */
  accept(tx: Tx): string | null {
    if (this.mempool.has(tx.txid)) return null;
    if (this.blockOf(tx.txid)) return 'Transaction already in block chain';
    const conflicts = new Set<Tx>();
    for (const { outpoint } of tx.inputs) {
      const parent = this.mempool.get(outpoint.split(':')[0] as string);
      if (!parent && this.coins.get(outpoint) !== null) return MISSING;
      const other = this.spends.get(outpoint);
      if (other) conflicts.add(other);
    }
    const fee = this.network.feeOf(tx);
    if (fee < BigInt(tx.vsize)) return 'min relay fee not met';
    if (fee < BigInt(tx.vsize) * this.network.relayRate) return 'mempool min fee not met';
    if (tx.outputs.some(({ units, script }) => units < DUST && script !== NOBODY)) return 'dust';
    if (conflicts.size > 0) {
      const refusal = this.#replaces(tx, fee, conflicts);
      if (refusal !== null) return refusal;
    }
    if (this.family(tx).size > ANCESTORS_MAX && this.network.name !== 'BCH') return 'too-long-mempool-chain';
    for (const { txid } of conflicts) this.drop(txid);
    this.mempool.set(tx.txid, tx);
    for (const { outpoint } of tx.inputs) this.spends.set(outpoint, tx);
    return null;
  }

  #replaces(tx: Tx, fee: bigint, conflicts: ReadonlySet<Tx>): string | null {
    if (this.network.name === 'BCH') return 'txn-mempool-conflict';
    const gone = new Set<Tx>();
    for (const one of conflicts) for (const member of this.descendants(one)) gone.add(member);
    if ([...this.family(tx)].some((member) => gone.has(member))) return 'bad-txns-spends-conflicting-tx';
    if (this.network.name === 'LTC' && [...conflicts].some((one) => !this.signals(one))) return 'txn-mempool-conflict';
    const fees = [...gone].reduce((sum, one) => sum + this.network.feeOf(one), 0n);
    const [rate, rates] = [
      Number(fee) / tx.vsize,
      [...conflicts].map((one) => Number(this.network.feeOf(one)) / one.vsize),
    ];
    if (fee < fees + BigInt(tx.vsize) || rates.some((one) => rate <= one))
      return 'insufficient fee, rejecting replacement';
    return null;
  }

  /** A transaction and what spends from it, unconfirmed. */
  descendants(tx: Tx): Set<Tx> {
    const found = new Set<Tx>([tx]);
    for (const member of found) {
      member.outputs.forEach((_, n) => {
        const child = this.spends.get(`${member.txid}:${n}`);
        if (child) found.add(child);
      });
    }
    return found;
  }

  /** Whether it, or what it rests on, may be replaced (BIP-125). */
  signals(tx: Tx): boolean {
    return [...this.family(tx)].some(signals);
  }
}

/** What the appliance's node does when it is asked. */
export type Health = 'well' | 'down' | 'silent' | 'starting';

export class Network {
  readonly name: UtxoChain;
  readonly miner: Node;
  readonly own: Node;
  /** How the appliance's node answers. */
  health: Health = 'well';
  /** The appliance's node has the headers of the branch with the most work, and not its blocks yet. */
  catchesUp = false;
  /** It is in its initial download. */
  downloads = false;
  /** Units per virtual byte, below which nodes take nothing now. */
  relayRate = 1n;
  /** Its mempool is still being read from the disk. */
  loads = false;
  /** It takes no transaction from the appliance. */
  refuses = false;
  /** Unconfirmed transactions that it has forgotten and that nobody tells it again. */
  readonly forgotten = new Set<string>();
  /** Whole units per virtual byte that it says blocks ask for. */
  feeRate = 5;
  /** Called when the appliance's node may have changed. */
  onChange: () => void = () => {};
  readonly txs = new Map<string, Tx>();
  /** By hash, of every branch. */
  readonly blocks = new Map<string, Block>();
  readonly #now: () => number;
  /** Coins that payers have had since the first blocks. */
  readonly #minted = new Set<string>();
  #spare: string[] = [];
  readonly #places = new Map<string, Block[]>();
  #salt = 1;

  constructor(name: UtxoChain, now: () => number) {
    this.name = name;
    this.#now = now;
    this.miner = new Node(this);
    this.own = new Node(this);
    const hash = UTXO_PARAMS[name].regtest.genesis[0] as string;
    const bytes = Buffer.from(BITCOIN_FIRST, 'hex');
    const first = { hash, height: 0, previous: null, seconds: 1_296_688_602, bytes, txs: [], depth: 1 };
    this.miner.chain.push(first);
    this.own.chain.push(first);
    this.blocks.set(hash, first);
    this.#payPayers();
    this.mine(FIRST_BLOCKS);
  }

  /** Payers' coins are in a block, each at an address of its own, as a server finds what spends them by that. */
  #payPayers(): void {
    const root = `${'f'.repeat(64)}:0`;
    for (const node of [this.miner, this.own]) node.coins.set(root, null);
    const outputs = Array.from({ length: PAYERS_COINS }, (_, n) => {
      return { units: PAYERS_COIN_UNITS, script: `0014${n.toString(16).padStart(40, 'b')}` };
    });
    const bank = this.write([root], outputs, false);
    for (const node of [this.miner, this.own]) node.mempool.set(bank.txid, bank);
    this.#spare = outputs.map((_, n) => `${bank.txid}:${n}`);
    for (const outpoint of this.#spare) this.#minted.add(outpoint);
  }

  isMinted(outpoint: string): boolean {
    return this.#minted.has(outpoint);
  }

  /** Every block, on whatever branch, that holds a transaction. */
  placeOf(txid: string): Block[] {
    return this.#places.get(txid) ?? [];
  }

  /** What an outpoint is worth, spent or not. */
  coin(outpoint: string): Output | undefined {
    const [txid = '', n] = outpoint.split(':');
    return this.txs.get(txid)?.outputs[Number(n)];
  }

  feeOf(tx: Tx): bigint {
    if (tx.coinbase) return 0n;
    const spent = tx.inputs.reduce((sum, { outpoint }) => sum + (this.coin(outpoint)?.units ?? 0n), 0n);
    return spent - tx.outputs.reduce((sum, { units }) => sum + units, 0n);
  }

  read(raw: Buffer): Tx {
    const tx = readTx(raw);
    const known = this.txs.get(tx.txid);
    if (!known) this.txs.set(tx.txid, tx);
    return known ?? tx;
  }

  /** A transaction without its witnesses, in hex. */
  base({ raw }: Tx): string {
    const parsed = Transaction.fromBuffer(raw);
    for (const input of parsed.ins) input.witness = [];
    return parsed.toHex();
  }

  /** A coin of somebody else's. */
  payersCoin(): string {
    const coin = this.#spare.pop();
    if (coin === undefined) throw new Error(`payers of ${this.name} have no coin left`);
    return coin;
  }

  /** A transaction of somebody else's that spends these coins. */
  write(inputs: readonly string[], outputs: readonly Output[], replaceable: boolean): Tx {
    const written: Written = {
      inputs: inputs.map((outpoint) => {
        const [txid = '', n] = outpoint.split(':');
        return { txid, vout: Number(n), sequence: replaceable ? 0xffff_fffd : 0xffff_ffff };
      }),
      outputs: outputs.map(({ units, script }) => ({ units, script: Buffer.from(script, 'hex') })),
    };
    return this.read(writeTransaction(written));
  }

  /** Tells the world of a transaction. Null when the miner takes it. */
  submit(tx: Tx): string | null {
    const refusal = this.miner.accept(tx);
    this.relay();
    return refusal;
  }

  /** Mempools throw out what pays too little, with what rests on it. Returns it. */
  evictCheap(): Tx[] {
    const before = [...this.miner.mempool.values()];
    for (const node of [this.miner, this.own]) {
      for (const tx of [...node.mempool.values()])
        if (this.feeOf(tx) < BigInt(tx.vsize) * this.relayRate) node.drop(tx.txid);
    }
    this.onChange();
    return before.filter(({ txid }) => !this.miner.mempool.has(txid));
  }

  /** The appliance's node hears what the world knows. */
  relay(): void {
    if (!this.catchesUp && this.own.tip !== this.miner.tip) this.own.follow(this.miner.tip);
    if (this.health === 'down' || this.loads) {
      this.onChange();
      return;
    }
    for (const tx of this.miner.mempool.values()) if (!this.forgotten.has(tx.txid)) this.own.accept(tx);
    // what the world does not know any more is forgotten in time by its node too
    for (const tx of [...this.own.mempool.values()]) {
      const spent = tx.inputs.some(({ outpoint }) => {
        const other = this.miner.spends.get(outpoint);
        return other !== undefined && other !== tx;
      });
      if (spent && !this.forgotten.has(tx.txid) && this.name !== 'BCH') this.own.drop(tx.txid);
    }
    this.onChange();
  }

  /** `isEmpty`: the blocks leave out what waits. */
  mine(count: number, isEmpty = false): void {
    for (let i = 0; i < count; i++) {
      const picked = isEmpty ? [] : [...this.miner.mempool.values()];
      const ordered = this.name === 'BCH' ? picked.sort((a, b) => (a.txid < b.txid ? -1 : 1)) : picked;
      const salt = this.#salt++;
      const coinbase = coinbaseOf(writeCoinbase(salt, Buffer.from(NOBODY, 'hex')));
      this.txs.set(coinbase.txid, coinbase);
      const txs = [coinbase, ...ordered];
      const { tip } = this.miner;
      // BIP-113: later than the median of the eleven before it
      const seconds = Math.max(Math.floor(this.#now() / 1_000), this.medianSeconds(tip) + 1);
      const written = writeBlock(tip.hash, seconds, txs);
      const block: Block = { ...written, height: tip.height + 1, previous: tip, seconds, txs, depth: 0 };
      let at: Block | null = block;
      for (let depth = 1; at && depth <= DEPTH_COUNTED; depth++, at = at.previous) at.depth = Math.max(at.depth, depth);
      for (const { txid } of txs) this.#places.set(txid, [...this.placeOf(txid), block]);
      this.blocks.set(block.hash, block);
      this.miner.follow(block);
    }
    this.relay();
  }

  medianSeconds(block: Block): number {
    const times: number[] = [];
    for (let at: Block | null = block; at && times.length < MEDIAN_BLOCKS; at = at.previous) times.push(at.seconds);
    return times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
  }

  /** The median time of the blocks that the appliance's node had by then, in milliseconds of true time, if it has them still. */
  medianSecondsAt(ms: number): number {
    let block: Block = this.own.tip;
    while (block.seconds * 1_000 > ms && block.previous) block = block.previous;
    return this.medianSeconds(block);
  }

  /**
   * The newest blocks are replaced by one more. `drops`: transactions that do not come back. `isEmpty`: the others are
   * unconfirmed again.
   */
  reorganise(depth: number, drops: (tx: Tx) => boolean, isEmpty: boolean): void {
    const { chain } = this.miner;
    const fork = chain[Math.max(1, chain.length - 1 - depth)] as Block;
    const lost = chain.slice(fork.height + 1).flatMap(({ txs }) => txs.filter((tx) => !tx.coinbase && drops(tx)));
    this.miner.follow(fork);
    for (const tx of lost) this.vanish(tx);
    this.mine(Math.max(1, chain.length > 0 ? depth : 0) + 1, isEmpty);
  }

  /** Payers spend anew what they were given back: transactions that no node has come to their end. */
  spendForgotten(): void {
    for (const tx of [...this.txs.values()]) {
      const isFree = tx.inputs.every(
        ({ outpoint }) => !this.miner.spends.has(outpoint) && !this.miner.coins.get(outpoint),
      );
      if (!tx.coinbase && isFree) this.vanish(tx);
    }
  }

  /** A transaction that nobody will ever see again: its coins went elsewhere. Only strangers' are taken back. */
  vanish(tx: Tx): void {
    if (!tx.inputs.every(({ outpoint }) => this.isMinted(outpoint))) return;
    for (const node of [this.miner, this.own]) node.drop(tx.txid);
    const units = tx.inputs.reduce((sum, { outpoint }) => sum + (this.coin(outpoint)?.units ?? 0n), 0n);
    const fee = this.feeOf(tx) + BigInt(tx.vsize) * 5n + 1_000n;
    const back = this.write(
      tx.inputs.map(({ outpoint }) => outpoint),
      [{ units: units - fee > DUST ? units - fee : DUST + 1n, script: NOBODY }],
      true,
    );
    this.miner.accept(back);
    this.own.accept(back);
  }
}
