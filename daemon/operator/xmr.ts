/** Reads a Monero request, whose transaction has no bytes before its signatures: its statement replaces them. */
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
