/**
 * Judges what another wallet made of a PSBT: a PSBT with its signatures, or the finished transaction. Only what was planned passes:
 * the same version, coins, outputs, amounts and lock time, signed whole.
 *
 * Invariant: the bytes of the result are made here, from the plan and from signatures that were verified here.
 */
import { Psbt, script as Script, Transaction } from 'bitcoinjs-lib';
import { verify, verifySchnorr } from 'tiny-secp256k1';
import type { Network } from '../../../domain/assets.ts';
import { assetOf } from '../../../domain/assets.ts';
import { Rejected } from '../../../domain/errors.ts';
import { formatUnits } from '../../../domain/money.ts';
import type { RejectCode } from '../../../domain/rejections.ts';
import type { SignedSpend, UtxoPlan } from '../../../domain/spend.ts';
import { addressOf, SCRIPT_OF_KEY } from '../address.ts';
import type { UtxoChain } from '../params.ts';
import { MAGIC, pushOf } from './psbt.ts';
import { unsignedTransaction } from './transaction.ts';

/** A PSBT of the most inputs, with their previous transactions, is far smaller; a file of another kind may be larger. */
const BYTES_MAX = 20_000_000;
const SIGHASH_DEFAULT = 0x00;
const SIGHASH_ALL = 0x01;
const SCHNORR_BYTES = 64;
const COMPRESSED_BYTES = 33;

/** An input by the upload: its signatures by key, its own signature (taproot), and the hash type that it names. */
type Proofs = {
  byKey: { pubkey: Uint8Array; signature: Uint8Array }[];
  own: Uint8Array | null;
  hashType: number | null;
};
type Upload = { transaction: Transaction; proofs: Proofs[] };

/** The advice about a transaction that is not the planned one. */
const WAY_OUT =
  'A signed copy may be with the one who altered it: cancel this withdrawal now, which sends the same coins to an own address, and sign that first';

const refusal = (code: RejectCode, why: string): Rejected => new Rejected(code, why, 'signed');
const altered = (code: RejectCode, why: string): Rejected =>
  refusal(code, `This is not what was planned: ${why}. ${WAY_OUT}`);

/**
 * The signed transaction of a plan from an upload: a PSBT in binary, base64 or hex, or a transaction in hex. Throws `Rejected`:
 * `psbt.malformed`, `.version`, `.locktime`, `.input`, `.sequence`, `.output`, `.amount`, `.sighash`, `.unsigned`, `.signature`.
 */
export function judgeSigned(plan: UtxoPlan, given: Uint8Array, chain: UtxoChain, network: Network): SignedSpend {
  const { transaction, proofs } = read(given);
  compare(plan, transaction, chain, network);
  const signed = Transaction.fromHex(unsignedTransaction(plan));
  const witnesses = plan.inputs.map((_, at) => proofOf(plan, signed, at, proofs[at] as Proofs));
  // a digest is of the transaction without any signature, so these come last
  for (const [at, { script, witness }] of witnesses.entries()) {
    if (script) signed.setInputScript(at, script);
    if (witness) signed.setWitness(at, witness);
  }
  return { txid: signed.getId(), raw: signed.toHex(), fee: plan.fee, size: signed.virtualSize() };
}

/** Whether a transaction (hex, with or without witnesses) spends the coins of a plan for the same outputs. */
export function isOfPlan(plan: UtxoPlan, raw: string): boolean {
  const planned = Transaction.fromHex(unsignedTransaction(plan));
  const { ins, outs } = Transaction.fromHex(raw);
  const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
  return (
    ins.length === planned.ins.length &&
    outs.length === planned.outs.length &&
    planned.ins.every(({ hash, index }) => ins.some((one) => one.index === index && isSame(one.hash, hash))) &&
    planned.outs.every(({ script, value }, at) => outs[at]?.value === value && isSame(outs[at].script, script))
  );
}

function read(given: Uint8Array): Upload {
  if (given.length > BYTES_MAX) throw refusal('psbt.malformed', 'The file is larger than any signed transaction');
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  const binary = bytes.subarray(0, MAGIC.length).equals(MAGIC) ? bytes : decoded(bytes.toString('latin1').trim());
  try {
    return binary.subarray(0, MAGIC.length).equals(MAGIC) ? readPsbt(binary) : readTransaction(binary);
  } catch (error) {
    throw refusal('psbt.malformed', `The signed transaction cannot be read: ${(error as Error).message}`);
  }
}

