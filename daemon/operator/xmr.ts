/**
 * Reads a request to sign a Monero transaction. Such a transaction has no bytes before its signatures. A statement of
 * its inputs, outputs and fee replaces them, and the signer signs nothing else.
 */
import type { Network } from '../domain/assets.ts';
import { readStatement } from '../monero/statement.ts';
import { moneroFeeLimit } from '../wallet/signer/limits.ts';
import { destinationOf } from '../wallet/signer/xmr/destination.ts';
import { type Bytes, differs, type Reading } from './reading.ts';

export function moneroReading(network: Network): Reading {
  return {
    chain: 'XMR',
    asset: 'XMR',
    feeAsset: 'XMR',
    destination: (address) => destinationOf(address, network),
    bytes: bytesOf,
    feeLimit: ({ keys, outputs }) => moneroFeeLimit({ inputs: keys, outputs }),
    change: (accountNo, { index, to }) => ({ chain: 'XMR', network, accountNo, index, to }),
  };
}

/** Throws `Rejected('review.differs')` for another text. */
function bytesOf(raw: string | null): Bytes {
  const statement = raw === null ? null : readStatement(raw);
  if (!statement) throw differs('the bytes are no statement of a transaction');
  const outputs = statement.pays.map(({ to, units }) => ({ to, units: BigInt(units) }));
  return { keys: statement.spends, outputs, fee: BigInt(statement.fee) };
}
