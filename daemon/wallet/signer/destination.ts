/**
 * Converts addresses to scripts for the signer. It uses bitcoinjs-lib and libauth instead of the code that built the
 * plan, so that one error or manipulation cannot deceive both.
 *
 * Invariant: a text has a script only if it is a standard destination of exactly this chain and network.
 */
import {
  type CashAddressNetworkPrefix,
  cashAddressToLockingBytecode,
  lockingBytecodeToCashAddress,
} from '@bitauth/libauth';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToNumberBE } from '@noble/curves/utils.js';
import { hex as hexOf } from '@scure/base';
import { address as Address, crypto, initEccLib, payments } from 'bitcoinjs-lib';
import type { Network } from '../../domain/assets.ts';
import type { ScriptForm } from '../../domain/chain.ts';
import type { UtxoChain } from './wire.ts';

const { Point } = secp256k1;
const isXOnlyPoint = (key: Uint8Array): boolean => {
  try {
    schnorr.utils.lift_x(bytesToNumberBE(key));
    return true;
  } catch {
    return false;
  }
};
let hasPoints = false;
/**
 * Gives the library what it needs for P2TR (BIP-340 and BIP-341): before it is asked for an address, since the library then tries it for
 * a third of a signer's start. Of one kind everywhere, because a browser has no compiled module.
 */
function needPoints(): void {
  if (hasPoints) return;
  initEccLib({
    isXOnlyPoint,
    xOnlyPointAddTweak(key, tweak) {
      const scalar = bytesToNumberBE(tweak);
      if (!isXOnlyPoint(key) || scalar >= Point.Fn.ORDER) return null;
      const sum = schnorr.utils.lift_x(bytesToNumberBE(key)).add(Point.BASE.multiplyUnsafe(scalar));
      if (sum.is0()) return null;
      const bytes = sum.toBytes(true);
      return { parity: bytes[0] === 3 ? 1 : 0, xOnlyPubkey: bytes.slice(1) };
    },
  });
  hasPoints = true;
}

type Form = { bech32: string; pubKeyHash: number; scriptHash: number };
const form = (bech32: string, pubKeyHash: number, scriptHash: number): Form => ({ bech32, pubKeyHash, scriptHash });

/** From `chainparams.cpp` of Bitcoin Core and Litecoin Core. LTC's old `3…` form is refused: BTC has it, too. */
const SEGWIT: Readonly<Record<'BTC' | 'LTC', Readonly<Record<Network, Form>>>> = {
  BTC: {
    mainnet: form('bc', 0x00, 0x05),
    testnet: form('tb', 0x6f, 0xc4),
    regtest: form('bcrt', 0x6f, 0xc4),
    sandbox: form('bcrt', 0x6f, 0xc4),
  },
  LTC: {
    mainnet: form('ltc', 0x30, 0x32),
    testnet: form('tltc', 0x6f, 0x3a),
    regtest: form('rltc', 0x6f, 0x3a),
    sandbox: form('rltc', 0x6f, 0x3a),
  },
};
const CASH_PREFIX: Readonly<Record<Network, string>> = {
  mainnet: 'bitcoincash',
  testnet: 'bchtest',
  regtest: 'bchreg',
  sandbox: 'bchreg',
};

const ADDRESS = /^[0-9A-Za-z:]{1,90}$/;

/** P2PKH, P2SH, P2WPKH, P2WSH and P2TR, and P2SH32 of BCH. */
const STANDARD = /^(?:76a914[0-9a-f]{40}88ac|a914[0-9a-f]{40}87|0014[0-9a-f]{40}|0020[0-9a-f]{64}|5120[0-9a-f]{64})$/;
const STANDARD_CASH = /^(?:76a914[0-9a-f]{40}88ac|a914[0-9a-f]{40}87|aa20[0-9a-f]{64}87)$/;

/** The script (hex) that an address stands for on this chain and network, or null. */
export function destination(address: string, chain: UtxoChain, network: Network): string | null {
  if (!ADDRESS.test(address)) return null;
  if (chain === 'BCH') return cashDestination(address, CASH_PREFIX[network]);
  needPoints();
  try {
    // the library requires all parameters of a network, although it does not read all of them
    const parameters = { ...SEGWIT[chain][network], messagePrefix: '', bip32: { public: 0, private: 0 }, wif: 0 };
    const script = hexOf.encode(Address.toOutputScript(address, parameters));
    return STANDARD.test(script) ? script : null;
  } catch {
    return null;
  }
}

function cashDestination(address: string, prefix: string): string | null {
  // the CashAddr specification allows upper case or lower case, but not both
  if (/[a-z]/.test(address) && /[A-Z]/.test(address)) return null;
  const whole = address.includes(':') ? address : `${/[A-Z]/.test(address) ? prefix.toUpperCase() : prefix}:${address}`;
  const decoded = cashAddressToLockingBytecode(whole);
  if (typeof decoded === 'string' || decoded.prefix !== prefix) return null;
  const script = hexOf.encode(decoded.bytecode);
  return STANDARD_CASH.test(script) ? script : null;
}

/** The script (hex) of our own address of a compressed public key: P2WPKH on BTC and LTC, P2PKH on BCH. */
export const ownScript = (publicKey: Uint8Array, chain: UtxoChain): string =>
  scriptOfForm(publicKey, chain === 'BCH' ? 'p2pkh' : 'p2wpkh');

/** The script (hex) of a compressed public key. P2TR spends by the key alone (BIP-86). */
export function scriptOfForm(publicKey: Uint8Array, form: ScriptForm): string {
  const keyHash = hexOf.encode(crypto.hash160(publicKey));
  if (form === 'p2pkh') return `76a914${keyHash}88ac`;
  if (form === 'p2wpkh') return `0014${keyHash}`;
  if (form === 'p2sh-p2wpkh') return `a914${hexOf.encode(crypto.hash160(hexOf.decode(`0014${keyHash}`)))}87`;
  needPoints();
  const { output } = payments.p2tr({ internalPubkey: publicKey.subarray(1) });
  if (!output) throw new Error('assertion failed: a key has an output of P2TR');
  return hexOf.encode(output);
}

/**
 * The dust limit of an output, smallest units: nodes refuse an output below it. `GetDustThreshold` of Bitcoin Core at 3
 * sat/vB, of Litecoin Core at 30; BCH's equals Bitcoin's without witnesses.
 */
export function dustLimit(script: string, chain: UtxoChain): bigint {
  const scriptBytes = script.length / 2;
  const isWitness = /^(?:0014|0020|5120)/.test(script);
  const bytes = 8 + 1 + scriptBytes + (isWitness ? 67 : 148);
  return BigInt(bytes) * (chain === 'LTC' ? 30n : 3n);
}

/** The address of one of our own scripts (`ownScript`, `scriptOfForm`), in the chain's usual form. */
export function addressOfOwnScript(script: string, chain: UtxoChain, network: Network): string {
  const bytecode = hexOf.decode(script);
  if (chain === 'BCH') {
    const made = lockingBytecodeToCashAddress({ bytecode, prefix: CASH_PREFIX[network] as CashAddressNetworkPrefix });
    if (typeof made === 'string') throw new Error(`assertion failed: ${made}`);
    return made.address;
  }
  needPoints();
  const parameters = { ...SEGWIT[chain][network], messagePrefix: '', bip32: { public: 0, private: 0 }, wif: 0 };
  return Address.fromOutputScript(bytecode, parameters);
}
