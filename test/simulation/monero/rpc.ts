/** The answers of a monerod about a chain: the methods that the product asks, in JSON and in Monero's binary form. */
import { readSection } from '../../../daemon/chains/xmr/epee.ts';
import { Malformed } from '../../../daemon/domain/errors.ts';
import { parseSigned, prunedOf } from '../../../daemon/monero/transaction.ts';
import { epee } from '../../support/monero-blocks.ts';
import { type Chain, type Mined, txOf } from './chain.ts';

export type Fields = { [key: string]: unknown };
export type Asked = { name: string; params: Fields };

const FEE = 20_000;
const headerOf = ({ height, hash, previous, timeMs }: Mined): Fields => ({
  height,
  hash,
  prev_hash: previous,
  timestamp: Math.floor(timeMs / 1_000),
  orphan_status: false,
});

type Method = (chain: Chain, params: Fields) => Fields;

const METHODS: Readonly<Record<string, Method>> = {
  get_info: ({ tip }) => ({
    height: tip.height + 1,
    target_height: 0,
    nettype: 'fakechain',
    top_block_hash: tip.hash,
    busy_syncing: false,
    synchronized: true,
  }),
  get_last_block_header: ({ tip }) => ({ block_header: headerOf(tip) }),
  get_block_header_by_hash: ({ blocks }, { hash }) => {
    const found = blocks.findLast((one) => one.hash === hash);
    if (!found) throw new Refused('no such block');
    return { block_header: headerOf(found) };
  },
  get_block_headers_range: ({ blocks }, { start_height, end_height }) => {
    const found = blocks.slice(Number(start_height), Number(end_height) + 1);
    if (found.length !== Number(end_height) - Number(start_height) + 1) throw new Refused('no such blocks');
    return { headers: found.map(headerOf) };
  },
  get_block: ({ blocks }, { hash }) => {
    const found = blocks.findLast((one) => one.hash === hash);
    if (!found) throw new Refused('no such block');
    return { blob: found.blob.toString('hex') };
  },
  get_fee_estimate: () => ({ fee: FEE, fees: [FEE, 4 * FEE, 16 * FEE, 64 * FEE] }),
  get_output_distribution: ({ blocks }, { from_height, to_height }) => {
    const from = Number(from_height);
    const distribution = blocks.slice(from, Number(to_height) + 1).map(({ outputs }) => outputs.length);
    return { distributions: [{ base: blocks[from]?.first ?? 0, start_height: from, distribution }] };
  },
  '/get_transaction_pool_hashes': ({ pool }) => ({ tx_hashes: [...pool.keys()] }),
  '/get_transactions': (chain, { txs_hashes }) => {
    const txs = (txs_hashes as string[]).flatMap((id) => {
      const block = chain.blockOf(id);
      const tx = block?.txs.find((one) => one.id === id) ?? chain.pool.get(id);
      if (!tx) return [];
      const { pruned, prunableHash } = prunedOf(tx.raw);
      let first = (block?.first ?? 0) + 1;
      for (const one of block?.txs ?? []) {
        if (one.id === id) break;
        first += one.read.outputs.length;
      }
      return [
        {
          tx_hash: id,
          as_hex: '',
          pruned_as_hex: Buffer.from(pruned).toString('hex'),
          prunable_hash: prunableHash,
          in_pool: !block,
          double_spend_seen: false,
          ...(block && { block_height: block.height, output_indices: tx.read.outputs.map((_, n) => first + n) }),
        },
      ];
    });
    return { txs };
  },
  '/get_outs': (chain, { outputs }) => ({
    outs: (outputs as { index: number }[]).map(({ index }) => {
      const output = chain.outputAt(index);
      if (!output) throw new Refused('no such output');
      return { key: output.key, mask: output.mask, unlocked: chain.isUnlocked(output) };
    }),
  }),
  '/send_raw_transaction': (chain, { tx_as_hex }) => {
    const raw = Buffer.from(String(tx_as_hex), 'hex');
    try {
      parseSigned(raw);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return { status: 'Failed', invalid_input: true };
    }
    const refusal = chain.submit(txOf(raw));
    return refusal === null ? {} : { status: 'Failed', [refusal]: true };
  },
};

class Refused extends Error {}

/** An answer in JSON: below `result` at /json_rpc. Throws `Refused` as a node refuses. */
export function answerTo(chain: Chain, { name, params }: Asked): Fields {
  const method = METHODS[name];
  if (!method) throw new Error(`the simulated monerod has no ${name}`);
  return { status: 'OK', ...method(chain, params) };
}

export const isRefused = (error: unknown): error is Error => error instanceof Refused;

/** The heights that a request for blocks names. */
export const heightsOf = (asked: Uint8Array): number[] => (readSection(asked).get('heights') as bigint[]).map(Number);

/** The blocks at these heights. `mark`: of the whole answer. */
export function blocksOf({ blocks }: Chain, heights: readonly number[], mark: Fields = {}): Buffer {
  const found = heights.flatMap((height) => blocks[height] ?? []);
  if (found.length < heights.length) return epee({ status: 'Error retrieving block' });
  return epee({
    blocks: found.map(({ blob, txs }) => ({ block: blob, txs: txs.map(({ raw }) => raw) })),
    status: 'OK',
    ...mark,
  });
}
