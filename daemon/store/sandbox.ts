/**
 * The rows of the simulated chains. What they mean, and that they fit together, is `chains/sandbox/consensus.ts`'s to
 * say; this only keeps them, and the running total of a chain's transactions.
 */
import type { AssetId, ChainId } from '../domain/assets.ts';
import type {
  SandboxBlock,
  SandboxChain,
  SandboxContents,
  SandboxOutput,
  SandboxReader,
  SandboxTransaction,
  SandboxWriter,
} from '../domain/sandbox-port.ts';
import { type OutputRow, READ, type TransactionRow, WRITE } from './sandbox-statements.ts';
import type { Reader, Store, Tx } from './store.ts';

const transactionOf = (row: TransactionRow): SandboxTransaction => ({
  id: row.id,
  txid: row.txid,
  raw: row.raw,
  inputs: JSON.parse(row.inputs) as string[],
  height: row.block_height,
});

const outputOf = (row: OutputRow): SandboxOutput => ({
  outpoint: row.outpoint,
  transactionId: row.tx_id,
  script: row.script,
  asset: row.asset as AssetId,
  units: BigInt(row.units),
  spentBy: row.spent_by,
});

/** As many as there are: SQLite's word for no limit. */
const ALL = -1;

class Rows implements SandboxReader {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  chain(chain: ChainId): SandboxChain | undefined {
    const row = this.#reader.get(READ.chain, { chain });
    return row && { ...row, down: row.down === 1 };
  }

  tip(chain: ChainId): SandboxBlock | undefined {
    return this.#reader.get(READ.tip, { chain });
  }

  blockAt(chain: ChainId, height: number): SandboxBlock | undefined {
    return this.#reader.get(READ.blockAt, { chain, height });
  }

  blocksAbove(chain: ChainId, height: number, limit: number): SandboxBlock[] {
    return this.#reader.all(READ.blocksAbove, { chain, height, limit });
  }

  blocksUpTo(chain: ChainId, height: number, limit: number): SandboxBlock[] {
    return this.#reader.all(READ.blocksUpTo, { chain, height, limit }).reverse();
  }

  blockBefore(chain: ChainId, time: number): SandboxBlock | undefined {
    return this.#reader.get(READ.blockBefore, { chain, time });
  }

  transaction(chain: ChainId, txid: string): SandboxTransaction | undefined {
    const row = this.#reader.get(READ.transaction, { chain, txid });
    return row && transactionOf(row);
  }

  transactionById(id: number): SandboxTransaction | undefined {
    const row = this.#reader.get(READ.transactionById, { id });
    return row && transactionOf(row);
  }

  transactionsIn(chain: ChainId, height: number | null, limit: number): SandboxTransaction[] {
    const rows =
      height === null
        ? this.#reader.all(READ.mempool, { chain, limit })
        : this.#reader.all(READ.block, { chain, height, limit });
    return rows.map(transactionOf);
  }

  contents(chain: ChainId, height: number | null): SandboxContents[] {
    const contents = this.transactionsIn(chain, height, ALL).map(
      (transaction): SandboxContents => ({ transaction, outputs: [] }),
    );
    if (contents.length === 0) return contents;
    const byId = new Map(contents.map((entry) => [entry.transaction.id, entry]));
    const rows =
      height === null
        ? this.#reader.all(READ.mempoolOutputs, { chain })
        : this.#reader.all(READ.blockOutputs, { chain, height });
    for (const row of rows) byId.get(row.tx_id)?.outputs.push(outputOf(row));
    return contents;
  }

  mempoolSize(chain: ChainId): number {
    return this.#reader.get(READ.mempoolSize, { chain })?.size ?? 0;
  }

  output(chain: ChainId, outpoint: string): SandboxOutput | undefined {
    const row = this.#reader.get(READ.output, { chain, outpoint });
    return row && outputOf(row);
  }

  outputsOf(transactionId: number): SandboxOutput[] {
    return this.#reader.all(READ.outputsOf, { id: transactionId }).map(outputOf);
  }

  spentBy(transactionId: number): SandboxOutput[] {
    return this.#reader.all(READ.spentBy, { id: transactionId }).map(outputOf);
  }
}

class Writes extends Rows implements SandboxWriter {
  readonly #tx: Tx;

  constructor(tx: Tx) {
    super(tx);
    this.#tx = tx;
  }

  addChain(chain: ChainId): void {
    this.#tx.run(WRITE.addChain, { chain });
  }

  setDown(chain: ChainId, down: boolean): void {
    this.#tx.run(WRITE.setDown, { chain, down: down ? 1 : 0 });
  }

  setPruned(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.setPruned, { chain, height });
  }

  nextSequence(chain: ChainId): number {
    this.#tx.run(WRITE.countUp, { chain });
    return this.chain(chain)?.sequence ?? 0;
  }

  addBlock(chain: ChainId, block: SandboxBlock): void {
    this.#tx.run(WRITE.addBlock, { chain, ...block });
  }

  removeBlock(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.removeBlock, { chain, height });
  }

  removeBlocksAbove(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.removeBlocksAbove, { chain, height });
  }

  addTransaction(chain: ChainId, row: { txid: string; raw: string; inputs: string[]; createdAt: number }): number {
    this.#tx.run(WRITE.countTransactions, { chain, by: 1 });
    return this.#tx.run(WRITE.addTransaction, { chain, ...row, inputs: JSON.stringify(row.inputs) }).id;
  }

  removeTransaction(chain: ChainId, id: number): void {
    this.#tx.run(WRITE.countTransactions, { chain, by: -1 });
    this.#tx.run(WRITE.removeOutputsOf, { id });
    this.#tx.run(WRITE.removeTransaction, { id });
  }

  forgetRaw(id: number): void {
    this.#tx.run(WRITE.forgetRaw, { id });
  }

  confirm(chain: ChainId, lastId: number, height: number): void {
    this.#tx.run(WRITE.confirm, { chain, lastId, height });
  }

  unconfirmAbove(chain: ChainId, height: number): void {
    this.#tx.run(WRITE.unconfirmAbove, { chain, height });
  }

  addOutput(chain: ChainId, output: SandboxOutput): void {
    this.#tx.run(WRITE.addOutput, {
      chain,
      outpoint: output.outpoint,
      tx_id: output.transactionId,
      script: output.script,
      asset: output.asset,
      units: output.units.toString(),
      spent_by: output.spentBy,
    });
  }

  removeOutput(chain: ChainId, outpoint: string): void {
    this.#tx.run(WRITE.removeOutput, { chain, outpoint });
  }

  setSpentBy(chain: ChainId, outpoint: string, transactionId: number | null): void {
    this.#tx.run(WRITE.setSpentBy, { chain, outpoint, by: transactionId });
  }
}

/** The simulated chains' part of a store. */
export function sandboxStore(store: Store) {
  const rows = new Rows(store);
  return Object.assign(rows, {
    write: <T>(work: (tx: SandboxWriter) => T): Promise<T> => store.write((tx) => work(new Writes(tx))),
  });
}
