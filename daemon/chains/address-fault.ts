/** Explains why a text is no address, to somebody who mistyped it. Whether it is one is the adapter's decision. */
import { base58, bech32, bech32m } from '@scure/base';
import { CHAINS, type ChainId, NETWORKS, type Network } from '../domain/assets.ts';
import { isEvm } from '../domain/evm.ts';
import * as xmr from '../monero/address.ts';
import type { ChainAdapter } from './adapter.ts';
import { isUtxo } from './derive.ts';
import * as evm from './evm/address.ts';
import * as utxo from './utxo/address.ts';
import { UTXO_PARAMS } from './utxo/params.ts';

/** The longest address of any chain here is an integrated one of Monero, with 106 characters. */
const CHARACTERS_MAX = 106;
/** With letters that it never has, because these are mistyped. */
const BECH32 = /^([a-z]{2,10})1[0-9a-z]{6,}$/i;
const CASH = /^(?:(bitcoincash|bchtest|bchreg):)?[qpzr][02-9ac-hj-np-z]{41,}$/i;
const EVM = /^0x[0-9a-f]{40}$/i;
const MWEB = /^(?:ltc|t)mweb1/i;
/** The lengths of addresses with a hash of 20 bytes, and of Monero's. */
const BASE58 = /^(?:[1-9A-HJ-NP-Za-km-z]{26,35}|[1-9A-HJ-NP-Za-km-z]{95}|[1-9A-HJ-NP-Za-km-z]{106})$/;
const BASE58_BYTES = 25;
const BASE58_CHARS_MAX = 35;

const PREFIXES: ReadonlySet<string> = new Set(
  Object.values(UTXO_PARAMS).flatMap((networks) =>
    Object.values(networks).flatMap(({ address }) => ('hrp' in address ? [address.hrp] : [])),
  ),
);

const CHAIN_NAMES: Readonly<Record<ChainId, string>> = {
  BTC: 'Bitcoin',
  BCH: 'Bitcoin Cash',
  LTC: 'Litecoin',
  XMR: 'Monero',
  ETH: 'Ethereum and BNB Smart Chain',
  BSC: 'Ethereum and BNB Smart Chain',
};

/** Why an address cannot be paid, as the end of a sentence; null: it can. */
export function addressFault(adapter: ChainAdapter, text: string): string | null {
  if (adapter.isValidAddress(text)) return adapter.whyUnpayable?.(text) ?? null;
  if (MWEB.test(text)) return 'it is an address of MWEB, which cannot be paid from here';
  return ofAnother(text, adapter) ?? (hasWrongChecksum(text) ? WRONG_CHECKSUM : 'it is no address of this network');
}

const WRONG_CHECKSUM = 'its checksum is wrong, so a character was mistyped, or its end is missing';

/** Of another network of the chain before another chain. The sandbox has the forms of regtest. */
function ofAnother(text: string, { chain, network }: Pick<ChainAdapter, 'chain' | 'network'>): string | null {
  if (text.length > CHARACTERS_MAX) return null;
  const chains = [chain, ...CHAINS.filter((one) => one !== chain)];
  for (const other of chains) {
    const found = NETWORKS.find((one) => one !== 'sandbox' && isAddress(text, other, one));
    if (found === undefined) continue;
    // account chains have the same addresses on each network
    const on = isEvm(other) ? '' : ` on ${found}`;
    return other === chain
      ? `it is an address${on}, not on ${network}`
      : `it is an address of ${CHAIN_NAMES[other]}${on}`;
  }
  return null;
}

function isAddress(text: string, chain: ChainId, network: Network): boolean {
  if (isUtxo(chain)) return utxo.isValidAddress(text, chain, network);
  return chain === 'XMR' ? xmr.isValidAddress(text, network) : evm.isValidAddress(text);
}

/** Whether a text that is no address of any network has the form of one. */
function hasWrongChecksum(text: string): boolean {
  if (text.length > CHARACTERS_MAX) return false;
  if (EVM.test(text) || CASH.test(text)) return true;
  const prefix = BECH32.exec(text)?.[1]?.toLowerCase();
  if (prefix !== undefined && PREFIXES.has(prefix)) {
    return bech32.decodeUnsafe(text) === undefined && bech32m.decodeUnsafe(text) === undefined;
  }
  return BASE58.test(text) && (text.length > BASE58_CHARS_MAX || base58.decode(text).length === BASE58_BYTES);
}
