/** Decodes unsigned bytes of BTC, LTC and BCH, independently of the code that made them. */
import { hex } from '@scure/base';
import { Transaction } from 'bitcoinjs-lib';
import type { Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { destination } from '../wallet/signer/destination.ts';
import { feeLimit } from '../wallet/signer/limits.ts';
import type { UtxoChain } from '../wallet/signer/wire.ts';
import { type Bytes, differs, type Reading } from './reading.ts';

export function utxoReading(chain: UtxoChain, network: Network): Reading {
  return {
    chain,
    asset: chain,
    feeAsset: chain,
    destination: (address) => destination(address, chain, network),
    bytes: bytesOf,
    feeLimit({ keys, outputs }, toSelf) {
      const scripts = outputs.map(({ to }) => ({ script: hex.decode(to) }));
      return feeLimit(chain, { inputs: keys, outputs: scripts }, toSelf);
    },
    change: (accountNo, { index, to }) => ({ chain, network, accountNo, index, to }),
  };
}

/** A transaction without signatures, in its only valid form. Throws `Rejected('review.differs')`. */
function bytesOf(raw: string | null): Bytes {
  try {
    const transaction = Transaction.fromHex(raw ?? '');
    if (
      transaction.toHex() !== raw ||
      transaction.ins.some(({ script, witness }) => script.length + witness.length > 0)
    ) {
      throw differs('the bytes are not a transaction that waits to be signed');
    }
    return {
      keys: transaction.ins.map(({ hash, index }) => `${hex.encode(hash.toReversed())}:${index}`),
      outputs: transaction.outs.map(({ script, value }) => ({ to: hex.encode(script), units: value })),
    };
  } catch (error) {
    if (error instanceof Rejected) throw error;
    throw differs('the bytes are no transaction');
  }
}
