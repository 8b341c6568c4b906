/**
 * The bytes that leave the signer, against two judges of their own: a digest written here after BIP-143 and checked with
 * its published examples, and libauth's virtual machine of Bitcoin Cash.
 */
import { createHash } from 'node:crypto';
import { createVirtualMachineBCH, decodeTransaction, hexToBin } from '@bitauth/libauth';
import { HDKey } from '@scure/bip32';
import { script as Script, Transaction } from 'bitcoinjs-lib';
import fc from 'fast-check';
import { verify } from 'tiny-secp256k1';
import { describe, expect, it } from 'vitest';
import { addressOf, scriptOf } from '../../../daemon/chains/utxo/address.ts';
import { dustOf, highestDust } from '../../../daemon/chains/utxo/spend/sizes.ts';
import { NETWORKS } from '../../../daemon/domain/assets.ts';
import type { UtxoPlan } from '../../../daemon/domain/spend.ts';
import { destination, dustLimit, ownScript } from '../../../daemon/wallet/signer/destination.ts';
import { withAccountKeys } from '../../../daemon/wallet/signer/keys.ts';
import { previousOutputs } from '../../../daemon/wallet/signer/previous.ts';
import { signPlan } from '../../../daemon/wallet/signer/sign.ts';
import { CHAINS_UTXO, DESTINATIONS } from '../chains/spend-kit.ts';
import { coin, hex, own, payment, SEED } from './signer-kit.ts';

const sha256d = (...parts: Uint8Array[]): Buffer =>
  createHash('sha256')
    .update(createHash('sha256').update(Buffer.concat(parts)).digest())
    .digest();
const le = (value: number | bigint, bytes: 4 | 8): Buffer => {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 4) buffer.writeUInt32LE(Number(value));
  else buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
};

/** BIP-143's ten parts, for SIGHASH_ALL and a script of less than 253 bytes. */
function digestOf(tx: Transaction, at: number, scriptCode: Uint8Array, units: bigint, hashType: number): Buffer {
  const input = tx.ins[at]!;
  return sha256d(
    le(tx.version, 4),
    sha256d(...tx.ins.flatMap(({ hash, index }) => [hash, le(index, 4)])),
    sha256d(...tx.ins.map(({ sequence }) => le(sequence, 4))),
    input.hash,
    le(input.index, 4),
    Uint8Array.of(scriptCode.length),
    scriptCode,
    le(units, 8),
    le(input.sequence, 4),
    sha256d(...tx.outs.flatMap(({ value, script }) => [le(value, 8), Uint8Array.of(script.length), script])),
    le(tx.locktime, 4),
    le(hashType, 4),
  );
}

const p2pkh = (keyHash: string): Buffer => Buffer.from(`76a914${keyHash}88ac`, 'hex');

describe('the digest that signatures are checked with', () => {
  it("gives BIP-143's native P2WPKH example", () => {
    const unsigned =
      '0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000';
    const tx = Transaction.fromHex(unsigned);
    const digest = digestOf(tx, 1, p2pkh('1d0f172a0ecb48aee1be1f2687d2963ae33f71a1'), 600_000_000n, 1);
    expect(hex(digest)).toBe('c37af31116d1b27caf68aae9e3ac82f1477929014d5b917657d0eb49478cb670');
    const key = Buffer.from('025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07aeee6357', 'hex');
    const der =
      '304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee01';
    expect(verify(digest, key, Script.signature.decode(Buffer.from(der, 'hex')).signature, true)).toBe(true);
  });
});

/** Whether every input is signed by the key of the coin that it spends. */
function allSigned({ chain, inputs }: UtxoPlan, tx: Transaction): boolean {
  return tx.ins.every((input, at) => {
    const proof = chain === 'BCH' ? (Script.decompile(input.script) as Uint8Array[]) : input.witness;
    const [signature, publicKey] = proof as [Uint8Array, Uint8Array];
    const hashType = chain === 'BCH' ? 0x41 : 0x01;
    const { units, script } = inputs[at]!;
    if (proof.length !== 2 || signature.at(-1) !== hashType) return false;
    const keyHash = ownScript(publicKey, 'BTC').slice(4);
    if (hex(script) !== (chain === 'BCH' ? `76a914${keyHash}88ac` : `0014${keyHash}`)) return false;
    const der = Uint8Array.of(...signature.subarray(0, -1), 0x01);
    const digest = digestOf(tx, at, p2pkh(keyHash), units, hashType);
    return verify(digest, publicKey, Script.signature.decode(der).signature, true);
  });
}

