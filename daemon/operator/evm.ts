/** Decodes unsigned bytes of Ethereum and BNB Smart Chain, independently of the code that made them. */
import { hex } from '@scure/base';
import type { AssetId, Network } from '../domain/assets.ts';
import { present, Rejected } from '../domain/errors.ts';
import { chainIdOf, type EvmChain, NATIVE_COIN } from '../domain/evm.ts';
import { parseTransaction } from '../domain/evm-transaction.ts';
import { evmDestination } from '../wallet/signer/evm-address.ts';
import { isContractOf, movementOf } from '../wallet/signer/evm-movement.ts';
import { gasFeeLimit } from '../wallet/signer/limits.ts';
import { type Bytes, differs, type Reading } from './reading.ts';

const HEX = /^0x(?:[0-9a-f]{2})+$/;

export function evmReading(chain: EvmChain, network: Network, asset: AssetId): Reading {
  return {
    chain,
    asset,
    feeAsset: NATIVE_COIN[chain],
    destination: evmDestination,
    bytes: (raw) => bytesOf(raw, { chain, network, asset }),
    feeLimit: ({ gasLimit }) => gasFeeLimit(chain, present(gasLimit, 'gas limit')),
    change: (accountNo, { index, to }) => ({ chain, network, accountNo, index, to }),
  };
}

type Of = { chain: EvmChain; network: Network; asset: AssetId };

/** An unsigned transfer of the asset, in its only valid form. Throws `Rejected('review.differs')`. */
function bytesOf(raw: string | null, { chain, network, asset }: Of): Bytes {
  try {
    if (raw === null || !HEX.test(raw)) throw differs('the bytes are no transaction');
    const { transaction, signature } = parseTransaction(hex.decode(raw.slice(2)));
    if (signature !== null) throw differs('the bytes are not a transaction that waits to be signed');
    if (transaction.chainId !== BigInt(chainIdOf(network, chain))) throw differs('it is of another chain');
    const movement = movementOf(transaction);
    if (!movement) throw differs('it calls a contract for something that is no transfer');
    const { contract, to, units } = movement;
    // a cancellation of a token's transfer sends 0 of the native coin
    const isNothing = contract === null && units === 0n;
    if (!isNothing && !isContractOf(asset, { network, chain }, contract)) throw differs(`it does not move ${asset}`);
    const { gasLimit, maxFeePerGas } = transaction;
    return { keys: [], outputs: [{ to, units }], fee: gasLimit * maxFeePerGas, gasLimit };
  } catch (error) {
    if (error instanceof Rejected && error.code === 'review.differs') throw error;
    throw differs('the bytes are no transaction');
  }
}
