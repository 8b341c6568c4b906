/** Decodes a transaction for the operator's own program, separately for each family of chains. */
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import { evmReading } from './evm.ts';
import type { Reading } from './reading.ts';
import { utxoReading } from './utxo.ts';
import { moneroReading } from './xmr.ts';

const READINGS: { readonly [C in ChainId]: (network: Network, asset: AssetId) => Reading } = {
  BTC: (network) => utxoReading('BTC', network),
  LTC: (network) => utxoReading('LTC', network),
  BCH: (network) => utxoReading('BCH', network),
  ETH: (network, asset) => evmReading('ETH', network, asset),
  BSC: (network, asset) => evmReading('BSC', network, asset),
  XMR: (network) => moneroReading(network),
};

/** `asset`: the one that is paid. */
export const readingOf = (chain: ChainId, network: Network, asset: AssetId): Reading => READINGS[chain](network, asset);
