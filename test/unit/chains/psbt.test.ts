/** PSBTs of watch-only accounts, signed by bitcoinjs-lib, and what is refused of what comes back. */
import { createHash } from 'node:crypto';
import { initEccLib, Psbt, script as Script, Transaction } from 'bitcoinjs-lib';
import * as ecc from 'tiny-secp256k1';
import { describe, expect, it } from 'vitest';
import type { App } from '../../../daemon/app/app.ts';
import { needSignable } from '../../../daemon/app/spends/plan.ts';
import type { CoinSource } from '../../../daemon/chains/adapter.ts';
import { scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { isOfPlan, judgeSigned } from '../../../daemon/chains/utxo/spend/judge.ts';
import { makePsbt } from '../../../daemon/chains/utxo/spend/psbt.ts';
import { UtxoSpending } from '../../../daemon/chains/utxo/spend/spending.ts';
import type { UtxoPlan } from '../../../daemon/domain/spend.ts';
import { accountOf, FINGERPRINT, FORMS, master, node, PATH, planned } from './psbt-kit.ts';
import { DESTINATIONS } from './spend-kit.ts';

initEccLib(ecc);

/** Signs as a wallet does: it finds its keys by fingerprint and path alone. `hashType`: of every signature. */
function sign(file: Uint8Array, change: (psbt: Psbt) => void = () => undefined, hashType?: number): Psbt {
  const psbt = Psbt.fromBuffer(Buffer.from(file));
  change(psbt);
  for (const [at, input] of psbt.data.inputs.entries()) {
    if (hashType !== undefined) psbt.updateInput(at, { sighashType: hashType });
    const [origin] = input.tapBip32Derivation ?? input.bip32Derivation ?? [];
    expect(Buffer.from(origin!.masterFingerprint).toString('hex')).toBe(FINGERPRINT);
    const key = master.derive(origin!.path);
    const publicKey = key.publicKey!;
    let secret = key.privateKey!;
    if (input.tapInternalKey) {
      const inner = publicKey[0] === 3 ? ecc.privateNegate(secret) : secret;
      secret = ecc.privateAdd(inner, taggedHash(publicKey.subarray(1)))!;
    }
    const signer = {
      publicKey: input.tapInternalKey ? ecc.pointFromScalar(secret, true)! : publicKey,
      sign: (hash: Uint8Array) => ecc.sign(hash, secret),
      signSchnorr: (hash: Uint8Array) => ecc.signSchnorr(hash, secret),
    };
    psbt.signInput(at, signer, hashType === undefined ? undefined : [hashType]);
  }
  return psbt;
}

const sha = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** The tweak of a key that no script belongs to (BIP-341). */
const taggedHash = (data: Uint8Array): Uint8Array => {
  const tag = sha(Buffer.from('TapTweak'));
  return sha(Buffer.concat([tag, tag, data]));
};

const judge = (plan: UtxoPlan, given: Uint8Array | string) =>
  judgeSigned(plan, typeof given === 'string' ? Buffer.from(given) : given, 'BTC', 'regtest');

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return `${(error as { code?: string }).code}`;
  }
};