describe.each(CHAINS_UTXO)('a signed transaction of %s', (chain) => {
  const order = payment(chain, ['a', 'b']);
  const signed = signPlan(SEED, order.plan);
  const tx = Transaction.fromHex(signed.raw);

  it('says what the plan says', () => {
    const { plan } = order;
    expect(signed).toMatchObject({ txid: tx.getId(), fee: 2_000n, size: tx.virtualSize() });
    expect([tx.version, tx.locktime]).toEqual([plan.version, plan.lockTime]);
    expect(tx.ins.map(({ hash, index }) => `${Buffer.from(hash).reverse().toString('hex')}:${index}`)).toEqual(
      plan.inputs.map(({ outpoint }) => outpoint),
    );
    expect(tx.ins.map(({ sequence }) => sequence)).toEqual([0xfffffffd, 0xfffffffd, 0xfffffffd]);
    expect(tx.outs.map(({ script, value }) => [hex(script), value])).toEqual(
      plan.outputs.map(({ script, units }) => [hex(script), units]),
    );
    expect(signed.size).toBeLessThanOrEqual(chain === 'BCH' ? 600 : 400);
  });

  it('is signed by the key of each coin, and only as it is', () => {
    expect(allSigned(order.plan, tx)).toBe(true);
    const otherAmount = Transaction.fromHex(signed.raw);
    otherAmount.outs[0]!.value += 1n;
    expect(allSigned(order.plan, otherAmount)).toBe(false);
    const inputs = order.plan.inputs.map((input, i) => ({ ...input, units: input.units + (i === 1 ? 1n : 0n) }));
    expect(allSigned({ ...order.plan, inputs }, tx)).toBe(false);
  });

  it('is the same each time', () => {
    expect(signPlan(SEED, order.plan)).toEqual(signed);
  });

  it('pays every kind of address', () => {
    for (const [i, address] of DESTINATIONS[chain].entries()) {
      const script = scriptOf(address, chain, 'regtest')!;
      const one = payment(chain, [`kind ${i}`]);
      const [payout, ...rest] = one.plan.outputs;
      const raw = signPlan(SEED, { ...one.plan, outputs: [{ ...payout!, script, address }, ...rest] }).raw;
      expect(addressOf(Transaction.fromHex(raw).outs[0]!.script, chain, 'regtest')).toBe(address);
    }
  });
});

it('on BCH convinces a virtual machine of Bitcoin Cash, and not with another amount', () => {
  const { plan } = payment('BCH', ['vm']);
  const transaction = decodeTransaction(hexToBin(signPlan(SEED, plan).raw));
  if (typeof transaction === 'string') throw new Error(transaction);
  const sources = plan.inputs.map(({ script, units }) => ({ lockingBytecode: script, valueSatoshis: units }));
  const machine = createVirtualMachineBCH(true);
  expect(machine.verify({ transaction, sourceOutputs: sources })).toBe(true);
  const wrong = sources.map((one, i) => (i === 0 ? { ...one, valueSatoshis: one.valueSatoshis + 1n } : one));
  expect(machine.verify({ transaction, sourceOutputs: wrong })).not.toBe(true);
});

describe('keys', () => {
  it.each(CHAINS_UTXO)('of %s are those of BIP-32, and wiped when they were used', (chain) => {
    const purpose = chain === 'BCH' ? 44 : 84;
    const reference = HDKey.fromMasterSeed(SEED);
    const lent: Uint8Array[] = [];
    withAccountKeys(SEED, chain, 'regtest', 5, (keys) => {
      for (const [branch, index] of [
        [0, 0],
        [1, 0],
        [1, 77],
        [0, 2 ** 31 - 1],
      ] as const) {
        const node = reference.derive(`m/${purpose}'/1'/5'/${branch}/${index}`);
        keys.withKey(branch, index, ({ privateKey, publicKey }) => {
          expect(hex(privateKey)).toBe(hex(node.privateKey!));
          expect(hex(publicKey)).toBe(hex(node.publicKey!));
          lent.push(privateKey);
        });
      }
    });
    expect(lent.map(hex)).toEqual(Array(4).fill('00'.repeat(32)));
  });
});

