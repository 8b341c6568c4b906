/**
 * Makes the signed bytes of a plan. BTC and LTC use a PSBT of bitcoinjs-lib with P2WPKH inputs. BCH uses libauth with
 * P2PKH inputs and SIGHASH_ALL | FORKID (its replay-protected digest of 2017). Signatures are deterministic (RFC 6979)
 * and have a low S, so that the same plan always gives the same bytes and the same id.
 *
 * Invariant: a plan was judged before it is signed, except on the sandbox. Every signature is verified before it is
 * given out.
 */
import { hash } from 'node:crypto';
import {
  encodeDataPush,
  encodeTransaction,
  generateSigningSerializationBCH,
  hash256,
  hashTransaction,
  hexToBin,
  SigningSerializationTypeBCH,
} from '@bitauth/libauth';
import { bytesToHex } from '@noble/hashes/utils.js';
import { Psbt, script as Script, Transaction } from 'bitcoinjs-lib';
import { sign, verify } from 'tiny-secp256k1';
import { assert } from '../../domain/errors.ts';
import type { SignedSpend, UtxoPlan } from '../../domain/spend.ts';
import { type KeyPair, withAccountKeys } from './keys.ts';
import { isUtxo } from './wire.ts';

const SIGHASH_ALL = 0x01;
const SIGHASH_ALL_FORKID = 0x41;

/** Signs a plan of BTC, LTC or BCH with the wallet's keys. The caller wipes the seed. */
export function signPlan(seed: Uint8Array, plan: UtxoPlan): SignedSpend {
  const { chain } = plan;
  assert(isUtxo(chain), 'a plan of BTC, LTC or BCH');
  const signed = withAccountKeys(seed, chain, plan.network, plan.accountNo, (keys) => {
    const each: WithKey = (at, use) => {
      const input = plan.inputs[at];
      assert(input, 'an input of the plan');
      return keys.withKey(input.branch, input.index, use);
    };
    return chain === 'BCH' ? signCash(plan, each) : signSegwit(plan, each);
  });
  return { ...signed, fee: plan.fee };
}

/** Lends the key pair of the input at a position. */
type WithKey = <T>(at: number, use: (pair: KeyPair) => T) => T;

type SignedBytes = Omit<SignedSpend, 'fee'>;

function signSegwit(plan: UtxoPlan, withKey: WithKey): SignedBytes {
  const psbt = unsignedPsbt(plan);
  const digest = digests(plan, SIGHASH_ALL);
  for (const at of plan.inputs.keys()) {
    withKey(at, (pair) => {
      const signature = Script.signature.encode(checkedSignature(digest(at), pair), SIGHASH_ALL);
      psbt.updateInput(at, { partialSig: [{ pubkey: pair.publicKey, signature }] });
    });
  }
  // the library computes this digest independently; the parts of it are the same for all inputs
  assert(
    psbt.validateSignaturesOfInput(0, (key, hash, signature) => verify(hash, key, signature, true)),
    'as signed',
  );
  const transaction = psbt.finalizeAllInputs().extractTransaction(true);
  return { txid: transaction.getId(), raw: transaction.toHex(), size: transaction.virtualSize() };
}

/** The PSBT of a plan, parsed from its bytes: adding inputs one by one takes quadratic time. */
function unsignedPsbt({ version, lockTime, inputs, outputs }: UtxoPlan): Psbt {
  const unsigned = new Transaction();
  unsigned.version = version;
  unsigned.locktime = lockTime;
  for (const { outpoint, sequence } of inputs) {
    const { txid, n } = parseOutpoint(outpoint);
    unsigned.addInput(Buffer.from(txid, 'hex').reverse(), n, sequence);
  }
  for (const { script, units } of outputs) unsigned.addOutput(script, units);
  const bytes = unsigned.toBuffer();
  // BIP-174: magic, the global map with the transaction under key 00, and an empty map for each input and output
  const length = Buffer.concat([Uint8Array.of(0xfe), u32(bytes.length)]);
  const maps = Buffer.alloc(1 + inputs.length + outputs.length);
  const whole = Buffer.concat([Buffer.from('psbt'), Uint8Array.of(0xff, 1, 0), length, bytes, maps]);
  const psbt = Psbt.fromBuffer(whole, { maximumFeeRate: Number.MAX_SAFE_INTEGER });
  for (const [at, { script, units }] of inputs.entries()) {
    psbt.updateInput(at, { witnessUtxo: { script, value: units } });
  }
  return psbt;
}

