/**
 * A chain of the Bitcoin family in memory, with the mempool of one node: whatever it is given is real bytes, and it takes,
 * replaces, mines, reorganises and forgets them as a node would. Signatures are nobody's business here.
 */
import type { ChainAdapter, CoinSource } from '../../../daemon/chains/adapter.ts';
import { childPublicKey } from '../../../daemon/chains/hd.ts';
import { addressOfKey, isValidAddress, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { parseTransaction } from '../../../daemon/chains/utxo/block.ts';
import { UtxoSpending } from '../../../daemon/chains/utxo/spend/spending.ts';
import {
  type AccountKey,
  type BlockId,
  type ChainUpdate,
  type Checkpoint,
  type Credit,
  chainKey,
  type DerivedAddress,
  type SpendSeen,
} from '../../../daemon/domain/chain.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { targetIdByScript } from '../../../daemon/store/queries/credits.ts';
import type { Store } from '../../../daemon/store/store.ts';
import { idOf, type Written, writeTransaction } from '../../adapters/fixtures/serial.ts';
import type { PayNetwork } from './pay-network.ts';

type Chain = 'BTC' | 'LTC' | 'BCH';
export type PayTx = { txid: string; raw: string; inputs: string[]; outputs: { script: string; units: bigint }[] };
type Block = BlockId & { txs: PayTx[] };

/** What a reorganisation does: transactions that are in none of the new blocks, and such as are in the first of them. */
type Reorg = { depth: number; drop?: (tx: PayTx) => boolean; first?: PayTx[] };

const FIRST_HEIGHT = 1_000;
const RATE = 2_000n;

/** BIP-32's first test vector, master key. */
const ACCOUNT: AccountKey = {
  kind: 'secp256k1',
  publicKey: '0339a36013301597daef41fbe593a02cc513d0b55527ec2df1050e2e8ff49c85c2',
  chainCode: '873dff81c02f525623fd1fe5167eac3a55a049de3d314bb42ee227ffed37d508',
};
/** Another one's: whom withdrawals are paid to. */
const STRANGER: AccountKey = {
  kind: 'secp256k1',
  publicKey: '03cbcaa9c98c877a26977d00825c956a238e8dddfbd322cce4f74b0b5bd6ace4a7',
  chainCode: '60499f801b896d83179a4374aeb7822aaeaceaa0db1f85ee3e904c4defbd9689',
};

export class PayChain implements PayNetwork<PayTx> {
  readonly coin = 100_000_000n;
  readonly account = ACCOUNT;
  readonly reusesAddresses = false;
  /** What the source says that blocks ask for, smallest units per 1,000 virtual bytes. */
  feeRate = RATE;
  readonly chain: Chain;
  readonly adapter: ChainAdapter;
  readonly blocks: Block[] = [];
  readonly mempool = new Map<string, PayTx>();
  /** The scripts (hex) that are ours, by target id: the test tells them. */
  targetIdOf: (script: Uint8Array) => number | undefined = () => undefined;
  /** What a node says before it looks: for those that refuse everything. */
  refuses: PayNetwork['refuses'] = null;
  /** Whether a deposit in a block comes with its transaction: light clients do without. */
  tellsBytes = true;
  readonly offered: string[] = [];
  /** Unconfirmed transactions in a row that it takes. */
  ancestorsMax = Number.POSITIVE_INFINITY;
  /** How it refuses more. */
  tooMany = 'too-long-mempool-chain';
  /** Outputs of strangers' that were always there, by outpoint. */
  readonly #seeds = new Map<string, bigint>();
  #made = 0;

  constructor(chain: Chain) {
    this.chain = chain;
    for (let i = 0; i < 5; i++) this.#push([]);
    const source: CoinSource = {
      feeRate: async () => this.feeRate,
      transaction: async (txid) => this.#find(txid)?.raw ?? '',
      unconfirmed: async (txid) => {
        const tx = this.mempool.get(txid);
        return tx ? { fee: this.feeOf(tx), vsize: tx.raw.length / 2 } : null;
      },
      broadcast: (raw) => this.#accept(raw),
      conflict: async (txid, inputs) => this.conflictOf(txid, inputs),
    };
    const unused = (): never => {
      throw new Error('the test syncs itself');
    };
    this.adapter = {
      network: 'mainnet',
      chain,
      spending: new UtxoSpending(chain, 'mainnet', source),
      deriveAddress: async (account, branch, index) =>
        addressOfKey(childPublicKey(account, branch, index), chain, 'mainnet'),
      isValidAddress: (text) => isValidAddress(text, chain, 'mainnet'),
      begin: async () => this.checkpoint(),
      sync: async (since) => this.#update(since),
      onHint: unused,
      health: () => ({ source: 'test', tip: null, tipAgeMs: null, lagging: false, error: null }),
      close: async () => {},
    };
  }

  get asset(): Chain {
    return this.chain;
  }

  copy(): PayChain {
    const copy = new PayChain(this.chain);
    copy.blocks.splice(0, copy.blocks.length, ...this.blocks);
    for (const [txid, tx] of this.mempool) copy.mempool.set(txid, tx);
    for (const [outpoint, units] of this.#seeds) copy.#seeds.set(outpoint, units);
    copy.#made = this.#made;
    return copy;
  }

  connect(store: Store): ChainAdapter {
    const chain_key = chainKey('mainnet', this.chain);
    this.targetIdOf = (script) => store.get(targetIdByScript, { script, chain_key })?.id;
    return this.adapter;
  }

  /** An address that is not ours. */
  stranger(index: number): string {
    return addressOfKey(childPublicKey(STRANGER, 0, index), this.chain, 'mainnet').address;
  }

  scriptOf(address: string): Uint8Array {
    return scriptOf(address, this.chain, 'mainnet')!;
  }

  get tip(): BlockId {
    const { height, hash } = this.blocks.at(-1)!;
    return { height, hash };
  }

  checkpoint(): Checkpoint {
    return this.blocks.map(({ height, hash }) => ({ height, hash }));
  }

  /** A stranger's payment to a script, of a coin of its own, or of these inputs. `change`: what returns to the stranger. */
  payment(script: Uint8Array, units: bigint, inputs?: string[], change = 0n): PayTx {
    const spent = inputs ?? [this.#seed(units + change + 1_000n)];
    const returned = { units: change, script: this.scriptOf(this.stranger(99_998)) };
    const written: Written = {
      inputs: spent.map((outpoint) => ({ txid: outpoint.slice(0, 64), vout: Number(outpoint.slice(65)) })),
      outputs: change > 0n ? [{ units, script }, returned] : [{ units, script }],
      lockTime: ++this.#made,
    };
    return read(writeTransaction(written).toString('hex'), this.chain);
  }

  /** What spends the same as another one and pays a stranger. */
  conflictWith({ inputs }: PayTx): PayTx {
    const script = scriptOf(this.stranger(99_999), this.chain, 'mainnet')!;
    return this.payment(script, 1_000n, inputs);
  }

  #seed(units: bigint): string {
    const id = idOf({ inputs: [], outputs: [{ units, script: Buffer.from(`seed ${++this.#made}`) }] });
    this.#seeds.set(`${id}:0`, units);
    return `${id}:0`;
  }

  deposit({ script }: DerivedAddress, units: bigint): PayTx {
    const tx = this.payment(script, units);
    this.add(tx);
    return tx;
  }

  async #accept(raw: string): Promise<void> {
    const tx = read(raw, this.chain);
    this.offered.push(tx.txid);
    const refusal = await this.refuses?.(tx);
    if (refusal) throw new Rejected('broadcast.refused', refusal);
    this.add(tx);
  }

  take(raw: string): void {
    this.add(read(raw, this.chain));
  }

  add(tx: PayTx): void {
    if (this.#find(tx.txid)) return;
    const chain = this.#unspentInBlocks();
    const pooled = new Set([...this.mempool.values()].flatMap(outpointsOf));
    if (!tx.inputs.every((input) => chain.has(input) || pooled.has(input))) {
      throw new Rejected('broadcast.refused', 'bad-txns-inputs-missingorspent');
    }
    const conflicts = [...this.mempool.values()].filter(({ inputs }) => inputs.some((one) => tx.inputs.includes(one)));
    const evicted = conflicts.flatMap((one) => this.#family(one));
    if (evicted.length > 0) {
      if (this.chain === 'BCH') throw new Rejected('broadcast.refused', 'txn-mempool-conflict');
      const fees = evicted.reduce((sum, one) => sum + this.feeOf(one), 0n);
      if (this.feeOf(tx) <= fees) throw new Rejected('broadcast.refused', 'insufficient fee');
      for (const { txid } of evicted) this.mempool.delete(txid);
    }
    if (this.#ancestors(tx) > this.ancestorsMax) throw new Rejected('broadcast.refused', this.tooMany);
    this.mempool.set(tx.txid, tx);
  }

  /** How many unconfirmed transactions it would be the last of, itself included. */
  #ancestors({ inputs }: PayTx): number {
    const parents = inputs.flatMap((input) => this.mempool.get(input.slice(0, 64)) ?? []);
    return 1 + Math.max(0, ...parents.map((parent) => this.#ancestors(parent)));
  }

  /** A transaction and what spends from it in the mempool. */
  #family(tx: PayTx): PayTx[] {
    const own = new Set(outpointsOf(tx));
    const children = [...this.mempool.values()].filter(({ inputs }) => inputs.some((one) => own.has(one)));
    return [tx, ...children.flatMap((child) => this.#family(child))];
  }

  /** Forgets a transaction of the mempool, as if it never came, and what spends from it. */
  forget(txid: string): void {
    const tx = this.mempool.get(txid);
    for (const one of tx ? this.#family(tx) : []) this.mempool.delete(one.txid);
  }

  /** Mines blocks; the first has what is in the mempool, or as much of it as is wanted and can be. */
  mine(count = 1, wanted: (tx: PayTx) => boolean = () => true): void {
    for (let i = 0; i < count; i++) {
      const unspent = this.#unspentInBlocks();
      const txs: PayTx[] = [];
      for (const tx of this.mempool.values()) {
        if (!wanted(tx) || !tx.inputs.every((input) => unspent.has(input))) continue;
        for (const input of tx.inputs) unspent.delete(input);
        for (const outpoint of outpointsOf(tx)) unspent.add(outpoint);
        txs.push(tx);
      }
      this.#push(txs);
    }
  }

  /** Mines these, whatever the mempool has against them. */
  mineThese(txs: PayTx[]): void {
    this.#push(txs);
  }

  undo(depth: number, dropped: readonly PayTx[], killed: readonly PayTx[] = []): void {
    const gone = new Set([...dropped, ...killed].map(({ txid }) => txid));
    this.reorg({ depth, drop: ({ txid }) => gone.has(txid), first: killed.map((tx) => this.conflictWith(tx)) });
  }

  again(tx: PayTx): void {
    this.add(tx);
  }

  kill(tx: PayTx): void {
    this.mineThese([this.conflictWith(tx)]);
  }

  reorg({ depth, drop = () => false, first = [] }: Reorg): void {
    const gone = this.blocks.splice(this.blocks.length - depth).flatMap(({ txs }) => txs);
    const waiting = [...gone, ...this.mempool.values()].filter((tx) => !drop(tx));
    this.mempool.clear();
    for (const tx of waiting) this.mempool.set(tx.txid, tx);
    this.#push(first);
    for (let i = 0; i < depth; i++) this.#push([]);
  }

  #push(txs: PayTx[]): void {
    const height = (this.blocks.at(-1)?.height ?? FIRST_HEIGHT - 1) + 1;
    this.blocks.push({ height, hash: `block ${height} no. ${++this.#made}`, txs });
    // what lost its coins, or is in the block, leaves the mempool
    const known = new Set(this.#unspentInBlocks());
    const mined = new Set(this.blocks.flatMap((block) => block.txs.map(({ txid }) => txid)));
    for (const [txid, tx] of [...this.mempool]) {
      const valid = !mined.has(txid) && tx.inputs.every((input) => known.has(input));
      if (valid) for (const outpoint of outpointsOf(tx)) known.add(outpoint);
      else this.mempool.delete(txid);
    }
  }

  #unspentInBlocks(): Set<string> {
    const unspent = new Set(this.#seeds.keys());
    for (const tx of this.blocks.flatMap(({ txs }) => txs)) {
      for (const input of tx.inputs) unspent.delete(input);
      for (const outpoint of outpointsOf(tx)) unspent.add(outpoint);
    }
    return unspent;
  }

  #find(txid: string): PayTx | undefined {
    return this.mempool.get(txid) ?? this.blocks.flatMap(({ txs }) => txs).find((tx) => tx.txid === txid);
  }

  waiting(): string[] {
    return [...this.mempool.keys()];
  }

  depthOf(txid: string): number {
    const at = this.blocks.findLastIndex(({ txs }) => txs.some((tx) => tx.txid === txid));
    return at < 0 ? 0 : this.blocks.length - at;
  }

  isDead({ txid, inputs }: PayTx): boolean {
    return this.conflictOf(txid, inputs) !== null;
  }

  feeds({ txid }: PayTx, conflictKey: string): boolean {
    return conflictKey.startsWith(`${txid}:`);
  }

  paidTo(address: string): string[] {
    const to = Buffer.from(this.scriptOf(address)).toString('hex');
    return this.blocks.flatMap(({ txs }) =>
      txs.flatMap(({ txid, outputs }) => outputs.filter(({ script }) => script === to).map(() => txid)),
    );
  }

  unspent(): bigint {
    const txs = this.blocks.flatMap((block) => block.txs);
    const spent = new Set(txs.flatMap(({ inputs }) => inputs));
    return txs
      .flatMap((tx) => tx.outputs.map((output, n) => ({ ...output, outpoint: `${tx.txid}:${n}` })))
      .filter(({ script, outpoint }) => !spent.has(outpoint) && this.targetIdOf(Buffer.from(script, 'hex')))
      .reduce((sum, { units }) => sum + units, 0n);
  }

  /** Whether a block holds it. */
  isMined(txid: string): boolean {
    return this.blocks.some(({ txs }) => txs.some((tx) => tx.txid === txid));
  }

  unitsOf(outpoint: string): bigint {
    const seed = this.#seeds.get(outpoint);
    if (seed !== undefined) return seed;
    const tx = this.#find(outpoint.slice(0, 64));
    if (!tx) throw new Error(`nobody knows ${outpoint}`);
    return tx.outputs[Number(outpoint.slice(65))]!.units;
  }

  feeOf(tx: PayTx): bigint {
    const spent = tx.inputs.reduce((sum, input) => sum + this.unitsOf(input), 0n);
    return spent - tx.outputs.reduce((sum, { units }) => sum + units, 0n);
  }

  conflictOf(txid: string, inputs: readonly string[]): { txid: string; block: BlockId } | null {
    for (const { height, hash, txs } of this.blocks) {
      const found = txs.find((tx) => tx.txid !== txid && tx.inputs.some((input) => inputs.includes(input)));
      if (found) return { txid: found.txid, block: { height, hash } };
    }
    return null;
  }

  /** All that is true now, against a checkpoint of then. */
  #update(since: Checkpoint): ChainUpdate {
    const now = new Set(this.blocks.map(({ hash }) => hash));
    const credits: Credit[] = [];
    const spends: SpendSeen[] = [];
    const ours = new Set<string>();
    const placed = [
      ...this.blocks.flatMap(({ height, hash, txs }) => txs.map((tx) => ({ tx, block: { height, hash } }))),
      ...[...this.mempool.values()].map((tx) => ({ tx, block: null })),
    ];
    for (const { tx, block } of placed) {
      for (const outpoint of tx.inputs) if (ours.has(outpoint)) spends.push({ outpoint, txid: tx.txid, block });
      for (const [n, { script, units }] of tx.outputs.entries()) {
        const targetId = this.targetIdOf(Buffer.from(script, 'hex'));
        if (targetId === undefined) continue;
        const id = `${tx.txid}:${n}`;
        ours.add(id);
        const amount = { asset: this.chain, units };
        const bytes = this.tellsBytes ? { base: Buffer.from(tx.raw, 'hex') } : {};
        const base = block ? { ...bytes, blockTime: Date.UTC(2026, 0, 1) } : {};
        credits.push({ id, txid: tx.txid, targetId, amount, block, inputs: tx.inputs, ...base });
      }
    }
    const orphaned = since.filter(({ hash }) => !now.has(hash));
    const last = since.at(-1)!;
    return {
      since: last,
      checkpoint: this.checkpoint(),
      orphaned,
      targets: 'all',
      mempool: 'complete',
      credits,
      spends,
    };
  }
}

const outpointsOf = ({ txid, outputs }: PayTx): string[] => outputs.map((_, n) => `${txid}:${n}`);

/** What bytes say. */
function read(raw: string, chain: Chain): PayTx {
  const parsed = parseTransaction(Buffer.from(raw, 'hex'), chain);
  return {
    txid: parsed.txid(),
    raw,
    inputs: parsed.inputs.map(({ txid, vout }) => `${txid}:${vout}`),
    outputs: parsed.outputs.map(({ script, units }) => ({ script: Buffer.from(script).toString('hex'), units })),
  };
}
