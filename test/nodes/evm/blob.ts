/** A transaction with a blob (EIP-4844). A blob of zeros has the point at infinity as its commitment and as its proof, so no trusted setup is needed. */
import { createHash } from 'node:crypto';
import type { Hex, TransactionSerializableEIP4844 } from 'viem';

const BLOB_BYTES = 131_072;
const INFINITY: Hex = `0xc0${'00'.repeat(47)}`;

/** What a transaction that has the empty blob adds to its fields, with what only the pool is given. */
export function emptyBlob(): Pick<
  TransactionSerializableEIP4844,
  'blobVersionedHashes' | 'sidecars' | 'maxFeePerBlobGas'
> {
  const hash = createHash('sha256')
    .update(Buffer.from(INFINITY.slice(2), 'hex'))
    .digest();
  const versioned: Hex = `0x01${hash.subarray(1).toString('hex')}`;
  const blob: Hex = `0x${'00'.repeat(BLOB_BYTES)}`;
  return {
    blobVersionedHashes: [versioned],
    sidecars: [{ blob, commitment: INFINITY, proof: INFINITY }],
    maxFeePerBlobGas: 10n ** 10n,
  };
}