/** P2PKH inputs: push of signature and hash type, push of the public key. */
function signCash(plan: UtxoPlan, withKey: WithKey): SignedBytes {
  const transaction = {
    version: plan.version,
    locktime: plan.lockTime,
    inputs: plan.inputs.map(({ outpoint, sequence }) => {
      const { txid, n } = parseOutpoint(outpoint);
      return {
        outpointTransactionHash: hexToBin(txid),
        outpointIndex: n,
        sequenceNumber: sequence,
        unlockingBytecode: new Uint8Array(),
      };
    }),
    outputs: plan.outputs.map(({ script, units }) => ({ lockingBytecode: script, valueSatoshis: units })),
  };
  const digest = digests(plan, SIGHASH_ALL_FORKID);
  assert(bytesToHex(digest(0)) === bytesToHex(cashDigest(plan, transaction)), 'the library computes the same digest');
  for (const at of plan.inputs.keys()) {
    const unlockingBytecode = withKey(at, (pair) => {
      // bitcoinjs writes DER (BIP-66) and appends the hash type, but does not know FORKID
      const der = Script.signature.encode(checkedSignature(digest(at), pair), SIGHASH_ALL).slice(0, -1);
      const typed = Uint8Array.of(...der, SIGHASH_ALL_FORKID);
      return Uint8Array.of(...encodeDataPush(typed), ...encodeDataPush(pair.publicKey));
    });
    Object.assign(transaction.inputs[at] ?? {}, { unlockingBytecode });
  }
  const raw = encodeTransaction(transaction);
  return { txid: hashTransaction(raw), raw: bytesToHex(raw), size: raw.length };
}

/** The digest of input 0 as libauth computes it. */
function cashDigest(plan: UtxoPlan, transaction: Parameters<typeof encodeTransaction>[0]): Uint8Array {
  const sourceOutputs = plan.inputs.map(({ script, units }) => ({ lockingBytecode: script, valueSatoshis: units }));
  const signingSerializationType = Uint8Array.of(SigningSerializationTypeBCH.allOutputs);
  const [first] = plan.inputs;
  assert(first, 'a plan has an input');
  const context = { inputIndex: 0, sourceOutputs, transaction };
  return hash256(generateSigningSerializationBCH(context, { coveredBytecode: first.script, signingSerializationType }));
}

function checkedSignature(digest: Uint8Array, { privateKey, publicKey }: KeyPair): Uint8Array {
  const signature = sign(digest, privateKey);
  assert(verify(digest, publicKey, signature, true), 'a signature that was just made is right');
  return signature;
}

/**
 * BIP-143's digest of each input, for SIGHASH_ALL, and for BCH with 0x41. The parts about all inputs and outputs are
 * hashed once. The libraries hash them again for each input, which takes minutes for a thousand inputs.
 */
function digests({ version, lockTime, inputs, outputs }: UtxoPlan, hashType: number): (at: number) => Uint8Array {
  const points = inputs.map(({ outpoint }) => {
    const { txid, n } = parseOutpoint(outpoint);
    return Buffer.concat([Buffer.from(txid, 'hex').reverse(), u32(n)]);
  });
  const head = Buffer.concat([u32(version), sha256d(points), sha256d(inputs.map(({ sequence }) => u32(sequence)))]);
  const paid = outputs.map(({ units, script }) => Buffer.concat([u64(units), Uint8Array.of(script.length), script]));
  const tail = Buffer.concat([sha256d(paid), u32(lockTime), u32(hashType)]);
  return (at) => {
    const [input, point] = [inputs[at], points[at]];
    assert(input && point, 'an input of the plan');
    const code = Buffer.from(scriptCode(bytesToHex(input.script)), 'hex');
    const own = [point, Uint8Array.of(code.length), code, u64(input.units), u32(input.sequence)];
    return sha256d([head, ...own, tail]);
  };
}

/** P2WPKH is signed as the P2PKH of its key hash (BIP-143); P2PKH as itself. */
const scriptCode = (script: string): string => (script.startsWith('0014') ? `76a914${script.slice(4)}88ac` : script);

function sha256d(parts: readonly Uint8Array[]): Buffer {
  return hash('sha256', hash('sha256', Buffer.concat(parts), 'buffer'), 'buffer');
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

function parseOutpoint(outpoint: string): { txid: string; n: number } {
  const [txid, n] = outpoint.split(':');
  assert(txid && n, 'an outpoint is "txid:n"');
  return { txid, n: Number(n) };
}
