/**
 * Makes the signed bytes of a plan: BTC and LTC as a PSBT of bitcoinjs-lib with P2WPKH inputs, BCH through libauth with
 * P2PKH inputs and SIGHASH_ALL | FORKID (its replay-protected digest of 2017). Signatures are deterministic (RFC 6979)
 * and have a low S, so that the same plan always gives the same bytes and the same id.
 *
 * Invariant: what is signed has been judged before (judge.ts, or it is the sandbox), and every signature is checked
 * before it is given out.
 */
import {
  encodeDataPush,
  encodeTransaction,
  generateSigningSerializationBCH,
  hash256,
  hashTransaction,
  hexToBin,
  SigningSerializationTypeBCH,
} from '@bitauth/libauth';
import { Psbt, script as Script } from 'bitcoinjs-lib';
import { sign, verify } from 'tiny-secp256k1';
import { assert } from '../../domain/errors.ts';
import type { SignedSpend, UtxoPlan } from '../../domain/spend.ts';
import { type KeyPair, withAccountKeys } from './keys.ts';
import { isUtxo } from './wire.ts';

const SIGHASH_ALL = 0x01;

/** Signs a plan of BTC, LTC or BCH with the wallet's keys. The seed stays the caller's to wipe. */
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

type Made = Omit<SignedSpend, 'fee'>;

function signSegwit(plan: UtxoPlan, withKey: WithKey): Made {
  // the fee was judged; the library's own limit would need every previous transaction once more
  const psbt = new Psbt({ maximumFeeRate: Number.MAX_SAFE_INTEGER });
  psbt.setVersion(plan.version).setLocktime(plan.lockTime);
  for (const { outpoint, units, script, sequence } of plan.inputs) {
    const { txid, n } = parseOutpoint(outpoint);
    psbt.addInput({ hash: txid, index: n, sequence, witnessUtxo: { script, value: units } });
  }
  for (const { script, units } of plan.outputs) psbt.addOutput({ script, value: units });
  for (const at of plan.inputs.keys()) {
    withKey(at, ({ privateKey, publicKey }) => {
      psbt.signInput(at, {
        publicKey,
        sign(digest: Uint8Array) {
          const signature = sign(digest, privateKey);
          assert(verify(digest, publicKey, signature, true), 'a signature that was just made is right');
          return signature;
        },
      });
    });
  }
  const transaction = psbt.finalizeAllInputs().extractTransaction(true);
  return { txid: transaction.getId(), raw: transaction.toHex(), vsize: transaction.virtualSize() };
}

/** P2PKH inputs: push of signature and hash type, push of the public key. */
function signCash(plan: UtxoPlan, withKey: WithKey): Made {
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
  const sourceOutputs = plan.inputs.map(({ script, units }) => ({ lockingBytecode: script, valueSatoshis: units }));
  const signingSerializationType = Uint8Array.of(SigningSerializationTypeBCH.allOutputs);
  const proofs = plan.inputs.map(({ script }, inputIndex) => {
    const context = { inputIndex, sourceOutputs, transaction };
    const serialized = generateSigningSerializationBCH(context, { coveredBytecode: script, signingSerializationType });
    return withKey(inputIndex, ({ privateKey, publicKey }) => {
      const digest = hash256(serialized);
      const signature = sign(digest, privateKey);
      assert(verify(digest, publicKey, signature, true), 'a signature that was just made is right');
      // bitcoinjs writes DER (BIP-66) and appends the hash type, of which it knows no FORKID
      const der = Script.signature.encode(signature, SIGHASH_ALL).slice(0, -1);
      const typed = Uint8Array.of(...der, ...signingSerializationType);
      return Uint8Array.of(...encodeDataPush(typed), ...encodeDataPush(publicKey));
    });
  });
  for (const [at, unlockingBytecode] of proofs.entries())
    Object.assign(transaction.inputs[at] ?? {}, { unlockingBytecode });
  const raw = encodeTransaction(transaction);
  return { txid: hashTransaction(raw), raw: Buffer.from(raw).toString('hex'), vsize: raw.length };
}

function parseOutpoint(outpoint: string): { txid: string; n: number } {
  const [txid, n] = outpoint.split(':');
  assert(txid && n, 'an outpoint is "txid:n"');
  return { txid, n: Number(n) };
}