describe('a key on the way to an account whose first byte is 0', () => {
  it.each([
    ['m', 71],
    ["m/84'", 302],
    ["m/84'/1'", 246],
    ["m/84'/1'/0'", 157],
  ])('%s keeps it, as BIP-32 says', (path, number) => {
    const seed = Buffer.alloc(16);
    seed.writeUInt32BE(number, 12);
    const reference = HDKey.fromMasterSeed(seed);
    expect(reference.derive(path).privateKey![0]).toBe(0);
    const theirs = reference.derive("m/84'/1'/0'/0/0");
    withAccountKeys(seed, 'LTC', 'regtest', 0, (keys) =>
      keys.withKey(0, 0, ({ privateKey }) => expect(hex(privateKey)).toBe(hex(theirs.privateKey!))),
    );
  });
});

describe('what the signer reads by itself', () => {
  const texts = [
    ...CHAINS_UTXO.flatMap((chain) => DESTINATIONS[chain]),
    '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
    '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
    'MVcg9uEvtWuP5N6V48EHfEtbz48qR8TKZ9',
    'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz',
    '2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc',
    'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    'bc1sw50qgdz25j',
    'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs',
    'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
    'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
    'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
    'QPM2QSzNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
    'bchtest:pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t',
    'bitcoincash:zpm2qsznhks23z7629mms6s4cwef74vcwvrqekrq9w',
    'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
    'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
    '',
    'x',
    'bc1',
  ];

  it('are the same destinations as the daemon reads', () => {
    for (const chain of CHAINS_UTXO) {
      for (const network of NETWORKS) {
        const own = texts.map((text) => destination(text, chain, network));
        expect(own).toEqual(texts.map((text) => hex(scriptOf(text, chain, network) ?? new Uint8Array()) || null));
      }
    }
    expect(texts.filter((text) => destination(text, 'BTC', 'mainnet'))).toHaveLength(5);
  });

  it('are the same destinations with a character changed', () => {
    const letter = fc.constantFrom(...'023456789acdefghjklmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ1:');
    const changed = fc.tuple(fc.constantFrom(...texts.filter(Boolean)), fc.nat(90), letter);
    fc.assert(
      fc.property(
        changed,
        fc.constantFrom(...CHAINS_UTXO),
        fc.constantFrom(...NETWORKS),
        ([text, at, by], chain, network) => {
          const altered = text.slice(0, at % text.length) + by + text.slice((at % text.length) + 1);
          expect(destination(altered, chain, network)).toBe(
            hex(scriptOf(altered, chain, network) ?? new Uint8Array()) || null,
          );
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is the same dust', () => {
    for (const chain of CHAINS_UTXO) {
      for (const address of DESTINATIONS[chain]) {
        const script = scriptOf(address, chain, 'regtest')!;
        expect(dustLimit(hex(script), chain)).toBe(dustOf(chain, script));
        expect(highestDust(chain)).toBeGreaterThanOrEqual(dustOf(chain, script));
      }
    }
  });

  it('are the same addresses of ours', () => {
    for (const chain of CHAINS_UTXO) {
      withAccountKeys(SEED, chain, 'regtest', 0, (keys) => {
        expect(ownScript(keys.publicKey(1, 9), chain)).toBe(hex(own(chain, 1, 9).script));
      });
    }
  });
});

describe('a previous transaction', () => {
  const { raw, txid } = coin('LTC', 123_456n, { n: 2 });
  const outputs = previousOutputs(txid, raw);
  /** The same in its extended form, with this flag, and with something before the lock time. */
  const extended = (flag: string, extra: string): string =>
    `${raw.slice(0, 8)}00${flag}${raw.slice(8, -8)}${extra}${raw.slice(-8)}`;

  it('is read as it is, with witnesses, and with what LTC appends for MWEB', () => {
    expect(outputs[2]).toEqual({ units: 123_456n, script: hex(own('LTC', 0, 0).script) });
    expect(previousOutputs(txid, extended('01', '00'))).toEqual(outputs);
    expect(previousOutputs(txid, extended('08', `00${'ab'.repeat(300)}`))).toEqual(outputs);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['an odd number of digits', `${raw}0`],
    ['no hex', `zz${raw.slice(2)}`],
    ['half of it', raw.slice(0, 120)],
    ['another', coin('LTC', 5n).raw],
    ['other amounts', raw.replace('40e2010000000000', '40e2010000000001')],
    ['another lock time', `${raw.slice(0, -8)}01000000`],
    ['counts without end', `${raw.slice(0, 8)}ffffffffffffffffff${raw.slice(10)}`],
  ])('is refused when it is %s', (_, other) => {
    expect(other).not.toBe(raw);
    expect(() => previousOutputs(txid, other)).toThrow('is not what was given for it');
  });
});
