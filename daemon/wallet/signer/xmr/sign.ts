/** Gets a judged Monero transaction signed by the library, and judges the result. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { Malformed, Rejected } from '../../../domain/errors.ts';
import type { MoneroPlan, SignedSpend } from '../../../domain/spend.ts';
import { addressAt, isSubaddress, positionOf } from '../../../monero/address.ts';
import { scalarBytes } from '../../../monero/curve.ts';
import { parseSigned } from '../../../monero/transaction.ts';
import { type Content, checkSigned, type Expected } from './check.ts';
import { type ColdKey, coldKey, openColdFile, sealColdFile } from './cold-file.ts';
import type { Owner, OwnOutput } from './judge.ts';
import { signWithLibrary } from './library.ts';
import { encodeUnsigned, SIGNED_MAGIC, UNSIGNED_MAGIC } from './unsigned-set.ts';

/** The version of the signed file, the number of its transactions, and the version of the first. */
const SIGNED_HEAD = Buffer.from([0, 1, 1]);
/** Change returns to the account's standard address, as in Monero's own wallets: every search by the words finds it. */
export const CHANGE_INDEX = 0;

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

/** The outputs of a plan; the last one is the change. There are two at least: one that pays 0 to ourselves is added. */
function expectedOf({ outputs, network }: MoneroPlan, { account }: Owner): Expected[] {
  const own = (units: bigint): Expected => {
    const { script } = addressAt(account, 1, CHANGE_INDEX, network);
    return { address: script, isSubaddress: isSubaddress(script), units, isOwn: true };
  };
  const payouts = outputs.flatMap((output): Expected[] => {
    const { kind, script, units } = output;
    return kind === 'change' ? [] : [{ address: script, isSubaddress: isSubaddress(script), units, isOwn: false }];
  });
  const rest = own(outputs.find(({ kind }) => kind === 'change')?.units ?? 0n);
  return payouts.length === 0 ? [own(0n), rest] : [...payouts, rest];
}

/**
 * Signs what was judged. Another call gives another transaction with the same key images, so that one of them can
 * confirm. Throws `Rejected('signer.differs')` if the library made something else.
 */
export async function signMonero(plan: MoneroPlan, owner: Owner, spent: readonly OwnOutput[]): Promise<SignedSpend> {
  const outputs = expectedOf(plan, owner);
  const key = coldKey(scalarBytes(owner.view));
  const file = sealColdFile(UNSIGNED_MAGIC, unsignedOf(spent, outputs), key);
  const positions = plan.inputs.map(({ branch, index }) => positionOf(branch, index));
  const keys = {
    spendKey: bytesToHex(scalarBytes(owner.spend)),
    accounts: 1 + Math.max(...positions.map(({ major }) => major)),
    addresses: 1 + Math.max(...positions.map(({ minor }) => minor)),
  };
  const made = await signWithLibrary(owner.network, keys, file);
  const { transaction, raw } = signedOf(made.file, key);
  const rings = new Map(spent.map(({ keyImage, ring }) => [keyImage, ring]));
  const content: Content = { outputs, fee: plan.fee, rings, view: owner.view };
  checkSigned(transaction, made.key, content);
  return {
    txid: transaction.id,
    raw: bytesToHex(raw),
    fee: plan.fee,
    size: plan.weight,
    proof: made.key,
    keyImages: Object.fromEntries(spent.map(({ outpoint, keyImage }) => [outpoint, keyImage])),
  };
}

function unsignedOf(spent: readonly OwnOutput[], outputs: readonly Expected[]): Buffer {
  const sources = spent.map(({ ring, publicKey, n, units, mask, own }) => ({
    ring: ring.map(({ index, key, commitment }) => ({ index, key: bytes(key), commitment: bytes(commitment) })),
    real: ring.findIndex((member) => member.key === own),
    publicKey,
    n,
    units,
    mask: scalarBytes(mask),
  }));
  const change = outputs.at(-1) as Expected;
  return encodeUnsigned({ sources, payouts: outputs.slice(0, -1), change });
}

function signedOf(file: string, key: ColdKey) {
  const plain = openColdFile(SIGNED_MAGIC, file, key);
  try {
    if (!plain.subarray(0, SIGNED_HEAD.length).equals(SIGNED_HEAD)) throw new Malformed('another file');
    const { transaction, bytes: raw } = parseSigned(plain.subarray(SIGNED_HEAD.length));
    return { transaction, raw };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    throw new Rejected(
      'signer.differs',
      `Refused to sign: the library made a transaction that cannot be parsed: ${error.message}`,
    );
  }
}
