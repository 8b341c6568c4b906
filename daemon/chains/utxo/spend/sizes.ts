/**
 * Sizes of transactions before they are signed. Inputs count with their largest signature, so that the fee never falls
 * below its rate.
 *
 * Sources: BIP-141 (weight), `GetDustThreshold` of Bitcoin Core, Litecoin Core and Bitcoin Cash Node.
 */
import type { UtxoChain } from '../params.ts';

/** MAX_STANDARD_TX_WEIGHT; on BCH, without witnesses, equal to its 100,000 bytes. */
export const WEIGHT_MAX = 400_000;

const SEGWIT_MARKER_WEIGHT = 2;
/** Outpoint 36, empty script 1, sequence 4, each four times; witness: two counts, a signature of 72, a key of 33. */
const P2WPKH_INPUT_WEIGHT = 41 * 4 + 1 + 1 + 72 + 1 + 33;
/** Outpoint 36, script length 1, pushes of 72 and 33 bytes, sequence 4. */
const P2PKH_INPUT_WEIGHT = (36 + 1 + 1 + 72 + 1 + 33 + 4) * 4;

/** As P2WPKH, with a script of 23 bytes: the push of its redeem script. */
const NESTED_INPUT_WEIGHT = P2WPKH_INPUT_WEIGHT + 23 * 4;
/** Outpoint 36, empty script 1, sequence 4, each four times; witness: a count, and a signature of 64 without a hash type. */
const P2TR_INPUT_WEIGHT = 41 * 4 + 1 + 1 + 64;
/** Where other inputs have witnesses, an input without one has an empty one. */
const EMPTY_WITNESS_WEIGHT = 1;

const isSegwit = (chain: UtxoChain): boolean => chain !== 'BCH';

/**
 * The weight of one input of ours that spends an output with this script: one of the forms of watch-only accounts
 * (`ScriptForm`). Without a script P2WPKH on BTC and LTC, P2PKH on BCH.
 */
export function inputWeight(chain: UtxoChain, spent?: Uint8Array): number {
  if (!isSegwit(chain)) return P2PKH_INPUT_WEIGHT;
  if (spent?.length === P2PKH_SCRIPT_BYTES) return P2PKH_INPUT_WEIGHT + EMPTY_WITNESS_WEIGHT;
  if (spent?.length === P2SH_SCRIPT_BYTES) return NESTED_INPUT_WEIGHT;
  return spent?.length === P2TR_SCRIPT_BYTES ? P2TR_INPUT_WEIGHT : P2WPKH_INPUT_WEIGHT;
}

const P2PKH_SCRIPT_BYTES = 25;
const P2SH_SCRIPT_BYTES = 23;
const P2TR_SCRIPT_BYTES = 34;

/** The bytes that a compact size takes. */
export function countBytes(count: number): number {
  if (count < 0xfd) return 1;
  return count <= 0xffff ? 3 : 5;
}

const outputBytes = (script: Uint8Array): number => 8 + countBytes(script.length) + script.length;

/** The maximum weight of a signed transaction. `spent`: the script of its coins, which all have the form of one account. */
export function weightOf(chain: UtxoChain, inputs: number, scripts: readonly Uint8Array[], spent?: Uint8Array): number {
  const outputs = scripts.reduce((sum, script) => sum + outputBytes(script), 0);
  const frame = 4 + countBytes(inputs) + countBytes(scripts.length) + outputs + 4;
  return frame * 4 + (isSegwit(chain) ? SEGWIT_MARKER_WEIGHT : 0) + inputs * inputWeight(chain, spent);
}

/** Virtual bytes (BIP-141): a quarter of the weight, rounded up. */
export const vsizeOf = (weight: number): number => Math.ceil(weight / 4);

/** An output must be worth more than its spending at this rate per 1,000 bytes. BCH: three times 1,000. */
const DUST_RELAY_RATE: Readonly<Record<UtxoChain, number>> = { BTC: 3_000, LTC: 30_000, BCH: 3_000 };
const P2PKH_SPEND_BYTES = 148;
const WITNESS_SPEND_BYTES = 67;

/** A witness program (BIP-141): a version, and one push of 2 to 40 bytes. */
function isWitness(script: Uint8Array): boolean {
  const [version = 0, length] = script;
  const isVersion = version === 0 || (version >= 0x51 && version <= 0x60);
  return isVersion && script.length >= 4 && script.length <= 42 && length === script.length - 2;
}

/** No address's output is longer, with what it takes to spend it. */
const OUTPUT_AND_SPEND_BYTES_MAX = 200;

/** The dust limit of no address is higher. */
export const highestDust = (chain: UtxoChain): bigint =>
  BigInt(OUTPUT_AND_SPEND_BYTES_MAX * (DUST_RELAY_RATE[chain] / 1_000));

/** The minimum value of an output; nodes do not relay less (dust). */
export function dustOf(chain: UtxoChain, script: Uint8Array): bigint {
  const spend = isSegwit(chain) && isWitness(script) ? WITNESS_SPEND_BYTES : P2PKH_SPEND_BYTES;
  // every rate is a multiple of 1,000, so nothing is rounded
  return BigInt(outputBytes(script) + spend) * BigInt(DUST_RELAY_RATE[chain] / 1_000);
}
