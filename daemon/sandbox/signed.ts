/**
 * Real transactions of BTC, LTC and BCH: makes the payer's, and checks all as a node would. This module loads the
 * transaction library, so it is loaded only when it is needed.
 *
 * Inputs must have the forms that the product's own wallet makes: P2WPKH with SIGHASH_ALL on BTC and LTC (BIP-143),
 * P2PKH with SIGHASH_ALL | FORKID on BCH, whose digest is BIP-143's with that hash type ("replay protected sighash" of
 * its 2017 upgrade). Any other form is refused.
 */
import { createHash } from 'node:crypto';
import { script as Script, Transaction } from 'bitcoinjs-lib';
import { pointFromScalar, sign, verify } from 'tiny-secp256k1';
import { addressOfKey } from '../chains/utxo/address.ts';
import type { UtxoChain } from '../chains/utxo/params.ts';
import { Rejected } from '../domain/errors.ts';
import { unitsMax } from './addresses.ts';
import type { Candidate } from './consensus.ts';
import type { SandboxOutput } from './rows.ts';

/** Bitcoin's MAX_STANDARD_TX_WEIGHT; without witnesses it is 100,000 bytes, which is BCH's limit. */
const TX_WEIGHT_MAX = 400_000;
const TX_BYTES_MAX = 400_000;

const SIGHASH_ALL = 0x01;
const SIGHASH_ALL_FORKID = 0x41;
/** Signals replacement (BIP-125) and leaves the lock time in force. */
const SEQUENCE_REPLACEABLE = 0xfffffffd;
const SEQUENCE_FINAL = 0xffffffff;
const LOCK_TIME_IS_HEIGHT_BELOW = 500_000_000;

/** Keys that are public on purpose: the payer's, and that of the recipient of double-spends. */
const publicSecret = (name: string): Uint8Array =>
  createHash('sha256').update(`Countinghouse sandbox ${name}`).digest();
const PAYER_KEY = publicSecret('payer');
const STRANGER_KEY = publicSecret('stranger');

function publicKeyOf(secret: Uint8Array): Uint8Array {
  const point = pointFromScalar(secret, true);
  if (!point) throw new Error('assertion failed: a sandbox key is a valid scalar');
  return point;
}
const PAYER = publicKeyOf(PAYER_KEY);
const STRANGER = publicKeyOf(STRANGER_KEY);

export const payerScript = (chain: UtxoChain): Uint8Array => addressOfKey(PAYER, chain, 'sandbox').script;
export const strangerScript = (chain: UtxoChain): Uint8Array => addressOfKey(STRANGER, chain, 'sandbox').script;

export type SignedTransaction = Candidate & {
  readonly parsed: Transaction;
  /** True when it signals that it may be replaced (BIP-125). */
  readonly signals: boolean;
};

/** The P2PKH script, which BIP-143 also signs for P2WPKH. On BCH it is the coin's own script. */
const scriptCodeOf = (publicKey: Uint8Array): Uint8Array => addressOfKey(publicKey, 'BCH', 'sandbox').script;

const hashTypeOf = (chain: UtxoChain): number => (chain === 'BCH' ? SIGHASH_ALL_FORKID : SIGHASH_ALL);

/** The payer's transaction: it spends one whole coin, and the rest is the fee. */
export function payFrom(
  chain: UtxoChain,
  coin: { outpoint: string; units: bigint },
  to: readonly { script: Uint8Array; units: bigint }[],
): Uint8Array {
  const [txid, n] = coin.outpoint.split(':') as [string, string];
  const tx = new Transaction();
  tx.version = 2;
  tx.addInput(Buffer.from(txid, 'hex').reverse(), Number(n), SEQUENCE_REPLACEABLE);
  for (const { script, units } of to) tx.addOutput(script, units);
  const digest = tx.hashForWitnessV0(0, scriptCodeOf(PAYER), coin.units, hashTypeOf(chain));
  const der = Script.signature.encode(sign(digest, PAYER_KEY), SIGHASH_ALL);
  // The library does not support FORKID, so the byte is replaced.
  const signature = Uint8Array.of(...der.subarray(0, -1), hashTypeOf(chain));
  if (chain === 'BCH') tx.setInputScript(0, Script.compile([signature, PAYER]));
  else tx.setWitness(0, [signature, PAYER]);
  return tx.toBuffer();
}

const malformed = (why: string): Rejected =>
  new Rejected('broadcast.malformed', `The transaction is malformed: ${why}`);

