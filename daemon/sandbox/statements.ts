/** The statements on the tables of the simulated chains. See `sandbox.ts`. */
import type { Row } from '../store/schema.ts';
import { columnsBut, insert, remove, sqlite, statement, update } from '../store/statement.ts';

type OfChain = { chain: string };
type AtHeight = { chain: string; height: number };
type OfTransaction = { id: number };
type OfOutpoint = { chain: string; outpoint: string };

const BLOCK = ['height', 'hash', 'time'] as const;
const TRANSACTION = ['id', 'txid', 'raw', 'inputs', 'block_height'] as const;
const OUTPUT = ['outpoint', 'tx_id', 'script', 'asset', 'units', 'spent_by'] as const;
const JOINED_OUTPUT = ['o.outpoint', 'o.tx_id', 'o.script', 'o.asset', 'o.units', 'o.spent_by'] as const;

export type TransactionRow = Pick<Row<'sandbox_tx'>, (typeof TRANSACTION)[number]>;
export type OutputRow = Pick<Row<'sandbox_output'>, (typeof OUTPUT)[number]>;

const blocks = sqlite.selectFrom('sandbox_block').select(BLOCK);
const transactions = sqlite.selectFrom('sandbox_tx').select(TRANSACTION);
const outputs = sqlite.selectFrom('sandbox_output').select(OUTPUT);
const outputsOfTransactions = sqlite
  .selectFrom('sandbox_tx as t')
  .innerJoin('sandbox_output as o', 'o.tx_id', 't.id')
  .select(JOINED_OUTPUT);

export const READ = {
  chain: statement((p: OfChain) =>
    sqlite
      .selectFrom('sandbox_chain')
      .select(['down', 'sequence', 'pruned', 'transactions'])
      .where('chain', '=', p.chain),
  ),
  tip: statement((p: OfChain) => blocks.where('chain', '=', p.chain).orderBy('height', 'desc').limit(1)),
  blockAt: statement((p: AtHeight) => blocks.where('chain', '=', p.chain).where('height', '=', p.height)),
  blocksAbove: statement((p: AtHeight & { limit: number }) =>
    blocks.where('chain', '=', p.chain).where('height', '>', p.height).orderBy('height').limit(p.limit),
  ),
  blocksUpTo: statement((p: AtHeight & { limit: number }) =>
    blocks.where('chain', '=', p.chain).where('height', '<=', p.height).orderBy('height', 'desc').limit(p.limit),
  ),
  blockBefore: statement((p: OfChain & { time: number }) =>
    blocks.where('chain', '=', p.chain).where('time', '<', p.time).orderBy('height', 'desc').limit(1),
  ),
  transaction: statement((p: OfChain & { txid: string }) =>
    transactions.where('chain', '=', p.chain).where('txid', '=', p.txid),
  ),
  transactionById: statement((p: OfTransaction) => transactions.where('id', '=', p.id)),
  block: statement((p: AtHeight & { limit: number }) =>
    transactions.where('chain', '=', p.chain).where('block_height', '=', p.height).orderBy('id').limit(p.limit),
  ),
  mempool: statement((p: OfChain & { limit: number }) =>
    transactions.where('chain', '=', p.chain).where('block_height', 'is', null).orderBy('id').limit(p.limit),
  ),
  newestMined: statement((p: OfChain) =>
    sqlite
      .selectFrom('sandbox_tx')
      .select('block_height')
      .where('chain', '=', p.chain)
      .where('block_height', 'is not', null)
      .orderBy('block_height', 'desc')
      .limit(1),
  ),
  blockOutputs: statement((p: AtHeight) =>
    outputsOfTransactions.where('t.chain', '=', p.chain).where('t.block_height', '=', p.height),
  ),
  mempoolOutputs: statement((p: OfChain) =>
    outputsOfTransactions.where('t.chain', '=', p.chain).where('t.block_height', 'is', null),
  ),
  mempoolSize: statement((p: OfChain) =>
    sqlite
      .selectFrom('sandbox_tx')
      .select((eb) => eb.fn.countAll<number>().as('size'))
      .where('chain', '=', p.chain)
      .where('block_height', 'is', null),
  ),
  output: statement((p: OfOutpoint) => outputs.where('chain', '=', p.chain).where('outpoint', '=', p.outpoint)),
  outputsBetween: statement((p: { chain: string; from: string; to: string }) =>
    outputs.where('chain', '=', p.chain).where('outpoint', '>=', p.from).where('outpoint', '<', p.to),
  ),
  unspentAt: statement((p: { chain: string; script: Uint8Array }) =>
    outputs.where('chain', '=', p.chain).where('script', '=', p.script).where('spent_by', 'is', null).orderBy('tx_id'),
  ),
  outputsOf: statement((p: OfTransaction) => outputs.where('tx_id', '=', p.id)),
  spentBy: statement((p: OfTransaction) => outputs.where('spent_by', '=', p.id)),
};

