/** Names of chains and of their sources. */
import { findAsset } from '../../daemon/domain/assets.ts';

/** The name of a chain: "Bitcoin Cash", "BNB Smart Chain". */
export const chainName = (chain: string): string =>
  findAsset(chain === 'BSC' ? 'BNB' : chain)?.networkName.replace(/ \(.*/, '') ?? chain;

export const sourceName = ({ source, network }: { source: string; network: string }): string =>
  network === 'sandbox' ? 'Sandbox' : source;
