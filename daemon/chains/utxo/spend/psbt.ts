/**
 * Makes a PSBT of version 0 (BIP-174, BIP-371) from a plan of a watch-only account: with the origins of the keys of inputs and change,
 * so that the other wallet recognises both, and with the previous transactions, which show a hardware wallet what it pays as a fee.
 *
 * Invariants: it commits to the plan alone, and the previous transactions prove the amount of every coin: a signature of a P2PKH coin does not
 * cover its amount, so that a wrong one would be paid to miners. Nothing in it is secret.
 */
import { Psbt, Transaction } from 'bitcoinjs-lib';
import type { AccountKey, Branch, ScriptForm, WatchOnly } from '../../../domain/chain.ts';
import { assert, Rejected } from '../../../domain/errors.ts';
import type { UtxoPlan, UtxoUnsigned } from '../../../domain/spend.ts';
import { childPublicKey } from '../../hd.ts';
import { hash160, SCRIPT_OF_KEY } from '../address.ts';
import { unsignedTransaction } from './transaction.ts';

/** BIP-174: the magic, then the global map: the unsigned transaction under key 00. */
export const MAGIC = Buffer.from('70736274ff', 'hex');
const UNSIGNED_TRANSACTION_KEY = Uint8Array.of(1, 0);
const FINGERPRINT_BYTES = 4;

type Key = { publicKey: Uint8Array; masterFingerprint: Uint8Array; path: string };

/**
 * The PSBT of a plan, and the id that its transaction will have. Of P2PKH inputs nobody knows that id before they are signed: then it is
 * that of the unsigned transaction. Throws `Rejected('psbt.coin')` if a previous transaction does not show a coin as it is in the plan.
 */
export function makePsbt({ plan, previous }: UtxoUnsigned, account: AccountKey): { file: Uint8Array; txid: string } {
  const { form } = watchOf(account);
  needProven(plan, previous);
  const psbt = emptyPsbt(unsignedTransaction(plan), plan.inputs.length, plan.outputs.length);
  const signed = Transaction.fromHex(unsignedTransaction(plan));
  for (const [at, { outpoint, script, units, branch, index }] of plan.inputs.entries()) {
    const key = keyAt(account, branch, index);
    const { redeemScript, ...fields } = keyFields(key, form);
    const base = previous[outpoint.slice(0, outpoint.indexOf(':'))] as string;
    psbt.updateInput(at, {
      ...fields,
      ...(redeemScript && { redeemScript }),
      ...(form !== 'p2tr' && { nonWitnessUtxo: Buffer.from(base, 'hex') }),
      ...(form !== 'p2pkh' && { witnessUtxo: { script, value: units } }),
    });
    if (redeemScript) signed.setInputScript(at, pushOf(redeemScript));
  }
  for (const [at, output] of plan.outputs.entries()) {
    if (output.kind === 'change') psbt.updateOutput(at, keyFields(keyAt(account, 1, output.index), form));
  }
  return { file: psbt.toBuffer(), txid: signed.getId() };
}

/** Compares each coin with the output of its transaction, which its id proves. */
function needProven({ inputs }: UtxoPlan, previous: UtxoUnsigned['previous']): void {
  const read = new Map(Object.entries(previous).map(([txid, base]) => [txid, Transaction.fromHex(base)]));
  for (const { outpoint, units, script } of inputs) {
    const [txid = '', vout] = outpoint.split(':');
    const made = read.get(txid);
    const output = made?.getId() === txid ? made.outs[Number(vout)] : undefined;
    if (output?.value === units && Buffer.compare(output.script, script) === 0) continue;
    const text = `The coin ${outpoint} is not what the plan says: its transaction shows another one. Nothing was handed out`;
    throw new Rejected('psbt.coin', text);
  }
}

/** Parsed from its bytes: adding inputs one by one takes quadratic time. */
function emptyPsbt(unsigned: string, inputs: number, outputs: number): Psbt {
  const bytes = Buffer.from(unsigned, 'hex');
  const length = Buffer.alloc(5, 0xfe);
  length.writeUInt32LE(bytes.length, 1);
  const maps = Buffer.alloc(1 + inputs + outputs);
  return Psbt.fromBuffer(Buffer.concat([MAGIC, UNSIGNED_TRANSACTION_KEY, length, bytes, maps]));
}

function watchOf(account: AccountKey): WatchOnly & { form: ScriptForm } {
  assert(account.kind === 'secp256k1' && account.watch, 'the keys of the account are in another wallet');
  const { form, origin } = account.watch;
  assert(form !== null, 'an account of coins has a form');
  return { form, origin };
}

/** Without an origin the account itself is the root, as nodes take it (BIP-380). */
function keyAt(account: AccountKey, branch: Branch, index: number): Key {
  const { origin } = watchOf(account);
  assert(account.kind === 'secp256k1', 'an account of coins');
  const root = hash160(Buffer.from(account.publicKey, 'hex')).subarray(0, FINGERPRINT_BYTES);
  const steps = [...(origin?.path ? [origin.path.replaceAll('h', "'")] : []), branch, index];
  return {
    publicKey: childPublicKey(account, branch, index),
    masterFingerprint: origin ? Buffer.from(origin.fingerprint, 'hex') : root,
    path: `m/${steps.join('/')}`,
  };
}

/** The fields by which a wallet knows a key as its own. */
function keyFields({ publicKey, masterFingerprint, path }: Key, form: ScriptForm) {
  if (form === 'p2tr') {
    const pubkey = publicKey.subarray(1);
    return { tapInternalKey: pubkey, tapBip32Derivation: [{ masterFingerprint, path, pubkey, leafHashes: [] }] };
  }
  const bip32Derivation = [{ masterFingerprint, path, pubkey: publicKey }];
  return form === 'p2sh-p2wpkh'
    ? { bip32Derivation, redeemScript: SCRIPT_OF_KEY.p2wpkh(publicKey) }
    : { bip32Derivation };
}

/** A script that pushes up to 75 bytes. */
export const pushOf = (data: Uint8Array): Uint8Array => Uint8Array.of(data.length, ...data);