export const WRITE = {
  addChain: statement((p: OfChain) =>
    sqlite
      .insertInto('sandbox_chain')
      .values({ chain: p.chain, down: false, sequence: 0, pruned: -1, transactions: 0 }),
  ),
  setDown: update('sandbox_chain', ['down'], 'chain'),
  setPruned: statement((p: AtHeight) =>
    sqlite.updateTable('sandbox_chain').set({ pruned: p.height }).where('chain', '=', p.chain),
  ),
  countUp: statement((p: OfChain) =>
    sqlite
      .updateTable('sandbox_chain')
      .set((eb) => ({ sequence: eb('sequence', '+', 1) }))
      .where('chain', '=', p.chain),
  ),
  countTransactions: statement((p: OfChain & { by: number }) =>
    sqlite
      .updateTable('sandbox_chain')
      .set((eb) => ({ transactions: eb('transactions', '+', p.by) }))
      .where('chain', '=', p.chain),
  ),
  addBlock: insert('sandbox_block', columnsBut('sandbox_block')),
  removeBlock: remove('sandbox_block', 'chain', 'height'),
  removeBlocksAbove: statement((p: AtHeight) =>
    sqlite.deleteFrom('sandbox_block').where('chain', '=', p.chain).where('height', '>', p.height),
  ),
  addTransaction: statement((p: OfChain & { txid: string; raw: string; inputs: string[]; createdAt: number }) =>
    sqlite.insertInto('sandbox_tx').values({
      chain: p.chain,
      txid: p.txid,
      raw: p.raw,
      inputs: p.inputs,
      block_height: null,
      created_at: p.createdAt,
    }),
  ),
  removeTransaction: remove('sandbox_tx', 'id'),
  removeOutputsOf: statement((p: OfTransaction) => sqlite.deleteFrom('sandbox_output').where('tx_id', '=', p.id)),
  forgetRaw: statement((p: OfTransaction) =>
    sqlite.updateTable('sandbox_tx').set({ raw: null }).where('id', '=', p.id),
  ),
  confirm: statement((p: AtHeight & { lastId: number }) =>
    sqlite
      .updateTable('sandbox_tx')
      .set({ block_height: p.height })
      .where('chain', '=', p.chain)
      .where('block_height', 'is', null)
      .where('id', '<=', p.lastId),
  ),
  unconfirmAbove: statement((p: AtHeight) =>
    sqlite
      .updateTable('sandbox_tx')
      .set({ block_height: null })
      .where('chain', '=', p.chain)
      .where('block_height', '>', p.height),
  ),
  addOutput: insert('sandbox_output', columnsBut('sandbox_output')),
  removeOutput: remove('sandbox_output', 'chain', 'outpoint'),
  setSpentBy: statement((p: OfOutpoint & { by: number | null }) =>
    sqlite
      .updateTable('sandbox_output')
      .set({ spent_by: p.by })
      .where('chain', '=', p.chain)
      .where('outpoint', '=', p.outpoint),
  ),
};