function decoded(text: string): Buffer {
  const plain = text.replaceAll(/\s+/g, '');
  if (/^(?:[0-9a-fA-F]{2})+$/.test(plain)) return Buffer.from(plain, 'hex');
  if (/^cHNidP[0-9A-Za-z+/]+={0,2}$/.test(plain)) return Buffer.from(plain, 'base64');
  throw refusal('psbt.malformed', 'It is neither a PSBT, in binary or base64, nor a transaction in hex');
}

function readPsbt(bytes: Buffer): Upload {
  const { data } = Psbt.fromBuffer(bytes);
  const transaction = Transaction.fromBuffer(data.getTransaction());
  const proofs = data.inputs.map((input): Proofs => {
    const { partialSig = [], tapKeySig, finalScriptSig, finalScriptWitness, sighashType } = input;
    const hashType = sighashType ?? null;
    if (!finalScriptSig && !finalScriptWitness) return { byKey: partialSig, own: tapKeySig ?? null, hashType };
    return { ...proofIn(finalScriptSig ?? new Uint8Array(), stackOf(finalScriptWitness)), hashType };
  });
  return { transaction, proofs };
}

function readTransaction(bytes: Buffer): Upload {
  const transaction = Transaction.fromBuffer(bytes);
  return { transaction, proofs: transaction.ins.map(({ script, witness }) => proofIn(script, witness)) };
}

