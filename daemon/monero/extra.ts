/** The field `extra` of a transaction, which its sender may fill with anything (`cryptonote_basic/tx_extra.h`). */
import { Malformed } from '../domain/errors.ts';
import { Reader } from './reader.ts';

export type Extra = {
  /** The public keys for the shared secrets: one for all outputs, and one for each output if there are several. */
  publicKeys: Uint8Array[];
  outputKeys: Uint8Array[];
  /** Data for the receiver: an encrypted payment id. */
  nonces: Uint8Array[];
  /** Whether there is any other data, readable or not. */
  hasMore: boolean;
};

const KEY_BYTES = 32;
const EXTRA_PADDING = 0x00;
const EXTRA_PUBLIC_KEY = 0x01;
const EXTRA_NONCE = 0x02;
const EXTRA_MERGE_MINING = 0x03;
const EXTRA_OUTPUT_KEYS = 0x04;
const EXTRA_MINERGATE = 0xde;

/**
 * Its keys and nonces. The first unreadable field ends it, as in Monero's own wallet, which keeps what came before.
 * That wallet finds no more than this: it stops earlier, at padding that is not zero and at nonces above 255 bytes.
 */
export function readExtra(extra: Uint8Array): Extra {
  const publicKeys: Uint8Array[] = [];
  const outputKeys: Uint8Array[] = [];
  const nonces: Uint8Array[] = [];
  let hasMore = false;
  const reader = new Reader(extra);
  try {
    while (reader.at < extra.length) {
      const tag = reader.byte();
      if (tag === EXTRA_PUBLIC_KEY) publicKeys.push(reader.take(KEY_BYTES));
      else if (tag === EXTRA_OUTPUT_KEYS) {
        for (let left = reader.count(); left > 0; left--) outputKeys.push(reader.take(KEY_BYTES));
      } else if (tag === EXTRA_NONCE) nonces.push(reader.take(reader.count()));
      else {
        hasMore = true;
        if (tag === EXTRA_MERGE_MINING || tag === EXTRA_MINERGATE) reader.take(reader.count());
        else if (tag !== EXTRA_PADDING) break;
      }
    }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    hasMore = true;
  }
  return { publicKeys, outputKeys, nonces, hasMore };
}