describe.each(FORMS)('a PSBT of %s', (form) => {
  const { plan, previous } = planned(form);
  const { file, txid } = makePsbt({ plan, previous }, accountOf(form));

  it('says what another wallet asks for', () => {
    const { data } = Psbt.fromBuffer(Buffer.from(file));
    for (const [at, input] of data.inputs.entries()) {
      const { branch, index, outpoint, units, script } = plan.inputs[at]!;
      const [key] = input.tapBip32Derivation ?? input.bip32Derivation ?? [];
      expect(key!.path).toBe(`m/${PATH}/${branch}/${index}`);
      expect(input.nonWitnessUtxo && Buffer.from(input.nonWitnessUtxo).toString('hex')).toBe(
        form === 'p2tr' ? undefined : previous[outpoint.slice(0, 64)],
      );
      expect(
        input.witnessUtxo && [input.witnessUtxo.value, Buffer.from(input.witnessUtxo.script).toString('hex')],
      ).toEqual(form === 'p2pkh' ? undefined : [units, Buffer.from(script).toString('hex')]);
      expect(input.redeemScript !== undefined).toBe(form === 'p2sh-p2wpkh');
      expect(input.tapInternalKey !== undefined).toBe(form === 'p2tr');
    }
    const derivations = data.outputs.map((one) => (one.tapBip32Derivation ?? one.bip32Derivation)?.[0]?.path);
    expect(derivations).toEqual(plan.outputs.map(({ kind }) => (kind === 'change' ? `m/${PATH}/1/4` : undefined)));
  });

  it('is finished from a PSBT or a transaction, whatever its encoding, as one transaction', () => {
    const signed = sign(file);
    const { raw, size, fee } = judge(plan, signed.toBuffer());
    expect(judge(plan, `${signed.toBase64()}\n`).raw).toBe(raw);
    expect(judge(plan, signed.toHex()).raw).toBe(raw);
    const finished = signed.clone().finalizeAllInputs();
    expect(judge(plan, finished.toBuffer()).raw).toBe(raw);
    const transaction = finished.extractTransaction(true);
    expect(judge(plan, transaction.toHex()).raw).toBe(raw);
    expect(raw).toBe(transaction.toHex());
    expect([judge(plan, raw).txid, fee]).toEqual([transaction.getId(), plan.fee]);
    // no signature is longer than was counted for
    expect(size).toBeLessThanOrEqual(plan.vsize);
    expect(size).toBeGreaterThan(plan.vsize - 4);
    if (form !== 'p2pkh') expect(txid).toBe(transaction.getId());
    expect(isOfPlan(plan, raw)).toBe(true);
    expect(isOfPlan(planned(form, 9_000n).plan, raw)).toBe(false);
  });

  const other = scriptOf(DESTINATIONS.BTC[4]!, 'BTC', 'regtest')!;
  const alterations: [string, string, (transaction: Transaction) => void][] = [
    ['psbt.output', 'another recipient', ({ outs }) => Object.assign(outs[0]!, { script: other })],
    ['psbt.output', 'one more output', (transaction) => transaction.addOutput(other, 1_000n)],
    ['psbt.output', 'no change', ({ outs }) => outs.pop()],
    ['psbt.amount', 'another amount', ({ outs }) => Object.assign(outs[1]!, { value: outs[1]!.value - 1n })],
    ['psbt.input', 'another coin', ({ ins }) => Object.assign(ins[0]!, { index: 1 })],
    ['psbt.input', 'one coin fewer', ({ ins }) => ins.pop()],
    ['psbt.input', 'one coin more', (transaction) => transaction.addInput(Buffer.alloc(32, 9), 0)],
    ['psbt.sequence', 'another sequence', ({ ins }) => Object.assign(ins[1]!, { sequence: 0 })],
    ['psbt.locktime', 'another lock time', (transaction) => Object.assign(transaction, { locktime: 1 })],
    ['psbt.version', 'another version', (transaction) => Object.assign(transaction, { version: 1 })],
  ];
  it.each(alterations)('is refused with %s for %s, and the way out is offered', (code, _, alter) => {
    const transaction = sign(file).finalizeAllInputs().extractTransaction(true);
    alter(transaction);
    const given = transaction.toHex();
    expect(codeOf(() => judge(plan, given))).toBe(code);
    expect(() => judge(plan, given)).toThrow('cancel this withdrawal now');
  });

  it('is refused without an alarm if it is of another payment', () => {
    const transaction = sign(file).finalizeAllInputs().extractTransaction(true);
    for (const input of transaction.ins) input.hash = Buffer.alloc(32, 3);
    const given = transaction.toHex();
    expect(codeOf(() => judge(plan, given))).toBe('psbt.other');
    expect(() => judge(plan, given)).toThrow(/^It spends none of the planned coins/);
  });

  it('is refused without every signature, with a wrong one, and with one that covers less', () => {
    expect(codeOf(() => judge(plan, file))).toBe('psbt.unsigned');
    const half = sign(file);
    half.data.inputs[1]!.partialSig = [];
    delete half.data.inputs[1]!.tapKeySig;
    expect(codeOf(() => judge(plan, half.toBuffer()))).toBe('psbt.unsigned');
    const types = [
      Transaction.SIGHASH_SINGLE,
      Transaction.SIGHASH_NONE,
      Transaction.SIGHASH_ALL | Transaction.SIGHASH_ANYONECANPAY,
    ];
    for (const type of types) {
      const signed = sign(file, undefined, type);
      expect(codeOf(() => judge(plan, signed.toBuffer()))).toBe('psbt.sighash');
      for (const input of signed.data.inputs) delete input.sighashType;
      expect(codeOf(() => judge(plan, signed.toBuffer()))).toBe('psbt.sighash');
    }
    // signatures of the same payment with a higher fee, below this transaction
    const dearer = planned(form, 9_000n);
    const foreign = sign(makePsbt(dearer, accountOf(form)).file);
    const mixed = Psbt.fromBuffer(Buffer.from(file));
    for (const [at, { partialSig, tapKeySig }] of foreign.data.inputs.entries()) {
      mixed.updateInput(at, { ...(partialSig && { partialSig }), ...(tapKeySig && { tapKeySig }) });
    }
    expect(codeOf(() => judge(plan, mixed.toBuffer()))).toBe('psbt.signature');
  });
});