/** The items of a final witness as a PSBT has it: their count, then each with its length. */
function stackOf(bytes: Uint8Array | undefined): Uint8Array[] {
  if (!bytes) return [];
  const items: Uint8Array[] = [];
  let at = 1;
  for (let left = bytes[0] ?? 0; left > 0; left--) {
    const length = bytes[at] ?? 0;
    // what signs with one key is shorter than what needs another form of length
    items.push(bytes.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return items;
}

/** The signature in a finished input. Everything else there is written anew. */
function proofIn(script: Uint8Array, witness: readonly Uint8Array[]): Proofs {
  const pushes = Script.decompile(script)?.filter((one) => typeof one !== 'number') ?? [];
  const items = witness.length > 0 ? witness : pushes;
  const [first, second] = items;
  if (items.length === 1 && witness.length === 1 && first) return { byKey: [], own: first, hashType: null };
  const isPair = items.length === 2 && first && second;
  return { byKey: isPair ? [{ pubkey: second, signature: first }] : [], own: null, hashType: null };
}

/** Compares everything that a signature of all inputs and outputs covers. */
function compare(plan: UtxoPlan, given: Transaction, chain: UtxoChain, network: Network): void {
  const planned = Transaction.fromHex(unsignedTransaction(plan));
  compareCoins(plan, given);
  compareOutputs(plan, given, chain, network);
  if (given.version !== planned.version) {
    throw altered('psbt.version', `its version is ${given.version}, not ${planned.version}`);
  }
  if (given.locktime !== planned.locktime) {
    throw altered('psbt.locktime', `its lock time is ${given.locktime}, not ${planned.locktime}`);
  }
}

function compareCoins({ inputs }: UtxoPlan, { ins }: Transaction): void {
  const nameOf = (at: number): string | null => {
    const one = ins[at];
    return one ? `${Buffer.from(one.hash).reverse().toString('hex')}:${one.index}` : null;
  };
  const names = ins.map((_, at) => nameOf(at));
  if (!inputs.some(({ outpoint }) => names.includes(outpoint))) {
    throw refusal('psbt.other', 'It spends none of the planned coins: it is a file of another payment');
  }
  if (ins.length !== inputs.length) throw altered('psbt.input', `it spends ${ins.length} coins, not ${inputs.length}`);
  for (const [at, { outpoint, sequence }] of inputs.entries()) {
    if (nameOf(at) !== outpoint) throw altered('psbt.input', `its coin ${at + 1} is ${nameOf(at)}, not ${outpoint}`);
    const given = ins[at]?.sequence;
    if (given !== sequence)
      throw altered('psbt.sequence', `the sequence of its coin ${at + 1} is ${given}, not ${sequence}`);
  }
}

function compareOutputs({ outputs }: UtxoPlan, { outs }: Transaction, chain: UtxoChain, network: Network): void {
  for (const [at, { script, value }] of outs.entries()) {
    const planned = outputs[at];
    const to = addressOf(script, chain, network) ?? 'a script without an address';
    if (!planned) throw altered('psbt.output', `it pays ${to}, too`);
    if (Buffer.compare(script, planned.script) !== 0) {
      throw altered('psbt.output', `it pays ${to} where ${planned.address} was planned`);
    }
    const [is, was] = [value, planned.units].map((units) => formatUnits(units, assetOf(chain)));
    if (is !== was) throw altered('psbt.amount', `it pays ${is} to ${to}, not ${was}`);
  }
  const missing = outputs[outs.length];
  if (missing) throw altered('psbt.output', `it does not pay ${missing.address}`);
}

type Proven = { script?: Uint8Array; witness?: Uint8Array[] };

/** The script and the witness that prove an input, from a signature that was verified. */
function proofOf(plan: UtxoPlan, unsigned: Transaction, at: number, proofs: Proofs): Proven {
  const { script: coin, units } = plan.inputs[at] as UtxoPlan['inputs'][number];
  const name = `coin ${at + 1} of ${plan.inputs.length}`;
  if (coin.length === 34) return { witness: [taprootProof(plan, unsigned, at, proofs, name)] };
  const isPlain = coin.length === 25;
  const isNested = coin.length === 23;
  const scriptOf = SCRIPT_OF_KEY[isPlain ? 'p2pkh' : isNested ? 'p2sh-p2wpkh' : 'p2wpkh'];
  const found = proofs.byKey.find(
    ({ pubkey }) => pubkey.length === COMPRESSED_BYTES && Buffer.compare(scriptOf(pubkey), coin) === 0,
  );
  if (!found)
    throw refusal('psbt.unsigned', `The ${name} is not signed with its key: sign it in the wallet that has the keys`);
  const { pubkey, signature } = found;
  needAll(signature.at(-1) ?? -1, proofs, name, [SIGHASH_ALL]);
  const digest = isPlain
    ? unsigned.hashForSignature(at, coin, SIGHASH_ALL)
    : unsigned.hashForWitnessV0(at, SCRIPT_OF_KEY.p2pkh(pubkey), units, SIGHASH_ALL);
  if (!isVerified(() => verify(digest, pubkey, Script.signature.decode(signature).signature, true))) {
    throw wrong(name);
  }
  if (isPlain) return { script: Uint8Array.of(...pushOf(signature), ...pushOf(pubkey)) };
  const witness = [signature, pubkey];
  return isNested ? { script: pushOf(SCRIPT_OF_KEY.p2wpkh(pubkey)), witness } : { witness };
}

/** The signature of a taproot output by its key alone (BIP-341), which signs every coin's script and amount. */
function taprootProof(plan: UtxoPlan, unsigned: Transaction, at: number, proofs: Proofs, name: string): Uint8Array {
  const { own } = proofs;
  if (!own) throw refusal('psbt.unsigned', `The ${name} is not signed: sign it in the wallet that has the keys`);
  // bytes behind a signature are no part of what is verified, and no node takes them
  if (own.length !== SCHNORR_BYTES && own.length !== SCHNORR_BYTES + 1) throw wrong(name);
  const hashType = own.length === SCHNORR_BYTES ? SIGHASH_DEFAULT : (own.at(-1) ?? -1);
  needAll(hashType, proofs, name, own.length === SCHNORR_BYTES ? [SIGHASH_DEFAULT] : [SIGHASH_ALL]);
  const scripts = plan.inputs.map(({ script }) => script);
  const values = plan.inputs.map(({ units }) => units);
  const digest = unsigned.hashForWitnessV1(at, scripts, values, hashType);
  const key = scripts[at]?.subarray(2) as Uint8Array;
  if (!isVerified(() => verifySchnorr(digest, key, own.subarray(0, SCHNORR_BYTES)))) throw wrong(name);
  return own;
}

function needAll(hashType: number, { hashType: said }: Proofs, name: string, allowed: readonly number[]): void {
  const isNamed = said === null || said === SIGHASH_ALL || said === SIGHASH_DEFAULT;
  if (allowed.includes(hashType) && isNamed) return;
  const type = (isNamed ? hashType : (said as number)).toString(16).padStart(2, '0');
  throw altered(
    'psbt.sighash',
    `the ${name} is signed with hash type ${type}, which lets others change the transaction`,
  );
}

const wrong = (name: string): Rejected =>
  refusal('psbt.signature', `The signature of the ${name} is wrong: it is not of this transaction, or was damaged`);

function isVerified(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    // no strict encoding, or no point of the curve
    return false;
  }
}
