/** The forms of monerod's answers, and the limits of one answer of a node in restricted mode. */
import { z } from 'zod';
import { parseTransaction, type Transaction } from '../../monero/transaction.ts';
import type { LinkedHeader } from '../checkpoint.ts';

export const HEADERS_PER_REQUEST = 500;
export const TRANSACTIONS_PER_REQUEST = 50;
/** Of transactions with their signatures, which may have 150,000 bytes each. */
export const WHOLE_PER_REQUEST = 10;
/** Of a larger pool nothing is read: a flood of small transactions can make it so, and blocks are read all the same. */
export const POOL_HASHES_MAX = 50_000;
export const OUTPUTS_PER_REQUEST = 1_000;
/** Why a node does not take a transaction. */
const FAULTS = [
  'double_spend',
  'fee_too_low',
  'invalid_input',
  'invalid_output',
  'low_mixin',
  'not_relayed',
  'overspend',
  'too_big',
  'too_few_outputs',
  'sanity_check_failed',
  'nonzero_unlock_time',
  'tx_extra_too_big',
];

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Hex = z.string().regex(/^(?:[0-9a-f]{2})*$/);
const Height = z.int().min(0).max(1e12);
const Ok = z.object({ status: z.literal('OK') });
export const Info = Ok.extend({
  height: Height,
  target_height: Height,
  nettype: z.string(),
  top_block_hash: Hash,
  busy_syncing: z.boolean().optional(),
  synchronized: z.boolean().optional(),
  tx_pool_size: z.int().min(0).default(0),
});
const Header = z.object({
  height: Height,
  hash: Hash,
  prev_hash: Hash,
  timestamp: z.int().min(0).max(1e11),
  orphan_status: z.boolean(),
});
export const HeaderAnswer = Ok.extend({ block_header: Header });
export const HeadersAnswer = Ok.extend({ headers: z.array(Header).max(HEADERS_PER_REQUEST) });
export const BlockAnswer = Ok.extend({ blob: Hex });
export const PoolAnswer = Ok.extend({ tx_hashes: z.array(Hash).default([]) });
const SentTransaction = z.object({
  tx_hash: Hash,
  as_hex: Hex.default(''),
  pruned_as_hex: Hex.default(''),
  prunable_hash: Hex.default(''),
  in_pool: z.boolean(),
  double_spend_seen: z.boolean(),
  block_height: Height.optional(),
  output_indices: z.array(z.int().min(0)).optional(),
});
export const TransactionsAnswer = Ok.extend({
  txs: z.array(SentTransaction).max(TRANSACTIONS_PER_REQUEST).default([]),
  missed_tx: z.array(Hash).default([]),
});

export const FeeAnswer = Ok.extend({ fee: z.int().min(0), fees: z.array(z.int().min(0)).max(10).optional() });
/** The numbers are checked where they are used, because there may be a hundred thousand. */
export const DistributionAnswer = Ok.extend({
  distributions: z
    .array(z.object({ base: z.int().min(0), start_height: Height, distribution: z.custom<number[]>(Array.isArray) }))
    .length(1),
});
export const OutputsAnswer = Ok.extend({
  outs: z.array(z.object({ key: Hash, mask: Hash, unlocked: z.boolean() })).max(OUTPUTS_PER_REQUEST),
});
export const Sent = z.object({
  status: z.string(),
  reason: z.string().default(''),
  ...Object.fromEntries(FAULTS.map((name) => [name, z.boolean().optional()])),
});

export const Envelope = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

export const headerOf = ({ height, hash, prev_hash, timestamp }: z.infer<typeof Header>): LinkedHeader => ({
  height,
  hash,
  parent: prev_hash,
  timeMs: timestamp * 1_000,
});

export type SentTransaction = z.infer<typeof SentTransaction>;

/** Nodes send a transaction without its signatures, and their hash, or whole. */
export function transactionOf(sent: SentTransaction): Transaction {
  const { bytes, prunableHash } = bytesOf(sent);
  return parseTransaction(bytes, sent.as_hex === '' ? prunableHash : undefined);
}

/** `prunableHash`: hex, of nothing but zeros where there is none. */
export function bytesOf({ as_hex, pruned_as_hex, prunable_hash }: SentTransaction): SentBytes {
  const bytes = Buffer.from(as_hex === '' ? pruned_as_hex : as_hex, 'hex');
  return { bytes, prunableHash: prunable_hash === '' ? NO_HASH : prunable_hash };
}

type SentBytes = { bytes: Uint8Array; prunableHash: string };
const NO_HASH = '00'.repeat(32);
