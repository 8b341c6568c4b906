/**
 * The hash of a block's header, computed from the fields that an endpoint tells: the RLP of them all, in the order of the Yellow Paper
 * and of the forks that added some. So a block's hash proves its time and its filter.
 *
 * An endpoint whose fields do not make the hash proves nothing, and need not lie: a later fork may have added a field.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { encodeRlp, numberBytes } from '../../domain/rlp.ts';

const NUMBER = /^0x[0-9a-fA-F]{1,64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
/** Longer fields are in no header. The longest honest one is the signatures of BNB Smart Chain's validators in `extraData`. */
const FIELD_CHARS_MAX = 20_000;

/** In the order of the header. */
const FIELDS: readonly (readonly [name: string, kind: 'bytes' | 'number'])[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
];
/** Added at the end: by London, Shanghai, Cancun, Prague and Amsterdam. */
const LATER_FIELDS: typeof FIELDS = [
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
  ['blockAccessListHash', 'bytes'],
  ['slotNumber', 'number'],
];

/** Whether the fields of a block in an endpoint's answer make the hash that it has there. */
export function isProved(block: Readonly<Record<string, unknown>>): boolean {
  const later = LATER_FIELDS.filter(([name]) => block[name] !== undefined && block[name] !== null);
  const items: Uint8Array[] = [];
  for (const [name, kind] of [...FIELDS, ...later]) {
    const value = block[name];
    const pattern = kind === 'number' ? NUMBER : BYTES;
    if (typeof value !== 'string' || value.length > FIELD_CHARS_MAX || !pattern.test(value)) return false;
    items.push(kind === 'number' ? numberBytes(BigInt(value)) : Buffer.from(value.slice(2), 'hex'));
  }
  const hash = Buffer.from(keccak_256(encodeRlp(items))).toString('hex');
  return typeof block.hash === 'string' && block.hash.toLowerCase() === `0x${hash}`;
}