/**
 * Decodes a transaction and makes the checks that need neither its coins nor the chain. Throws
 * `Rejected('broadcast.malformed')`.
 */
export function decode(chain: UtxoChain, raw: Uint8Array): SignedTransaction {
  const parsed = parse(raw);
  if (parsed.ins.length === 0 || parsed.outs.length === 0) throw malformed('it has no inputs or no outputs');
  if (parsed.weight() > TX_WEIGHT_MAX) throw malformed('it is too large');
  if (chain === 'BCH' && parsed.hasWitnesses()) throw malformed('this chain has no witnesses');
  const inputs = parsed.ins.map(({ hash, index }) => `${Buffer.from(hash).reverse().toString('hex')}:${index}`);
  // CVE-2018-17144: an input named twice is spent once.
  if (new Set(inputs).size !== inputs.length) throw malformed('an input is named twice');
  const outputs = parsed.outs.map(({ script, value }) => ({ script, asset: chain, units: value }));
  if (outputs.some(({ units }) => units < 0n || units > unitsMax(chain))) throw malformed('an amount is out of range');
  return {
    txid: parsed.getId(),
    raw: Buffer.from(raw).toString('hex'),
    inputs,
    outputs,
    parsed,
    signals: chain !== 'BCH' && parsed.ins.some(({ sequence }) => sequence <= SEQUENCE_REPLACEABLE),
  };
}

function parse(raw: Uint8Array): Transaction {
  if (raw.length > TX_BYTES_MAX) throw malformed('it is too large');
  let parsed: Transaction;
  try {
    parsed = Transaction.fromBuffer(raw);
  } catch {
    throw malformed('it cannot be decoded');
  }
  // Lengths written in more bytes than needed would give one transaction several encodings.
  if (!Buffer.from(parsed.toBuffer()).equals(raw)) throw malformed('its encoding is not the canonical one');
  return parsed;
}

/** Whether it may be in the block after `tip`. Lock times are heights here, so BIP-113's block times do not matter. */
export function isFinal({ parsed }: SignedTransaction, tip: number): boolean {
  if (parsed.locktime === 0 || parsed.ins.every(({ sequence }) => sequence === SEQUENCE_FINAL)) return true;
  return parsed.locktime < LOCK_TIME_IS_HEIGHT_BELOW && parsed.locktime <= tip;
}

/** Checks the signature of every input against the coin that it spends. Throws `Rejected('broadcast.bad_signature')`. */
export function checkSignatures(
  chain: UtxoChain,
  { parsed }: SignedTransaction,
  coins: readonly SandboxOutput[],
): void {
  for (const [index, coin] of coins.entries()) {
    if (!isSigned(chain, parsed, index, coin)) {
      throw new Rejected('broadcast.bad_signature', `Input ${index} does not prove that its coin may be spent`);
    }
  }
}

function isSigned(chain: UtxoChain, parsed: Transaction, index: number, coin: SandboxOutput): boolean {
  const [signature, publicKey, ...rest] = proofOf(chain, parsed, index);
  if (!signature || publicKey?.length !== 33 || rest.length > 0) return false;
  if (signature.at(-1) !== hashTypeOf(chain)) return false;
  if (!Buffer.from(addressOfKey(publicKey, chain, 'sandbox').script).equals(coin.script)) return false;
  const digest = parsed.hashForWitnessV0(index, scriptCodeOf(publicKey), coin.units, hashTypeOf(chain));
  try {
    const der = Uint8Array.of(...signature.subarray(0, -1), SIGHASH_ALL);
    return verify(digest, publicKey, Script.signature.decode(der).signature, true);
  } catch {
    return false; // not DER (BIP-66), or no point of the curve
  }
}

/** The signature data of an input: the witness on BTC and LTC, two pushes on BCH. Empty when the input has any other form. */
function proofOf(chain: UtxoChain, parsed: Transaction, index: number): Uint8Array[] {
  const input = parsed.ins[index];
  if (!input) return [];
  if (chain !== 'BCH') return input.script.length === 0 ? input.witness : [];
  const pushes = Script.decompile(input.script) ?? [];
  const proof = pushes.filter((push): push is Uint8Array => typeof push !== 'number');
  // Compiled again it must be the same script: pushes in their shortest form.
  return proof.length === pushes.length && Buffer.from(Script.compile(proof)).equals(input.script) ? proof : [];
}