it('refuses a taproot signature with bytes behind it, which no node would take', () => {
  const { plan, previous } = planned('p2tr');
  const transaction = sign(makePsbt({ plan, previous }, accountOf('p2tr')).file)
    .finalizeAllInputs()
    .extractTransaction(true);
  const [proof] = transaction.ins[0]!.witness;
  for (const tail of [[1, 1], [0, 0, 1], [0]]) {
    transaction.ins[0]!.witness = [Uint8Array.of(...proof!, ...tail)];
    expect(codeOf(() => judge(plan, transaction.toHex()))).toMatch(/^psbt\.(signature|sighash)$/);
  }
  transaction.ins[0]!.witness = [proof!.subarray(0, 40)];
  expect(codeOf(() => judge(plan, transaction.toHex()))).toBe('psbt.signature');
});

it.each(FORMS)('hands out no plan of %s whose amounts the previous transactions contradict', (form) => {
  const { plan, previous } = planned(form);
  const [first, ...others] = plan.inputs;
  const make = (changed: Partial<UtxoPlan['inputs'][number]>, given = previous) =>
    makePsbt({ plan: { ...plan, inputs: [{ ...first!, ...changed }, ...others] }, previous: given }, accountOf(form));
  expect(() => make({})).not.toThrow();
  expect(codeOf(() => make({ units: first!.units - 1n }))).toBe('psbt.coin');
  expect(codeOf(() => make({ script: others[0]!.script }))).toBe('psbt.coin');
  const [one, two] = Object.keys(previous) as [string, string];
  expect(codeOf(() => make({}, { [one]: previous[two]!, [two]: previous[one]! }))).toBe('psbt.coin');
  expect(codeOf(() => make({}, { [one]: previous[one]! }))).toBe('psbt.coin');
});

it('names an account without an origin as its own root', () => {
  const { plan, previous } = planned('p2wpkh');
  const { data } = Psbt.fromBuffer(Buffer.from(makePsbt({ plan, previous }, accountOf('p2wpkh', false)).file));
  const [key] = data.inputs[0]!.bip32Derivation!;
  expect([key!.path, Buffer.from(key!.masterFingerprint).readUInt32BE()]).toEqual([
    `m/0/${plan.inputs[0]!.index}`,
    node.fingerprint,
  ]);
});

it('refuses a signature whose S is not low, which nodes do not relay', () => {
  const { plan, previous } = planned('p2wpkh');
  const psbt = sign(makePsbt({ plan, previous }, accountOf('p2wpkh')).file);
  const [sig] = psbt.data.inputs[0]!.partialSig!;
  const { signature, hashType } = Script.signature.decode(sig!.signature);
  const order = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');
  const s = order - BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`);
  const high = Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
  sig!.signature = Script.signature.encode(high, hashType);
  expect(codeOf(() => judge(plan, psbt.toBuffer()))).toBe('psbt.signature');
});

it.each([
  ['nothing', ''],
  ['a text', 'signed, sealed, delivered'],
  ['half a PSBT', 'cHNidP8BAHECAAAAAQ=='],
  ['a transaction that ends early', '02000000010000'],
])('refuses %s as unreadable', (_, given) => {
  expect(codeOf(() => judge(planned('p2wpkh').plan, given))).toBe('psbt.malformed');
});

it.each([
  ['BTC', 'signed there'],
  ['LTC', 'signed there'],
  ['BCH', 'account.watch_only'],
] as const)('an account of %s in another wallet: what is paid out of it is %s', (chain, expected) => {
  const key = accountOf('p2pkh');
  const chainKey = `regtest:${chain}` as const;
  const spending = new UtxoSpending(chain, 'regtest', {} as CoinSource);
  const app = { chains: { find: (name: string) => (name === chainKey ? { adapter: { spending } } : undefined) } };
  const code = codeOf(() => needSignable(app as unknown as App, { key, chainKey }, chain));
  expect(code).toBe(expected === 'signed there' ? 'accepted' : expected);
});
